// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// asked is an entry for a call with arguments of the given JSON.
func asked(tb testing.TB, tool, args, response string) Entry {
	tb.Helper()
	v := parse(tb, args)
	return Entry{ToolName: tool, Args: v, ArgsHash: Hash(v), Response: response}
}

func with(e Entry, change func(*Entry)) Entry {
	change(&e)
	return e
}

func TestLintNamesEveryKindOfFlaw(t *testing.T) {
	ok := asked(t, "t", `{"a":1}`, "r")
	entries := []Entry{
		ok,
		with(ok, func(e *Entry) { e.ArgsHash = Hash(parse(t, `{}`)) }),
		with(asked(t, "u", `{}`, "1"), func(e *Entry) { e.Occurrence = 1 }),
		with(asked(t, "u", `{}`, "1"), func(e *Entry) { e.Occurrence = 1 }),
		with(asked(t, "u", `{}`, "2"), func(e *Entry) { e.Occurrence = 1 }),
		with(asked(t, "u", `{}`, "3"), func(e *Entry) { e.Occurrence = 3 }),
		with(asked(t, "v", `{}`, `{"b":1, "a":2}`), func(e *Entry) { e.ResponseFormat = "json" }),
		with(asked(t, "v", `{"x":1}`, "{"), func(e *Entry) { e.ResponseFormat = "json" }),
		with(asked(t, "w", `{}`, ""), func(e *Entry) { e.ResponseFidelity = Missing }),
		with(asked(t, "w", `{"x":1}`, "cu"), func(e *Entry) { e.ResponseFidelity, e.ArgsFidelity = Truncated, Lossy }),
		asked(t, "x", `{"p":"[REDACTED]"}`, "r"),
		asked(t, "x", `{"p":"[REDACTED:a:b]"}`, "r"),
		with(asked(t, "y", `{}`, "hunter2"), func(e *Entry) { e.Caller = "a" }),
		with(asked(t, "y", `{}`, "other"), func(e *Entry) { e.Caller = "b" }),
		with(asked(t, "y", `{}`, "third"), func(e *Entry) { e.Caller = "c" }),
		with(asked(t, "z", `{"x":2}`, "r"), func(e *Entry) { e.ResponseFidelity = Disputed }),
		{ToolName: "z", ArgsHash: "md5:44136fa355b3678a1146ad16f7e8649e", Response: "r"},
	}
	flaws := Lint(entries, func(text string) []string {
		if strings.Contains(text, "hunter2") {
			return []string{"password"}
		}
		return nil
	})
	var got []string
	seen := map[string]bool{}
	for _, f := range flaws {
		got = append(got, fmt.Sprintf("%d %s", f.Entry, f.Code))
		seen[f.Code] = true
	}
	want := []string{"1 wrong_hash", "3 duplicate", "4 conflict", "5 wrong_occurrence", "6 wrong_format", "7 wrong_format", "8 missing", "9 lossy", "9 truncated",
		"10 masked_args", "11 redacted_args", "12 secret", "13 ambiguous_key", "15 disputed", "16 malformed_hash"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, k := range FlawKinds {
		if !seen[k.Code] {
			t.Errorf("%s is tested by nothing", k.Code)
		}
	}
	if flaws := Lint(FromTape(everyKind(t)), nil); len(flaws) != 2 || flaws[0].Code != "missing" || flaws[1].Code != "missing" {
		t.Errorf("what is derived from a tape has no flaws but what was not recorded: %+v", flaws)
	}
}

func TestMergedRunsAgreeOrAreConflicts(t *testing.T) {
	run := func(answers ...string) []Entry {
		var entries []Entry
		for i, a := range answers {
			entries = append(entries, with(asked(t, "poll", `{}`, a), func(e *Entry) { e.Occurrence = i + 1 }))
		}
		return entries
	}
	merged, conflicts := Merge([][]Entry{run("1", "2"), run("1", "2", "3"), run("1", "x")})
	var got []string
	for _, e := range merged {
		got = append(got, fmt.Sprintf("%d %s", e.Occurrence, e.Response))
	}
	if d := cmp.Diff([]string{"1 1", "2 2", "3 3", "2 x"}, got); d != "" {
		t.Error(d)
	}
	if len(conflicts) != 1 || conflicts[0].Occurrence != 2 || conflicts[0].Runs != [2]int{0, 2} {
		t.Errorf("%+v", conflicts)
	}
	s := newSession(t, nil, merged...)
	for _, want := range []string{"hit 1", "ambiguous", "hit 3", "exhausted"} {
		s.says(t, Query{ToolName: "poll", Args: parse(t, `{}`)}, want)
	}

	cut := with(asked(t, "poll", `{}`, "cu"), func(e *Entry) { e.ResponseFidelity = Truncated })
	merged, conflicts = Merge([][]Entry{{cut}, run("whole"), {cut}})
	if len(conflicts) != 0 || len(merged) != 1 || merged[0].Response != "whole" {
		t.Errorf("%+v %+v", merged, conflicts)
	}
}

func TestCompareNamesWhatChanged(t *testing.T) {
	a := []Entry{asked(t, "t", `{"n":1}`, "1"), asked(t, "t", `{"n":1}`, "2"), asked(t, "t", `{"n":2}`, "3"), asked(t, "u", `{}`, "4")}
	b := []Entry{asked(t, "t", `{"n":2}`, "3"), asked(t, "t", `{"n":1.0}`, "1"), asked(t, "t", `{"n":1}`, "changed"), asked(t, "v", `{}`, "5")}
	b[0].ResponseFidelity = Lossy
	var got []string
	for _, c := range Changes(a, b) {
		got = append(got, fmt.Sprintf("%s %s %d", c.Kind, c.ToolName, c.Occurrence))
	}
	if d := cmp.Diff([]string{"answer t 2", "fidelity t 1", "removed u 1", "added v 1"}, got); d != "" {
		t.Error(d)
	}
	if changes := Changes(a, a); len(changes) != 0 {
		t.Errorf("%+v", changes)
	}
}

func sayProposals(proposals []Proposal) string {
	var b strings.Builder
	for _, p := range proposals {
		fmt.Fprintf(&b, "%s %s %s %v\n", p.ToolName, p.Path, p.As, p.Sure)
	}
	return b.String()
}

func TestLearnProposesWhatVariesAlthoughEverythingElseAgrees(t *testing.T) {
	run := func(id, at, session string, page int, order, answer string) []Entry {
		return []Entry{
			asked(t, "search", fmt.Sprintf(`{"q":"shoes","page":1,"meta":{"request":"%s","at":"%s","session":"%s"}}`, id, at, session), `{"hits":3,"request":"`+id+`"}`),
			asked(t, "search", fmt.Sprintf(`{"q":"hats","page":%d,"meta":{"request":"%s","at":"%s","session":"%s"}}`, page, id, at, session), `{"hits":1}`),
			asked(t, "order", `{"id":"`+order+`"}`, answer),
			asked(t, "same", `{"x":1}`, at),
			asked(t, "tags", `{"ids":["`+id+`","fixed"]}`, "ok"),
		}
	}
	runs := [][]Entry{
		run("5f0c8a52-8b1e-4d55-9d3c-0d1f6f1b2a01", "2026-11-20T10:00:00Z", "red", 2, "o-1000001", "first order"),
		run("5f0c8a52-8b1e-4d55-9d3c-0d1f6f1b2a02", "2026-11-20T11:00:00Z", "green", 2, "o-1000002", "second order"),
		run("5f0c8a52-8b1e-4d55-9d3c-0d1f6f1b2a03", "2026-11-20T12:30:00Z", "blue", 2, "o-1000003", "third order"),
	}
	want := `order $.id request_id false
search $.meta.at timestamp true
search $.meta.request uuid true
search $.meta.session  true
tags $.ids[*] uuid true
`
	proposals := Learn(runs)
	if d := cmp.Diff(want, sayProposals(proposals)); d != "" {
		t.Error(d)
	}

	// What was learned serves a run that it was not learned from.
	rules := &Rules{}
	for _, p := range proposals {
		if p.Sure {
			rules.Values = append(rules.Values, p.Rule())
		}
	}
	s := newSession(t, rules, runs[0]...)
	fresh := run("5f0c8a52-8b1e-4d55-9d3c-0d1f6f1b2a99", "2026-12-24T00:00:00Z", "white", 2, "o-1000009", "?")
	for i, want := range []string{`hit {"hits":3,"request":"5f0c8a52-8b1e-4d55-9d3c-0d1f6f1b2a01"} rule`, `hit {"hits":1} rule`, "no_entry"} {
		s.says(t, Query{ToolName: fresh[i].ToolName, Args: fresh[i].Args}, want)
	}
}

func TestLearnDoesNotProposeWhatTellsCallsApart(t *testing.T) {
	run := func(first, second string) []Entry {
		return []Entry{asked(t, "get", `{"key":"`+first+`","n":1,"m":2}`, "A"), asked(t, "get", `{"key":"`+second+`","n":1,"m":2}`, "B")}
	}
	proposals := Learn([][]Entry{run("a1", "b1"), run("a2", "b2")})
	if got := sayProposals(proposals); got != "get $.key  false\n" || !strings.Contains(proposals[0].Why, "told apart") {
		t.Errorf("%s %+v", got, proposals)
	}
}
