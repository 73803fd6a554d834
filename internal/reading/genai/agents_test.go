// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/internal/replay/agentprofile"
)

//go:generate go test . -run PagesOfAgentsAreCurrent -update

const agentPages = "../../../docs/agents"

// The part of a page that is written by hand: what to install, and the code that turns content on. In the
// index it is the table of frameworks.
const setupBegin, setupEnd = "<!-- set-up, written by hand -->\n\n", "\n<!-- end of the set-up -->\n"

// setup returns that part of a page as it stands in the file.
func setup(t *testing.T, name string) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(agentPages, name))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(body), setupBegin)
	part, _, found := strings.Cut(rest, setupEnd)
	if !found {
		t.Errorf("%s has no set-up: %q … %q", name, setupBegin, setupEnd)
	}
	return setupBegin + part + setupEnd
}

// TestPagesOfAgentsAreCurrent: one page for each row of the table, and no page of a row that is gone.
func TestPagesOfAgentsAreCurrent(t *testing.T) {
	want := map[string]string{"README.md": agentIndex(setup(t, "README.md"))}
	for _, d := range Dialects {
		if d.Switch != "" {
			want[d.ID+".md"] = agentPage(d, setup(t, d.ID+".md"))
		}
	}
	for i := range agentprofile.Table {
		if p := &agentprofile.Table[i]; !ownPage(p) {
			want[p.ID+".md"] = programPage(p, setup(t, p.ID+".md"))
		}
	}
	if *genaitest.Update {
		for name, text := range want {
			if err := os.WriteFile(filepath.Join(agentPages, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	have, err := os.ReadDir(agentPages)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range have {
		if _, ok := want[e.Name()]; !ok {
			t.Errorf("%s is the page of nothing in the table: delete it", e.Name())
		}
	}
	for name, text := range want {
		body, err := os.ReadFile(filepath.Join(agentPages, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(text, string(body)); diff != "" {
			t.Errorf("%s is stale (go generate ./internal/reading/genai rewrites it):\n%s", name, diff)
		}
	}
}

func agentIndex(frameworks string) string {
	var b strings.Builder
	b.WriteString("# Switch your agent on\n\n<!-- generated from genai.Dialects by `go generate ./internal/reading/genai`, but for the set-up -->\n\n" +
		"This page leads from your framework to the page that says what to install, what turns content on, and what to look for afterwards.\n\n" +
		"A framework is recorded by spans of its own, or by a package that instruments it. *Take* is the way that reads best or is least work; the\n" +
		"[scorecard](../scorecard.md) has figures for both. If your agent shows up in a tracing backend, look for the backend below, in the table of instrumentations.\n\n" +
		"## By framework\n\n" + frameworks + "\n## By program\n\n" +
		"`tapedeck record` and `tapedeck replay` know these programs by their name, and give them what they need without a setting of yours. They are known behind `env`, `timeout`,\n" +
		"`npx`, `uvx`, `node`, `python -m`, and within `sh -c`, where arguments cannot be added. Within scripts they are not known.\n\n| program | page |\n|---|---|\n")
	for i := range agentprofile.Table {
		p := &agentprofile.Table[i]
		fmt.Fprintf(&b, "| `%s` | [%s](%s) |\n", strings.Join(p.Programs, "`, `"), cell(p.Name), pageOf(p))
	}
	b.WriteString("\n## By instrumentation\n\nThe id stands in `sources.dialects` of a tape. What is read of others: [dialects](../dialects.md#instrumentations-that-are-not-in-the-table).\n\n" +
		"| instrumentation | id on tapes |\n|---|---|\n")
	for _, d := range Dialects {
		if d.Switch != "" {
			fmt.Fprintf(&b, "| [%s](%s.md) | `%s` |\n", cell(d.Name), d.ID, d.ID)
		}
	}
	return b.String()
}

// ownPage reports whether a program has the page of its dialect, which no other program has.
func ownPage(p *agentprofile.Profile) bool {
	return slices.ContainsFunc(Dialects, func(d *dialect.Dialect) bool { return d.ID == p.Dialect && d.Switch != "" }) && p.Dialect != "vercel-ai"
}

func pageOf(p *agentprofile.Profile) string {
	if ownPage(p) {
		return p.Dialect + ".md"
	}
	return p.ID + ".md"
}

// programPage is the page of a program that has no dialect of its own.
func programPage(p *agentprofile.Profile, setup string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n<!-- generated from agentprofile.Table by `go generate ./internal/reading/genai`, but for the set-up -->\n\n"+
		"This page says how to record a run of %s and replay it. [All frameworks](README.md)", p.Name, p.Name)
	if p.Dialect != "" {
		fmt.Fprintf(&b, " · on tapes: `%s` in `sources.dialects`", p.Dialect)
	}
	return b.String() + "\n\n## Set-up\n\n" + setup + "\n" + recordAndReplay(p)
}

// recordAndReplay are the two commands of a program, and what they do.
func recordAndReplay(p *agentprofile.Profile) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## Record and replay\n\n`tapedeck` knows the program by its name (%s) and sets what it needs:\n\n<!-- not run: it needs the agent -->\n```sh\n"+
		"tapedeck record --to ./deck --task first -- %s\ntapedeck replay first --deck ./deck -- %s\n```\n\n", codes(p.Programs, ""), p.Example, p.Example)
	labels := func(settings []agentprofile.Setting) string {
		var names []string
		for _, s := range settings {
			if s.Given {
				continue
			}
			names = append(names, "`"+s.Label()+"`")
		}
		return strings.Join(names, ", ")
	}
	if list := labels(p.Record); list != "" {
		fmt.Fprintf(&b, "- Set in both: %s. What you set yourself stays.\n", list)
	}
	if p.Instrument {
		fmt.Fprintf(&b, "- Its telemetry comes from packages: install `opentelemetry-distro`, `opentelemetry-exporter-otlp` and an instrumentation of its model's SDK beside it (`pip install` into its environment). "+
			"`tapedeck` runs it by `%s` then.\n", agentprofile.Instrumenter)
	}
	if list := labels(p.Replay); list != "" {
		fmt.Fprintf(&b, "- Set in a replay, so that its model calls are answered from the tape and nothing else is asked: %s.\n", list)
	}
	if len(p.Passes) > 0 {
		fmt.Fprintf(&b, "- Passed on to a replay: %s, secrets aside.\n", codes(p.Passes, ""))
	}
	if p.Lacks != "" {
		fmt.Fprintf(&b, "- What no setting brings: %s.\n", p.Lacks)
	}
	if p.Transcripts != "" {
		reads := "which `tapedeck` does not read"
		if slices.ContainsFunc(Dialects, func(d *dialect.Dialect) bool { return d.ID == p.TranscriptDialect() }) {
			reads = "which [`tapedeck import`](../import.md) reads"
			if p.HomeVariable != "" {
				reads += ", and `tapedeck record` beside its telemetry"
			}
		}
		fmt.Fprintf(&b, "- Its own records of sessions, %s: `%s`.\n", reads, p.Transcripts)
	}
	return b.String() + "\n"
}

func agentPage(d *dialect.Dialect, setup string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n<!-- generated from genai.Dialects by `go generate ./internal/reading/genai`, but for the set-up -->\n\n"+
		"This page says what to install, what turns the recording of content on, and what comes. [All frameworks](README.md) · on tapes: `%s` in `sources.dialects`\n\n"+
		"## Set-up\n\n%s\n", d.Name, d.ID, setup)
	fmt.Fprintf(&b, "## What turns content on\n\n%s\n\n", capital(strings.TrimSuffix(d.Switch, "."))+".")
	if recognisedBy(d) == "" { // records that an import makes
		fmt.Fprintf(&b, "## What comes\n\n- Records named %s, which an import makes of lines.\n- A run is %s.\n", codes(d.Events, "*"), d.Root)
		return b.String()
	}
	if d.Flags != "" {
		fmt.Fprintf(&b, "Nothing is set in the agent: [`tapedeck record`](../cli.md#record) leads its model calls through itself, and its telemetry stays where it goes.\n\n"+
			"<!-- not run: it needs the agent -->\n```sh\ntapedeck record %s --to ./deck -- COMMAND OF THE AGENT\n```\n\n", d.Flags)
		return b.String() + pageOfWhatComes(d)
	}
	var set, unset, optional []string
	for _, s := range d.Settings {
		switch {
		case yields(d, s): // a file that sets it twice would set this value
			set = append(set, "# in another language, see above: "+s.Name+"="+s.Value)
		case s.Unset:
			unset = append(unset, "`"+s.Name+"`")
		case s.Optional:
			optional = append(optional, s.Name+"="+s.Value)
		default:
			set = append(set, s.Name+"="+s.Value)
		}
	}
	b.WriteString("In the environment of the agent, with a collector on this machine:\n\n```ini\nOTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318\n")
	for _, line := range set {
		b.WriteString(line + "\n")
	}
	if len(optional) > 0 {
		b.WriteString("# more with these:\n" + strings.Join(optional, "\n") + "\n")
	}
	b.WriteString("```\n\n")
	if len(set) == 0 {
		b.WriteString("No variable turns content on: what stands above is set in code, in a file of the program, or is on by itself.\n\n")
	}
	if len(unset) > 0 {
		fmt.Fprintf(&b, "Must not be set, because it turns content off: %s.\n\n", strings.Join(unset, ", "))
	}
	if i := slices.IndexFunc(agentprofile.Table, func(p agentprofile.Profile) bool { return p.Dialect == d.ID && ownPage(&p) }); i >= 0 {
		b.WriteString(recordAndReplay(&agentprofile.Table[i]))
	} else {
		b.WriteString("[`tapedeck record`](../cli.md#record) sets endpoint and variables by itself:\n\n<!-- not run: it needs the agent -->\n```sh\ntapedeck record --to ./deck -- COMMAND OF THE AGENT\n```\n\n")
	}
	return b.String() + pageOfWhatComes(d)
}

func pageOfWhatComes(d *dialect.Dialect) string {
	var b strings.Builder
	b.WriteString("## What comes\n\n")
	fmt.Fprintf(&b, "- Recognised by %s.\n", recognisedBy(d))
	switch {
	case d.Root == "":
		b.WriteString("- No span stands for a whole run: the caller's span is the run, or each call is one by itself.\n")
	case d.Rooted:
		fmt.Fprintf(&b, "- A run is %s. Every call lies below one; without it the run is [incomplete](../segregation.md#the-guarantee).\n", d.Root)
	default:
		fmt.Fprintf(&b, "- A run is %s.\n", d.Root)
	}
	if len(d.Events) > 0 {
		fmt.Fprintf(&b, "- Log records hold content too (%s). Export logs, and give the collector the [genailogs](../../connector/genailogsconnector/README.md) connector, as all [examples](../../examples/README.md) do.\n", codes(d.Events, "*"))
	}
	if d.Encoded {
		b.WriteString("- Tool results are JSON texts and are decoded once.\n")
	}
	b.WriteString("\n## Whether it worked\n\n<!-- not run: it needs telemetry of the agent -->\n```sh\ntapedeck doctor traces.jsonl        # what is missing for a replay, and the setting that brings it\ntapedeck ls ./deck                  # grade offline: it replays with the network closed\n```\n")
	return b.String()
}

// yields reports whether the dialect wants another value of the same variable elsewhere, which goes before this one.
func yields(d *dialect.Dialect, s dialect.Setting) bool {
	return s.Yields && slices.ContainsFunc(d.Settings, func(o dialect.Setting) bool { return o.Name == s.Name && !o.Yields })
}

// capital begins a sentence, unless code does.
func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// Each page says how its subject is installed, and each page of a dialect has a block of code that turns
// content on.
func TestPagesHaveASetUp(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(agentPages, "*.md"))
	if err != nil || len(files) < 50 {
		t.Fatalf("%d pages: %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if part := setup(t, name); name != "README.md" && !strings.Contains(part, "```") {
			t.Errorf("%s: the set-up has no block of code", name)
		} else if name != "README.md" && !strings.Contains(strings.ToLower(part), "install") && !regexp.MustCompile("go get|dotnet add|In Maven|In Gradle|No package is needed|no SDK of its own").MatchString(part) {
			t.Errorf("%s: the set-up does not say what to install", name)
		}
	}
}

// Every framework whose capture a variable turns on has it on its page, and sets it once.
func TestPagesNameEverySetting(t *testing.T) {
	n := 0
	for _, d := range Dialects {
		page := agentPage(d, "")
		for _, s := range d.Settings {
			n++
			begin := "\n"
			if yields(d, s) {
				begin = ": "
			}
			if !strings.Contains(page, s.Name) || !s.Unset && !strings.Contains(page, begin+s.Name+"="+s.Value+"\n") {
				t.Errorf("the page of %s does not say how %s is set", d.ID, s.Name)
			}
			if n := strings.Count(page, "\n"+s.Name+"="); n > 1 {
				t.Errorf("the page of %s sets %s %d times", d.ID, s.Name, n)
			}
		}
	}
	if n == 0 || !slices.ContainsFunc(Dialects, func(d *dialect.Dialect) bool { return len(d.Settings) == 0 }) {
		t.Errorf("%d settings", n)
	}
}

// What a framework puts around a task is known by the attribute that holds the task alone.
func TestTaskThatAnAttributeHoldsAlone(t *testing.T) {
	for name, c := range map[string]struct{ handed, task, want string }{
		"behind a word":   {"Task: Find it.", "Find it.", "Find it."},
		"another text":    {"Task: Find it now.", "Find it.", "Task: Find it now."},
		"behind more":     {"This is my task: Find it.", "Find it.", "This is my task: Find it."},
		"the text itself": {"Find it.", "Find it.", "Find it."},
	} {
		o := Read(genaitest.Span("app", "invoke_agent a", "gen_ai.operation.name", "invoke_agent", "acme.task.description", c.task,
			"gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"`+c.handed+`"}]}]`))
		if len(o.Input) != 1 || o.Input[0].Parts[0].Text != c.want {
			t.Errorf("%s: %+v", name, o.Input)
		}
	}
}
