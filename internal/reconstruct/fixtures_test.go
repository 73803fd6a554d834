// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

var updateFixtures = flag.Bool("fixtures.update", false, "write what the tapes of the fixtures say")

// fixturesFolder holds a folder for each rule, testdata/rules/<stage>/<rule>. A file yes-*.txtar is a run
// that the rule repairs. A file no-*.txtar looks alike and is left alone. Each holds:
//
//	spans.jsonl   the telemetry, OTLP/JSON, one span a line
//	tapes.txt     what the tapes say
//	without.txt   what they say where the rule is left out; of yes-* alone
const fixturesFolder = "testdata/rules"

// fixture is one example of a rule.
type fixture struct {
	path    string
	rule    string
	yes     bool
	archive *txtar.Archive
}

func (f fixture) file(name string) []byte {
	for _, file := range f.archive.Files {
		if file.Name == name {
			return file.Data
		}
	}
	return nil
}

func (f fixture) set(t testing.TB) *evidence.Set {
	t.Helper()
	set := evidence.NewSet()
	for document, err := range otlpfile.Read(bytes.NewReader(f.file("spans.jsonl")), f.path, otlpfile.Options{}) {
		if err != nil {
			t.Fatalf("%s: %v", f.path, err)
		}
		set.AddTraces(document.Traces)
		set.AddLogs(document.Logs)
	}
	return set
}

// fixtures reads all of them.
func fixtures(t testing.TB) (all []fixture) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(fixturesFolder, "*", "*", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		id, err := filepath.Rel(fixturesFolder, filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fixture{path, filepath.ToSlash(id), strings.HasPrefix(filepath.Base(path), "yes-"), archive})
	}
	return all
}

// derived are the tapes of a set, made under a choice of rules.
func derived(set *evidence.Set, choice rule.Choice) []*tape.Tape {
	opts := options
	opts.Choice = choice
	return reconstruct.All(set.Split(), opts)
}

func without(id string) rule.Choice { return rule.Choice{Without: map[rule.ID]bool{rule.ID(id): true}} }

func names(tapes []*tape.Tape, id string) bool {
	return slices.ContainsFunc(tapes, func(t *tape.Tape) bool { return slices.Contains(t.Fidelity.Rules, id) })
}

// TestEveryRuleHasExamples derives the tapes of all fixtures. Each rule that repairs has a run that it
// changes, and one like it that it leaves alone.
func TestEveryRuleHasExamples(t *testing.T) {
	yes, no := map[string]int{}, map[string]int{}
	for _, f := range fixtures(t) {
		set := f.set(t)
		tapes := derived(set, rule.Choice{})
		said := saidOf(tapes)
		want := map[string]string{"tapes.txt": said}
		if f.yes {
			yes[f.rule]++
			left := derived(set, without(f.rule))
			want["without.txt"] = saidOf(left)
			if want["without.txt"] == said {
				t.Errorf("%s: the tapes say the same without the rule", f.path)
			}
			if !names(tapes, f.rule) {
				t.Errorf("%s: no tape names the rule", f.path)
			}
			if names(left, f.rule) {
				t.Errorf("%s: the rule is left out, and named", f.path)
			}
		} else {
			no[f.rule]++
			if names(tapes, f.rule) {
				t.Errorf("%s: a tape names the rule", f.path)
			}
		}
		if *updateFixtures {
			f.write(t, want)
			continue
		}
		for name, text := range want {
			if got := string(f.file(name)); got != text {
				t.Errorf("%s: %s is\n%s\nwant\n%s", f.path, name, text, got)
			}
		}
	}
	for _, id := range repairs(t) {
		if yes[id] == 0 {
			t.Errorf("%s: no fixture shows what it changes (%s/%s/yes-*.txtar)", id, fixturesFolder, id)
		}
		if no[id] == 0 {
			t.Errorf("%s: no fixture shows what it leaves alone (%s/%s/no-*.txtar)", id, fixturesFolder, id)
		}
		delete(yes, id)
		delete(no, id)
	}
	for id := range maps.Keys(yes) {
		t.Errorf("%s has fixtures and is no rule: the folder is named as the id of a rule", id)
	}
}

// repairs lists the rules that tapes may name.
func repairs(t *testing.T) (ids []string) {
	rows, _ := rulesInSource(t)
	for _, r := range rows {
		if !slices.Contains(straightRules, r.id) && !slices.Contains(ids, r.id) {
			ids = append(ids, r.id)
		}
	}
	return ids
}

// write replaces what the tapes say.
func (f fixture) write(t testing.TB, said map[string]string) {
	t.Helper()
	kept := slices.DeleteFunc(f.archive.Files, func(file txtar.File) bool { return file.Name != "spans.jsonl" })
	for _, name := range slices.Sorted(maps.Keys(said)) {
		kept = append(kept, txtar.File{Name: name, Data: []byte(said[name])})
	}
	f.archive.Files = kept
	if err := os.WriteFile(f.path, txtar.Format(f.archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// saidOf writes down what tapes say: a line for each value and event, with labels where a value is not
// recorded as it stands.
func saidOf(tapes []*tape.Tape) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	text := func(name string, s *string, from tape.Provenance, field string) {
		if s != nil {
			line("  %s %s%s", name, quote(*s), label(from, field))
		}
	}
	for _, tp := range tapes {
		line("run %s %s %s", short(tp.Run.TraceID), short(tp.Run.RootSpanID), tp.Run.Status)
		if tp.Run.Agent.Name != "" {
			line("  agent %s", tp.Run.Agent.Name)
		}
		if tp.Run.Error != nil {
			line("  error %s %s", tp.Run.Error.Type, quote(tp.Run.Error.Message))
		}
		if tp.Config.Model != "" {
			line("  model %s", tp.Config.Model)
		}
		text("system", tp.Input.SystemPrompt, tp.Input.Provenance, "system_prompt")
		text("user", tp.Input.UserMessage, tp.Input.Provenance, "user_message")
		for _, e := range tp.Events {
			line("  %s", saidOfEvent(tp, &e))
		}
		text("output", tp.Output.Text, tp.Output.Provenance, "text")
		if p := tp.Fidelity.Proof; p.Expected > 0 {
			line("  proof %d of %d verified", p.Verified, p.Expected)
		}
		for _, f := range tp.Fidelity.Findings {
			line("  finding %s @%d %s", f.Code, f.Seq, f.Field)
		}
	}
	return b.String()
}

func saidOfEvent(tp *tape.Tape, e *tape.Event) string {
	spans := make([]string, len(e.SpanIDs))
	for i, id := range e.SpanIDs {
		spans[i] = short(id)
	}
	s := fmt.Sprintf("%d %s @%s", e.Seq, e.Type, strings.Join(spans, "+"))
	for _, of := range []struct {
		name string
		seq  int
	}{{"in", e.Parent}, {"by", e.RequestedBy}, {"via", e.Via}} {
		if of.seq > 0 {
			s += fmt.Sprintf(" %s %d", of.name, of.seq)
		}
	}
	for _, word := range []string{e.Name, e.Model, e.ToolCallID} {
		if word != "" {
			s += " " + word
		}
	}
	if e.Agent != nil {
		s += " " + e.Agent.Name + " " + string(e.Relation)
	}
	s += saidOfValue("args", e.Args, e.Provenance) + saidOfValue("executed_args", e.ExecutedArgs, e.Provenance) + saidOfValue("result", e.Result, e.Provenance)
	for _, other := range e.OtherResults {
		s += " other=" + other.Result.JSON()
	}
	if e.Request != nil {
		roles := ""
		for _, id := range e.Request.Messages {
			roles += saidOfMessage(tp.Messages[id])
		}
		s += "\n    request" + roles + label(e.Provenance, "request")
	}
	if e.Response != nil {
		if m, ok := tp.Messages[e.Response.Message]; ok {
			s += "\n    response" + saidOfMessage(m) + label(e.Provenance, "response")
		}
		if len(e.Response.FinishReasons) > 0 {
			s += fmt.Sprintf(" %v", e.Response.FinishReasons)
		}
	}
	if e.Status == tape.EventError {
		s += " failed"
	}
	return s
}

func saidOfMessage(m tape.Message) string {
	parts := make([]string, len(m.Parts))
	for i, p := range m.Parts {
		switch p.Type {
		case tape.PartToolCall:
			parts[i] = p.Name + "(" + p.Args.JSON() + ")"
		case tape.PartToolResult:
			parts[i] = "=" + p.Result.JSON()
		case tape.PartText, tape.PartReasoning:
			parts[i] = quote(p.Text)
		default:
			parts[i] = string(p.Type)
		}
	}
	return fmt.Sprintf(" %s[%s]", m.Role, strings.Join(parts, " "))
}

func saidOfValue(name string, v exactjson.Value, from tape.Provenance) string {
	if v.IsAbsent() {
		return ""
	}
	return " " + name + "=" + v.JSON() + label(from, name)
}

func label(from tape.Provenance, field string) string {
	if l := from[field]; l != "" {
		return " (" + string(l) + ")"
	}
	return ""
}

func short(id string) string { return strings.TrimLeft(id, "0") }

// vendors are words of producers, as far as they are no words of the language.
var vendors = regexp.MustCompile(`(?i)langchain|langgraph|openinference|traceloop|langfuse|mlflow|crewai|strands|mastra|llama_?index|haystack|pydantic|smolagents|autogen|agentscope|openai|anthropic|claude|codex|gemini|copilot|vercel|logfire|laminar|braintrust|arize|phoenix|genkit|bedrock|dspy|agno|voltagent|beeai|openllmetry|spring`)

// TestRulesNameNoVendor looks at names and texts in the code of all stages. Comments may say where a case was
// seen.
func TestRulesNameNoVendor(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			text := ""
			switch n := n.(type) {
			case *ast.Ident:
				text = n.Name
			case *ast.BasicLit:
				text = n.Value
			}
			if vendor := vendors.FindString(text); vendor != "" {
				t.Errorf("%s names %s", fset.Position(n.Pos()), vendor)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
