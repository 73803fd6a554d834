// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package expect

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// parse reads what is expected, as the file of a case holds it.
func parse(text string) (*Expect, error) {
	var e Expect
	d := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	d.KnownFields(true)
	if err := d.Decode(&e); err != nil {
		return nil, err
	}
	return &e, e.Check()
}

func call(tb testing.TB, name, args string) tape.Event {
	tb.Helper()
	e := tape.Event{Type: tape.EventToolCall, Name: name}
	if args != "" {
		v, err := exactjson.Parse(args)
		if err != nil {
			tb.Fatal(err)
		}
		e.Args = v
	}
	return e
}

// aRun is a run that finds an order and refunds it, in 3 model calls, 900 tokens and 5 s.
func aRun(tb testing.TB) *tape.Tape {
	tb.Helper()
	in, out := int64(700), int64(200)
	begun := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	answer := `{"refunded": true, "amount": 12.5}`
	t := &tape.Tape{Events: []tape.Event{
		call(tb, "find", `{"customer":"ann","limit":10}`),
		call(tb, "find", `{"customer":"bob","limit":50}`),
		call(tb, "refund", `{"order":{"id":7,"lines":[{"n":1},{"n":2}]},"reason":"dup-12"}`),
		call(tb, "mail", ""),
	}}
	t.Run.Status, t.Run.StartedAt, t.Run.EndedAt, t.Run.DurationMS = tape.StatusOK, begun, begun.Add(5*time.Second), 5000
	t.Usage = tape.RunUsage{InputTokens: &in, OutputTokens: &out, ModelCalls: 3, ToolCalls: 4}
	t.Fidelity.Grade = tape.GradeTools
	t.Fidelity.Findings = []tape.Finding{{Code: tape.FindingKinds[0].Code}}
	t.Verdicts = []tape.Verdict{{Name: "correctness", Value: exactjson.FloatValue(0.75), Label: "pass"}, {Name: "tone"}}
	t.Output.Text = &answer
	return t
}

func TestEachExpectationHoldsOrSaysWhyNot(t *testing.T) {
	code := string(tape.FindingKinds[0].Code)
	other := string(tape.FindingKinds[1].Code)
	of := aRun(t)
	for _, c := range []struct{ expect, want string }{
		{"status: ok", ""},
		{"status: [ok, interrupted]", ""},
		{"status: error", "status: expected error, found ok"},
		{"max_turns: 3", ""},
		{"max_turns: 2", "max_turns: expected at most 2, found 3"},
		{"max_tool_calls: 4", ""},
		{"max_tool_calls: 0", "max_tool_calls: expected at most 0, found 4"},
		{"max_tokens: 900", ""},
		{"max_tokens: 899", "max_tokens: expected at most 899, found 900"},
		{"max_duration: 5s", ""},
		{"max_duration: 4.9s", "max_duration: expected at most 4.9 s, found 5.0 s"},
		{"forbidden_tools: [delete]", ""},
		{"forbidden_tools: [delete, mail]", "forbidden_tools: expected none of delete, mail, found mail"},
		{"allowed_tools: [find, refund, mail]", ""},
		{"allowed_tools: [find, refund]", "allowed_tools: expected only find, refund, found mail"},
		{"allowed_tools: []", "allowed_tools: expected no tool, found find, refund, mail"},
		{"no_findings: [" + other + "]", ""},
		{"no_findings: " + code, "no_findings: expected none of " + code + ", found " + code},
		{"min_grade: model", ""},
		{"min_grade: tools", ""},
		{"min_grade: offline", "min_grade: expected offline or better, found tools"},
		{"verdict: correctness>=0.5", ""},
		{"verdict: [correctness = pass, tone]", ""},
		{"verdict: correctness>0.9", "verdict: expected correctness>0.9, found correctness=0.75, correctness=pass"},
		{"verdict: [tone, safety = ok]", "verdict: expected safety = ok, found that it is not recorded"},
		{"answer: {contains: [refunded]}", ""},
		{"answer: {contains: [denied]}", `answer: expected that it contains "denied", found "{\"refunded\": true, \"amount\": 12.5}"`},
		{"answer: {matches: 'refunded.: true'}", ""},
		{"answer: {json: {$.refunded: {equals: true}, $.amount: {range: {max: 20}}}}", ""},
		{"answer: {json: {$.amount: {range: {min: 20}}}}", "answer: expected $.amount in 20.., found $.amount is 12.5"},
		{"answer: {scorer: exact, reference: '{\"refunded\": true, \"amount\": 12.5}'}", ""},
		{"answer: {scorer: structural, reference: '{\"refunded\": false, \"amount\": 1}'}", ""},
		{"answer: {scorer: rouge1, reference: refunded, min_score: 0.9}", `answer: expected a score of rouge1 of 0.9 or more, found 0.333: "{\"refunded\": true, \"amount\": 12.5}"`},
	} {
		e, err := parse(c.expect)
		if err != nil {
			t.Errorf("%s: %v", c.expect, err)
			continue
		}
		failures, err := e.Judge(t.Context(), Of(of, of.Output.Text), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := text(failures); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.expect, got, c.want)
		}
	}
}

func text(failures []Failure) string {
	var list []string
	for _, f := range failures {
		list = append(list, f.String())
	}
	return strings.Join(list, "; ")
}

// What nobody recorded is no good news.
func TestWhatIsNotRecordedDoesNotHold(t *testing.T) {
	e, err := parse("max_turns: 3\nmax_tool_calls: 4\nmax_tokens: 5\nmax_duration: 1h\nstatus: ok\nmin_grade: inspect\n")
	if err != nil {
		t.Fatal(err)
	}
	failures, err := e.Judge(t.Context(), Run{Columns: &reel.Meta{}}, Options{})
	if err != nil || len(failures) != 6 || !strings.Contains(text(failures), "max_tokens: expected at most 5, found that it is not recorded") {
		t.Errorf("%v %v", failures, err)
	}
	if e, err = parse("answer: {contains: [x]}"); err != nil {
		t.Fatal(err)
	}
	if failures, err = e.Judge(t.Context(), Of(aRun(t), nil), Options{}); err != nil || len(failures) != 1 {
		t.Errorf("%v %v", failures, err)
	}
}

func TestCallsAreComparedAsTheModeSays(t *testing.T) {
	const ann, bob, refund, mail = "{name: find, args: {customer: ann, limit: 10}}", "{name: find, args: {limit: 50, customer: bob}}", "{name: refund}", "{name: mail}"
	const any, delete = "{name: find}", "{name: delete}"
	of := aRun(t)
	for _, c := range []struct {
		mode  Mode
		calls []string
		want  string
	}{
		{Exact, []string{ann, bob, refund, mail}, ""},
		{Exact, []string{any, any, refund, mail}, ""},
		{Exact, []string{bob, ann, refund, mail}, `tools: expected call 1: find {"limit":50,"customer":"bob"}, found find {"customer":"ann","limit":10}`},
		{Exact, []string{ann, bob, refund}, "tools: expected 3 calls, found call 4: mail"},
		{Exact, []string{ann, bob, refund, mail, mail}, "tools: expected call 5: mail, found no such call"},
		{Exact, nil, `tools: expected 0 calls, found call 1: find {"customer":"ann","limit":10}`},
		{InOrder, []string{bob, mail}, ""},
		{InOrder, []string{any, bob, mail}, ""},
		{InOrder, nil, ""},
		{InOrder, []string{mail, refund}, "tools: expected call 2: refund behind the ones before it, found no such call"},
		{InOrder, []string{delete}, "tools: expected call 1: delete, found no such call"},
		{AnyOrder, []string{mail, refund, any, ann}, ""},
		{AnyOrder, []string{mail, refund, any, ann, any}, "tools: expected call 5: find, found no such call"},
		{AnyOrder, []string{mail, refund, ann}, `tools: expected no other than 3 calls, found call 2: find {"customer":"bob","limit":50}`},
		{Superset, []string{refund, ann}, ""},
		{Superset, []string{any, ann, bob}, `tools: expected call 3: find {"limit":50,"customer":"bob"}, found find {"customer":"ann","limit":10}`},
		{Superset, []string{refund, refund}, "tools: expected call 2: refund, found no such call"},
		{Subset, []string{mail, mail, refund, any, ann}, ""},
		{Subset, []string{mail, delete, refund, ann, delete}, `tools: expected no other than 5 calls, found call 2: find {"customer":"bob","limit":50}`},
		{Subset, []string{mail, refund, any}, "tools: expected no other than 3 calls, found call 4: mail"},
	} {
		e, err := parse(fmt.Sprintf("tools: {mode: %s, calls: [%s]}", c.mode, strings.Join(c.calls, ", ")))
		if err != nil {
			t.Errorf("%v: %v", c, err)
			continue
		}
		if got := text(e.Tools.Judge(of, nil)); got != c.want {
			t.Errorf("%s %v:\n got %s\nwant %s", c.mode, c.calls, got, c.want)
		}
	}
}

func TestArgumentsAreComparedByRules(t *testing.T) {
	of := aRun(t)
	for rule, want := range map[string]string{
		"$.order.id: {equals: 7}":                            "",
		"$.order.id: {equals: 8}":                            "$.order.id is 7",
		"$.order.id: {one_of: [6, 7]}":                       "",
		"$.order.id: {one_of: [x]}":                          "$.order.id is 7",
		"$.order.id: {range: {min: 7, max: 7}}":              "",
		"$.order.id: {range: {min: 7.5}}":                    "$.order.id is 7",
		"$.order.id: {matches: '^\\d$'}":                     "",
		"$.reason: {matches: '^dup-\\d+$'}":                  "",
		"$.reason: {matches: '^late'}":                       `$.reason is "dup-12"`,
		"$.reason: {range: {min: 1}}":                        `$.reason is "dup-12"`,
		"$.reason: {present: true}":                          "",
		"$.note: {present: true}":                            "$.note is absent",
		"$.note: {absent: true}":                             "",
		"$.reason: {absent: true}":                           `$.reason is "dup-12"`,
		"'$.order.lines[*].n': {range: {max: 2}}":            "",
		"'$.order.lines[*].n': {range: {max: 1}}":            "$.order.lines[*].n is 2",
		"$..n: {one_of: [1, 2]}":                             "",
		"$.order.lines: {equals: [{n: 1}, {n: 2}]}":          "",
		"$: {present: true}":                                 "",
		"$.order.id: {range: {max: 9}, one_of: [1, 2, 3]}":   "$.order.id is 7",
		"$.order.id: {equals: 7}, $.reason: {equals: other}": `$.reason is "dup-12"`,
	} {
		e, err := parse("tools: {mode: superset, calls: [{name: refund, args_match: {" + rule + "}}]}")
		if err != nil {
			t.Errorf("%s: %v", rule, err)
			continue
		}
		got := text(e.Tools.Judge(of, nil))
		if (want == "") != (got == "") || !strings.Contains(got, "("+want+")") && want != "" {
			t.Errorf("%s: %s, want %s", rule, got, want)
		}
	}
	e, err := parse("tools: {mode: superset, calls: [{name: mail, args_match: {$: {absent: true}}}]}")
	if err != nil || len(e.Tools.Judge(of, nil)) > 0 {
		t.Errorf("a call without arguments: %v", err)
	}
}

func TestWhatCannotBeExpectedIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"{}":                           "nothing is expected",
		"max_turn: 3":                  "max_turn",
		"max_turns: -1":                "want 0 or more",
		"max_turns: many":              "many",
		"max_duration: soon":           "want a time such as 30s",
		"max_duration: -1s":            "want a time such as 30s",
		"status: [good]":               `status is "good"`,
		"verdict: correctness>good":    "want NAME",
		"min_grade: best":              "min_grade is",
		"no_findings: [nothing]":       "no finding has the code",
		"tools: {mode: sorted}":        "mode is",
		"tools: {calls: [{args: {}}]}": "names no tool",
		"tools: {calls: [{tool: x}]}":  "tool",
		"tools: {calls: [{name: x, args: {a: .inf}}]}":                                 "not written as in JSON",
		"tools: {calls: [{name: x, args: {}, args_match: {$.a: {present: true}}}]}":    "exclude each other",
		"tools: {calls: [{name: x, args_match: {a: {present: true}}}]}":                "not a path",
		"tools: {calls: [{name: x, args_match: {$.a: }}]}":                             "has no rule",
		"tools: {calls: [{name: x, args_match: {$.a: {}}}]}":                           "want equals",
		"tools: {calls: [{name: x, args_match: {$.a: {equal: 1}}}]}":                   "equal",
		"tools: {calls: [{name: x, args_match: {$.a: {matches: '('}}}]}":               "matches",
		"tools: {calls: [{name: x, args_match: {$.a: {matches: '(a{1000}){1000}'}}}]}": "matches",
		"tools: {calls: [{name: x, args_match: {$.a: {range: {}}}}]}":                  "want min, max",
		"tools: {calls: [{name: x, args_match: {$.a: {one_of: []}}}]}":                 "one_of is empty",
		"tools: {calls: [{name: x, args_match: {$.a: {absent: true, equals: 1}}}]}":    "no other rule",
		"tools: {calls: [{name: x, args_match: {$.a: {one_of: [1], equals: 1}}}]}":     "exclude each other",
		"tools: {calls: [" + strings.Repeat("{name: x},", 1001) + "]}":                 "at most 1000",
		"answer: {}":                               "want equals",
		"answer: {scorer: judge}":                  "scorer is",
		"answer: {scorer: tools}":                  "scorer is",
		"answer: {scorer: exact}":                  "there is none",
		"answer: {reference: x, equals: x}":        "belong to a scorer",
		"answer: {scorer: 'exec:x', min_score: 2}": "want 0 to 1",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v, want %s", text, err, want)
		}
	}
}

// Patterns and values that are made to be slow are not: patterns are RE2, and pairing is bounded.
func TestHostileExpectationsEnd(t *testing.T) {
	of := &tape.Tape{}
	long := strings.Repeat("a", 1<<20)
	for range 2000 {
		of.Events = append(of.Events, call(t, "x", `{"q":"b","n":1e999999999}`))
	}
	of.Events = append(of.Events, call(t, "x", `{"q":"`+long+`"}`))
	e, err := parse("tools: {mode: superset, calls: [" + strings.Repeat("{name: x, args_match: {$.q: {matches: 'b'}, $.n: {range: {min: 1}}}},", 999) + "{name: x, args_match: {$.q: {matches: '^(a+)+$'}}}]}")
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if failures := e.Tools.Judge(of, nil); len(failures) > 0 {
		t.Errorf("%.300v", failures)
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
	answer := long
	if e, err = parse("answer: {equals: b, matches: '^(b+)+$'}"); err != nil {
		t.Fatal(err)
	}
	failures, err := e.Judge(t.Context(), Of(of, &answer), Options{})
	if err != nil || len(failures) != 2 || len(failures[0].Found) > 1000 {
		t.Errorf("%v: %.300v", err, failures)
	}
}

func FuzzExpect(f *testing.F) {
	f.Add("max_turns: 3\nmax_tool_calls: 4\nmax_tokens: 5\nmax_duration: 1h\nstatus: ok\nmin_grade: inspect\nforbidden_tools: [x]\nverdict: [a, b<1]\n")
	f.Add("tools: {mode: any_order, calls: [{name: refund, args_match: {$.order.id: {equals: 7}, '$..n': {one_of: [1, 2], range: {min: 1}}}}, {name: find, args: {customer: ann, limit: 10}}]}")
	f.Add("tools: {mode: subset, calls: [{name: mail, args_match: {$: {absent: true}}}, {name: find, args_hash: x}]}\nallowed_tools: []")
	f.Add("answer: {equals: x, contains: [a], matches: b, json: {$.refunded: {matches: t}}, scorer: rouge1, reference: x, min_score: 0.5}")
	f.Add("answer: &a {json: {$: {equals: &b [*b]}}}")
	f.Add("status: [ok, {a: b}]\nno_findings: content_absent")
	of := aRun(f)
	f.Fuzz(func(t *testing.T, text string) {
		e, err := parse(text)
		if err != nil || e.Commands() {
			return
		}
		failures, err := e.Judge(t.Context(), Of(of, of.Output.Text), Options{Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		for _, failure := range failures {
			if failure.Expectation == "" || failure.Found == "" || len(failure.String()) > 5000 {
				t.Errorf("%.300q: %+v", text, failure)
			}
		}
	})
}
