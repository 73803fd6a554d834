// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package formats

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

//go:generate go test . -run FormatsDocumentIsCurrent -update

var update = flag.Bool("update", false, "rewrite the generated part of the document")

const (
	document = "../../../docs/formats.md"
	begin    = "<!-- generated from formats.All by `go generate ./internal/interop/formats` -->\n"
	end      = "<!-- end of the generated part -->\n"
)

func TestFormatsDocumentIsCurrent(t *testing.T) {
	body, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(body), begin)
	_, after, more := strings.Cut(rest, end)
	if !ok || !more {
		t.Fatalf("%s has lost the marks of its generated part", document)
	}
	want := fields(t, before+begin+overview()+fates(t)+end+after)
	if *update {
		if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, string(body)); diff != "" && !*update {
		t.Errorf("%s is stale (go generate ./internal/interop/formats rewrites it):\n%s", document, diff)
	}
}

// fields puts the tables of the members of formats into the document.
func fields(t *testing.T, page string) string {
	t.Helper()
	for _, f := range All {
		if f.Fields == nil {
			continue
		}
		before, rest, ok := strings.Cut(page, "<!-- members of "+f.Name+", generated -->\n")
		_, after, more := strings.Cut(rest, "<!-- end of the members of "+f.Name+" -->\n")
		if !ok || !more {
			t.Fatalf("%s has lost the marks of the members of %s", document, f.Name)
		}
		var b strings.Builder
		b.WriteString("\n| member | comes from | cannot be had, because |\n|---|---|---|\n")
		for _, m := range f.Fields() {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", m.Path, m.From, m.Why)
		}
		b.WriteString("\n")
		page = before + "<!-- members of " + f.Name + ", generated -->\n" + b.String() + "<!-- end of the members of " + f.Name + " -->\n" + after
	}
	return page
}

// Every member of a format is in its table, and the table is right: what is said to come from somewhere is written for a tape that holds it, what is said not to be had
// never is.
func TestMembersComeFromWhereTheTableSays(t *testing.T) {
	known, err := exactjson.Parse(`{"task_id":"t","run_number":2,"eval_id":"e","eval_name":"n","skill":"s","golden":true,"rules_active":["r"],"env_allow":["CLERK_*"],
		"instructions":[{"path":"AGENTS.md","sha256":"` + strings.Repeat("a", 64) + `","size":3}],"fixtures":[{"path":"f.csv","sha256":"` + strings.Repeat("b", 64) + `","size":3}],
		"workspace":[{"operation":"created","path":"new.txt","sha256":"` + strings.Repeat("c", 64) + `","size":3}],"checks":[{"name":"check-1","passed":true,"exit_code":0}]}`)
	if err != nil {
		t.Fatal(err)
	}
	status, err := exactjson.Parse(`{"replayed":true,"replay_count":1,"last_replay":"2026-11-20T10:00:00Z","match_status":"exact_match"}`)
	if err != nil {
		t.Fatal(err)
	}
	plain, harnessed := fullTape(t), fullTape(t)
	harnessed.Extensions = exactjson.ObjectValue(exactjson.Member{Name: "harness", Value: known}, exactjson.Member{Name: "waza", Value: exactjson.ObjectValue(
		exactjson.Member{Name: "task.name", Value: exactjson.StringValue("A task")})}, exactjson.Member{Name: "process", Value: exactjson.ObjectValue(
		exactjson.Member{Name: "environment_variable.CLERK_MODE", Value: exactjson.StringValue("fast")})})
	for i := range harnessed.Events { // the user goes on, and the provider calls its model by another name
		if e := &harnessed.Events[i]; e.Type == tape.EventModelCall && e.Parent == 0 && e.Request != nil {
			e.Request.Messages = append(slices.Clone(e.Request.Messages), interop.Pool(harnessed, interop.Text(tape.RoleUser, fmt.Sprint("and then? ", i))))
			if e.Response != nil {
				e.Response.Model = e.Model + "-2026-11-20"
			}
		}
	}
	failing := fullTape(t)
	failing.Run.Status, failing.Run.Error = tape.StatusError, &tape.Error{Message: "m"}
	for _, f := range All {
		if f.Fields == nil {
			continue
		}
		written := map[string]bool{}
		for _, tp := range []*tape.Tape{plain, harnessed, failing} {
			body, _, err := f.Encode(tp, oracle.FromTape(tp), interop.Options{ReplayStatus: status, EnvAllow: []string{"CLERK_*"}})
			if err != nil {
				t.Fatal(err)
			}
			v := parse(t, body)
			for _, m := range f.Fields() {
				written[m.Path] = written[m.Path] || holds(v, strings.Split(strings.ReplaceAll(m.Path, "[]", ".*"), "."))
			}
		}
		seen := map[string]bool{}
		for _, m := range f.Fields() {
			if seen[m.Path] || (m.From == "") == (m.Why == "") {
				t.Errorf("%s: %s stands there twice, or its table does not say where it comes from", f.Name, m.Path)
			}
			seen[m.Path] = true
			if written[m.Path] != (m.From != "") {
				t.Errorf("%s: %s is written: %t; the table says that it comes from %q", f.Name, m.Path, written[m.Path], m.From)
			}
		}
	}
}

// holds reports whether a document holds something at a path, in which * is any element or member.
func holds(v exactjson.Value, path []string) bool {
	if len(path) == 0 {
		return !v.IsAbsent()
	}
	if path[0] != "*" {
		return holds(v.Get(path[0]), path[1:])
	}
	for _, m := range v.Members() {
		if holds(m.Value, path[1:]) {
			return true
		}
	}
	return false
}

// overview is the table of the formats.
func overview() string {
	var b strings.Builder
	b.WriteString("\n| `--format` | writes | reads | file name | beside a tape |\n|---|---|---|---|---|\n")
	for _, f := range All {
		writes, name, reads := "–", "–", "–"
		if f.Encode != nil {
			writes, name = f.Title, "`"+f.FileName(example)+"`"
		}
		if f.Decode != nil {
			reads = f.Reads
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", f.Name, writes, reads, name, yesNo(f.Beside))
	}
	return b.String()
}

var example = &tape.Tape{Run: tape.Run{Agent: tape.Agent{Name: "planner"}, Service: tape.Service{Name: "svc"},
	TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", RootSpanID: "00f067aa0ba902b7", RunID: "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
	EndedAt: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)}}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// fates is the table of what each format keeps: a tape that holds every member of the tape format goes through it and back.
func fates(t *testing.T) string {
	original := fullTape(t)
	before := parse(t, original.AppendJSON(nil))
	var b strings.Builder
	b.WriteString("\n| of a tape | " + strings.Join(Names(both), " | ") + " |\n|---|" + strings.Repeat("---|", len(Names(both))) + "\n")
	after := map[string]exactjson.Value{}
	for _, f := range All {
		if both(f) {
			after[f.Name] = there(t, f, original)
		}
	}
	for _, a := range interop.Aspects {
		fmt.Fprintf(&b, "| %s |", a.Name)
		for _, f := range All {
			if !both(f) {
				continue
			}
			cell := string(a.Fate(before, after[f.Name]))
			if note := f.Notes[a.Name]; note != "" {
				cell += ": " + note
			}
			fmt.Fprintf(&b, " %s |", strings.ReplaceAll(cell, "|", `\|`))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func both(f *interop.Format) bool { return f.Encode != nil && f.Decode != nil }

// there sends a tape through a format and back, and returns it parsed.
func there(t *testing.T, f *interop.Format, original *tape.Tape) exactjson.Value {
	t.Helper()
	file, _, err := f.Encode(original, oracle.FromTape(original), interop.Options{})
	if err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	runs, err := f.Decode(file, interop.Options{})
	if err != nil || len(runs) != 1 {
		t.Fatalf("%s: %d runs, %v", f.Name, len(runs), err)
	}
	if err := runs[0].Tape.Seal(); err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	return parse(t, runs[0].Tape.AppendJSON(nil))
}

// fullTape is a tape that holds every member of the format, and calls that took some time.
func fullTape(t *testing.T) *tape.Tape {
	t.Helper()
	data, err := os.ReadFile("../../../tape/testdata/full.tape.json")
	if err != nil {
		t.Fatal(err)
	}
	tp, err := tape.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	for i := range tp.Events {
		tp.Events[i].DurationMS += int64(i) + 1
	}
	return tp
}

func parse(t *testing.T, data []byte) exactjson.Value {
	t.Helper()
	v, err := exactjson.Parse(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestFormatsAreWellFormed(t *testing.T) {
	aspects := map[string]bool{}
	for _, a := range interop.Aspects {
		aspects[a.Name] = true
	}
	seen := map[string]bool{"tape": true, "oracle": true}
	for _, f := range All {
		if f.Name == "" || seen[f.Name] || strings.ToLower(f.Name) != f.Name {
			t.Errorf("name %q is empty, not lower case or comes twice", f.Name)
		}
		seen[f.Name] = true
		if f.Title == "" || (f.Decode != nil) != (f.Reads != "") || (f.Encode != nil) != (f.FileName != nil) || f.Encode == nil && f.Decode == nil || f.Beside && f.Encode == nil {
			t.Errorf("%s is incomplete", f.Name)
		}
		for name := range f.Notes {
			if !aspects[name] {
				t.Errorf("%s has a note on %q, which is no aspect", f.Name, name)
			}
		}
	}
}
