// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/evaluation/expect"
	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// agentRun is a run that calls a tool with each of the arguments, and answers.
func agentRun(tb testing.TB, answer string, args ...string) *tape.Tape {
	tb.Helper()
	t := &tape.Tape{}
	for _, text := range args {
		v, err := exactjson.Parse(text)
		if err != nil {
			tb.Fatal(err)
		}
		t.Events = append(t.Events, tape.Event{Type: tape.EventToolCall, Name: "search", Args: v, Result: exactjson.StringValue("found")})
	}
	t.Output.Text = &answer
	interop.Finish(t, "generated", []byte(answer), interop.Options{})
	if err := t.Seal(); err != nil {
		tb.Fatal(err)
	}
	return t
}

func read(tb testing.TB, text string) *Case {
	tb.Helper()
	c, err := Read([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// judge lists the reasons why a run does not hold a case.
func judge(tb testing.TB, c *Case, of *tape.Tape, answer *string) (reasons []string) {
	tb.Helper()
	failures, err := c.Judge(tb.Context(), expect.Of(of, answer), expect.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range failures {
		reasons = append(reasons, f.String())
	}
	return reasons
}

func TestTheExpectationsOfARunHoldForIt(t *testing.T) {
	odd := "7 \u0085 \u2028 \"\\ \x7f ✓\n\ttwo: lines #\r\n- [x]"
	run := agentRun(t, odd, `{"q":"stock: of #7","n":1.50,"big":9007199254740993,"on":true,"none":null,"list":[1,{"a":"yes"}],"2024-01-01":"no"}`, `"text that is no object"`, `{}`,
		`{"q":"`+strings.Repeat("long ", 1000)+`"}`, "{\"\u0085\":\"\u2028\ufeff\"}")
	body, err := New(run)
	if err != nil {
		t.Fatal(err)
	}
	c := read(t, string(body))
	if reasons := judge(t, c, run, &odd); len(reasons) > 0 || len(c.Calls.Expect) != 5 || c.Compare != "results" || c.Source.RunID != run.Run.RunID {
		t.Errorf("%v\n%s", reasons, body)
	}
	if !bytes.Contains(body, []byte(`args: {"q":"stock: of #7","n":1.50,"big":9007199254740993`)) || bytes.Count(body, []byte("args_hash: ")) != 1 {
		t.Errorf("%s", body)
	}
	if body, err = New(agentRun(t, "")); err != nil || !bytes.Contains(body, []byte("expect: []")) {
		t.Errorf("%v\n%s", err, body)
	}
}

func TestCallsAreComparedAsTheOrderSays(t *testing.T) {
	a, b, c := `{"q":"a"}`, `{"q":"b"}`, `{"q":"c"}`
	expected := "\n  expect:\n    - {tool: search, args: {q: a}}\n    - {tool: search}\n"
	for _, of := range []struct {
		order string
		made  []string
		want  string // of the reason
	}{
		{"exact", []string{a, b}, ""},
		{"exact", []string{b, a}, `expected call 1: search {"q":"a"}, found search {"q":"b"}`},
		{"exact", []string{a}, "expected call 2: search, found no such call"},
		{"exact", []string{a, b, c}, `expected 2 calls, found call 3: search {"q":"c"}`},
		{"any", []string{b, a}, ""},
		{"any", []string{a, a}, ""},
		{"any", []string{b, c}, `expected call 1: search {"q":"a"}, found search {"q":"b"}`},
		{"any", []string{a, b, c}, `expected no other than 2 calls, found call 3: search {"q":"c"}`},
		{"at_least", []string{c, a, b, c}, ""},
		{"at_least", []string{b, a}, "expected call 2: search behind the ones before it, found no such call"},
	} {
		reasons := judge(t, read(t, "version: 1\ncalls:\n  order: "+of.order+expected), agentRun(t, "", of.made...), nil)
		if got := strings.Join(reasons, "; "); got != strings.TrimSuffix("tools: "+of.want, "tools: ") {
			t.Errorf("%s %v: %q", of.order, of.made, got)
		}
	}
}

func TestACallOfAnotherToolIsAnotherCall(t *testing.T) {
	for _, order := range []Order{Exact, Any, AtLeast} {
		c := read(t, "version: 1\ncalls: {order: "+string(order)+", expect: [{tool: find, args: {q: a}}]}\n")
		if reasons := judge(t, c, agentRun(t, "", `{"q":"a"}`), nil); len(reasons) != 1 {
			t.Errorf("%s: %q", order, reasons)
		}
	}
}

func TestAllowedDifferencesAreRules(t *testing.T) {
	const rules = "rules:\n  - {tool: search, path: $.at, action: ignore, in: [args]}\n  - {path: $, action: normalise, as: date, in: [text]}\n"
	const expected = "version: 1\ncalls:\n  expect:\n    - {tool: search, args: {q: a, at: 1}}\nanswer: {equals: \"on 2026-11-20\"}\n"
	answer := "on 2026-11-22"
	if reasons := judge(t, read(t, expected+rules), agentRun(t, "", `{"q":"a","at":2}`), &answer); len(reasons) > 0 {
		t.Error(reasons)
	}
	if reasons := judge(t, read(t, expected), agentRun(t, "", `{"q":"a","at":2}`), &answer); len(reasons) != 2 {
		t.Error(reasons)
	}
	if reasons := judge(t, read(t, expected+rules), agentRun(t, "", `{"q":"b","at":2}`), &answer); len(reasons) != 1 {
		t.Error(reasons)
	}
}

func TestTheAnswerIsWhatIsExpected(t *testing.T) {
	said := " There are 7 apples.\n"
	for text, want := range map[string]int{
		`{equals: There are 7 apples.}`:           0,
		`{equals: There are 8 apples.}`:           1,
		`{contains: [7, apples]}`:                 0,
		`{contains: [pears, apples, plums]}`:      2,
		`{matches: '^There are \d+'}`:             0,
		`{matches: '^\d+', contains: ["apples"]}`: 1,
	} {
		if reasons := judge(t, read(t, "version: 1\nanswer: "+text+"\n"), agentRun(t, ""), &said); len(reasons) != want {
			t.Errorf("%s: %q", text, reasons)
		}
	}
	if reasons := judge(t, read(t, "version: 1\nanswer: {contains: [a]}\n"), agentRun(t, ""), nil); len(reasons) != 1 {
		t.Errorf("%q", reasons)
	}
}

func TestWhatIsMisspelledIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                            "empty",
		"version: 2":                                  "version is 2",
		"version: 1\n---\nversion: 1\n":               "more than one document",
		"version: 1\nanswers: {}\n":                   "answers",
		"version: 1\ncompare: everything\n":           "compare is",
		"version: 1\nanswer: {}\n":                    "want equals",
		"version: 1\nanswer: {matches: '('}\n":        "matches",
		"version: 1\ncalls: {order: sorted}\n":        "order is",
		"version: 1\ncalls: {expect: [{args: {}}]}\n": "names no tool",
		"version: 1\ncalls: {expect: [{tool: a, args: {n: 0x10}}]}\n":                  "not written as in JSON",
		"version: 1\ncalls: {expect: [{tool: a, args: {n: .inf}}]}\n":                  "not written as in JSON",
		"version: 1\ncalls: {expect: [{tool: a, args: {n: 1, n: 2}}]}\n":               "twice",
		"version: 1\ncalls: {expect: [{tool: a, args: {}, args_hash: x}]}\n":           "exclude each other",
		"version: 1\ncalls: {expect: [{tool: a, args: {a: &x [1], b: *x}}]}\n":         "aliases",
		"version: 1\nrules: [{tool: a, path: '$', action: forget}]\n":                  "forget",
		"version: 1\nrules: [{tool: a, path: '$', action: ignore, reason: because}]\n": "reason",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for _, name := range []string{"", ".", "..", "a/b", `a\b`, "-x", "a b", strings.Repeat("a", 81)} {
		if CheckName(name) == nil {
			t.Errorf("%q is taken", name)
		}
	}
}

func TestASuiteIsAFolderOfCases(t *testing.T) {
	dir := t.TempDir()
	run := agentRun(t, "done", `{}`)
	if _, _, err := Open(dir); !errors.Is(err, ErrEmpty) {
		t.Error(err)
	}
	for _, name := range []string{"b", "a"} {
		if _, err := Add(dir, name, run, run.AppendJSON(nil), false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Add(dir, "a", run, run.AppendJSON(nil), false); err == nil {
		t.Error("a case was written over")
	}
	if _, err := Add(dir, "a", run, run.AppendJSON(nil), true); err != nil {
		t.Error(err)
	}
	// A tape that was changed, and a file that cannot be read, are said; a folder without a case is none.
	altered := filepath.Join(dir, "b", tape.TapeFile)
	if err := os.WriteFile(altered, bytes.Replace(run.AppendJSON(nil), []byte("done"), []byte("gone"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "c"), 0o700); err != nil {
		t.Fatal(err)
	}
	cases, broken, err := Open(dir)
	if err != nil || len(cases) != 1 || cases[0].Name != "a" || len(broken) != 1 || !errors.Is(broken[0], tape.ErrAltered) {
		t.Errorf("%v %v %v", cases, broken, err)
	}
}

// A case holds a recorded run.
func TestACaseIsForItsOwnerAlone(t *testing.T) {
	dir, run := filepath.Join(t.TempDir(), "suite"), agentRun(t, "done", `{}`)
	folder, err := Add(dir, "a", run, run.AppendJSON(nil), false)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, folder, filepath.Join(folder, CaseFile), filepath.Join(folder, tape.TapeFile)} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
}

// A file that is endless, or of a terabyte, is not read whole to find that out.
func TestACaseThatIsTooLargeIsSaid(t *testing.T) {
	dir, run := t.TempDir(), agentRun(t, "done", `{}`)
	folder, err := Add(dir, "a", run, run.AppendJSON(nil), false)
	if err == nil {
		err = os.Truncate(filepath.Join(folder, CaseFile), 1<<40)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, broken, err := Open(dir); err != nil || len(broken) != 1 || !strings.Contains(broken[0].Error(), "larger than") {
		t.Errorf("%v %v", broken, err)
	}
}

func TestAFlakyCaseIsAFailureAndSaysHowOftenItPassed(t *testing.T) {
	replays := func(statuses ...Status) (r Result) {
		r.Name = "case"
		for _, s := range statuses {
			one := Replay{Status: s}
			if s != Passed {
				one.Reasons = []string{"answer: it is | another"}
			}
			r.Replays = append(r.Replays, one)
		}
		r.Conclude()
		return r
	}
	for _, c := range []struct {
		of   Result
		want Status
		code int
	}{
		{replays(Passed, Passed), Passed, 0},
		{replays(Passed, Failed, Passed), Flaky, 1},
		{replays(Passed, NotDone), Flaky, 1},
		{replays(Failed, Failed), Failed, 1},
		{replays(Failed, NotDone), Failed, 1},
		{replays(NotDone, NotDone), NotDone, 2},
	} {
		r := Report{Cases: []Result{replays(Passed), c.of}}
		r.Conclude()
		if c.of.Status != c.want || r.ExitCode() != c.code {
			t.Errorf("%+v: code %d", c.of, r.ExitCode())
		}
	}
	r := Report{Cases: []Result{replays(Passed, Failed, Passed)}, Broken: []string{"tapes/x: the file is empty"}}
	r.Conclude()
	var junit bytes.Buffer
	if err := r.JUnit(&junit); err != nil {
		t.Fatal(err)
	}
	for form, text := range map[string]string{"text": r.Text(), "markdown": r.Markdown(), "junit": junit.String()} {
		if !strings.Contains(text, "flaky (2 of 3)") || !strings.Contains(text, "(1 of 3 replays)") || !strings.Contains(text, "the file is empty") {
			t.Errorf("%s: %s", form, text)
		}
	}
	if !strings.Contains(junit.String(), `tests="2" failures="1" errors="1"`) || !strings.Contains(r.Markdown(), `is \| another`) || r.ExitCode() != 2 {
		t.Errorf("%s\n%s", junit.String(), r.Markdown())
	}
}

func FuzzRead(f *testing.F) {
	body, err := New(agentRun(f, "done", `{"q":[1,2.50,"x"]}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(body)
	f.Add([]byte("version: 1\nruns: {where: \"status = 'ok'\", user_message: hi}\nexpect:\n  tools: {mode: superset, calls: [{name: search, args_match: {$.q: {one_of: [1, 2], range: {max: 3}}, $..x: {absent: true}}}]}\n  max_duration: 1s\n  answer: {json: {$: {matches: d}}, scorer: rouge1, reference: done}\n"))
	f.Add([]byte("version: 1\ncalls: {order: any, expect: [{tool: a, args: &a [*a]}]}\nrules: [{path: $.a, action: ignore}]\n"))
	run := agentRun(f, "done", `{"q":1}`)
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Read(data)
		if err != nil {
			return
		}
		answer := "done"
		if !c.Commands() {
			_, _ = c.Judge(t.Context(), expect.Of(run, &answer), expect.Options{Timeout: time.Second})
		}
	})
}

// TestEachPartOfAReasonHasALine: a person reads down, not along.
func TestEachPartOfAReasonHasALine(t *testing.T) {
	r := Report{Cases: []Result{{Name: "x", Status: Failed, Replays: []Replay{{Reasons: []string{"model calls were recorded: 0 of 2; call 1: miss; call 2: miss"}}}}}}
	if got, want := r.Text(), "          model calls were recorded: 0 of 2\n            call 1: miss\n            call 2: miss\n"; !strings.Contains(got, want) {
		t.Errorf("%s", got)
	}
	if got := r.Markdown(); !strings.Contains(got, "0 of 2<br>call 1: miss<br>call 2: miss |") {
		t.Errorf("%s", got)
	}
}

func TestACaseIsForTheRunsThatItNames(t *testing.T) {
	long := strings.Repeat("long ", 200)
	run := func(question string) expect.Run {
		of := agentRun(t, "done", `{}`)
		of.Input.UserMessage = &question
		of.Run.Agent.Name = "clerk"
		return expect.Of(of, nil)
	}
	for _, c := range []struct {
		runs, question string
		columns, tape  bool // whether it takes the run, by its columns and by its tape
	}{
		{"{user_message: hello}", " hello\n", true, true},
		{"{user_message: hello}", "hello, you", false, false},
		{"{user_message: " + long + "}", long, true, true},
		{"{user_message: " + long + "}", long + "er", true, false},
		{"{user_message: " + long + "}", "short", false, false},
		{"{where: \"agent = 'clerk'\"}", "", true, true},
		{"{where: \"agent = 'coder'\", user_message: hello}", "hello", false, false},
	} {
		of, r := read(t, "version: 1\nruns: "+c.runs+"\nexpect: {status: ok}\n"), run(c.question)
		if of.Takes(r) != c.tape {
			t.Errorf("%.60s, %.60s: %t by its tape", c.runs, c.question, !c.tape)
		}
		r.Tape = nil
		if of.Takes(r) != c.columns || c.columns != c.tape && !of.NeedsTape() {
			t.Errorf("%.60s, %.60s: %t by its columns", c.runs, c.question, !c.columns)
		}
	}
	for text, want := range map[string]string{"runs: {}": "want where or user_message", "runs: {where: 'agents = 1'}": "runs: where"} {
		if _, err := Read([]byte("version: 1\n" + text + "\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestWhatWasCheckedIsReported(t *testing.T) {
	failures := []expect.Failure{{Expectation: "max_turns", Expected: "at most 1", Found: "2\n3"}}
	a, b := &CheckedCase{Name: "a"}, &CheckedCase{Name: "b"}
	for range 60 {
		a.Add(CheckedRun{ID: "4bf92f35", Failures: failures})
	}
	a.Add(CheckedRun{ID: "9583ed5b"})
	r := Checked{Cases: []*CheckedCase{a, b}}
	r.Conclude()
	if text := r.Text(); r.ExitCode() != 1 || strings.Count(text, "max_turns: expected at most 1, found 2 3\n") != mostShown || !strings.Contains(text, "and 10 more") ||
		!strings.Contains(text, "a: 1 of 61 runs hold\nb: no run to check\n") {
		t.Errorf("code %d\n%s", r.ExitCode(), text)
	}
	var junit bytes.Buffer
	if err := r.JUnit(&junit); err != nil || !strings.Contains(junit.String(), `tests="62" failures="60" errors="0" skipped="1"`) {
		t.Errorf("%v %.300s", err, junit.String())
	}
	a.Failed = nil
	for code, of := range map[int]Checked{0: {Cases: []*CheckedCase{a}}, 3: {Cases: []*CheckedCase{a, b}}, 2: {Cases: []*CheckedCase{b}, Broken: []string{"x"}}} {
		if of.ExitCode() != code {
			t.Errorf("%d, want %d", of.ExitCode(), code)
		}
	}
}
