// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/tape/exactjson"
	"github.com/tapedeck/tapedeck/tape/normalise"
)

// newSession is a session with the entries under the rules.
func newSession(tb testing.TB, rules *Rules, entries ...Entry) *Session {
	tb.Helper()
	o, err := New(entries, Options{Rules: rules})
	if err != nil {
		tb.Fatal(err)
	}
	return o.NewSession(0)
}

// say tells an answer in a word or two: outcome, response, labels.
func say(a Answer) string {
	words := []string{string(a.Outcome)}
	if a.Entry != nil {
		words = append(words, a.Entry.Response)
	}
	for _, l := range a.Labels {
		words = append(words, string(l))
	}
	return strings.Join(words, " ")
}

func (s *Session) says(tb testing.TB, q Query, want string) {
	tb.Helper()
	got, err := s.Answer(q)
	if err != nil {
		tb.Fatal(err)
	}
	if say(got) != want {
		tb.Errorf("%+v: got %q, want %q", q, say(got), want)
	}
}

func addsUp(tb testing.TB, r Report) {
	tb.Helper()
	sum := 0
	for _, n := range r.Calls.Outcomes {
		sum += n
	}
	if sum != r.Calls.Total || r.Calls.Requests != r.Calls.Total+r.Calls.Repeated || len(r.Calls.Outcomes) != len(Outcomes) {
		tb.Errorf("the calls do not add up: %+v", r.Calls)
	}
	if e := r.Entries; e.Served+e.Passed+e.Unused != e.Total || e.Servable > e.Total {
		tb.Errorf("the entries do not add up: %+v", e)
	}
	tools := 0
	for _, t := range r.Tools {
		tools += t.Calls
	}
	if tools != r.Calls.Total || !r.Cut && len(r.Unused) != r.Entries.Unused {
		tb.Errorf("the lists do not add up: %+v", r)
	}
}

func TestOracleServesSecondOccurrenceSecond(t *testing.T) {
	s := newSession(t, nil,
		Entry{ToolName: "poll", ArgsHash: "h", Response: "1", Caller: "a"},
		Entry{ToolName: "poll", ArgsHash: "h", Response: "other", Caller: "b"},
		Entry{ToolName: "poll", ArgsHash: "h", Response: "2", Caller: "a", IsError: true},
	)
	for _, want := range []string{"hit 1", "recorded_error 2", "exhausted"} {
		s.says(t, Query{Caller: "a", ToolName: "poll", ArgsHash: "h"}, want)
	}
	for _, q := range []Query{
		{Caller: "c", ToolName: "poll", ArgsHash: "h"}, {Unnamed: true, ToolName: "poll", ArgsHash: "h"},
		{Caller: "a", ToolName: "poll", ArgsHash: "x"}, {Caller: "a", ToolName: "pull", ArgsHash: "h"}, {Caller: "a", ToolName: "poll"},
	} {
		s.says(t, q, "no_entry")
	}
	s.says(t, Query{Caller: "b", ToolName: "poll", ArgsHash: "h"}, "hit other")
	addsUp(t, s.Report())
}

func TestQueryWithoutCallerIsAmbiguousWhenAnswersDiffer(t *testing.T) {
	entries := []Entry{
		{ToolName: "t", ArgsHash: "h", Response: "same", Caller: "a"},
		{ToolName: "t", ArgsHash: "h", Response: "same", Caller: "b"},
		{ToolName: "t", ArgsHash: "h", Response: "different", Caller: "b"},
	}
	q := Query{ToolName: "t", ArgsHash: "h"}
	s := newSession(t, nil, entries...)
	s.says(t, q, "hit same")
	s.says(t, q, "ambiguous") // the second of b, or the first of a
	// Whose calls these were is not known, so whether b has made its first is not known either.
	s.says(t, Query{Caller: "b", ToolName: "t", ArgsHash: "h"}, "ambiguous")
	s.says(t, Query{Caller: "b", ToolName: "t", ArgsHash: "h", Turn: 3}, "ambiguous")
	addsUp(t, s.Report())

	s = newSession(t, nil, entries[:2]...)
	for _, want := range []string{"hit same", "hit same", "exhausted"} {
		s.says(t, q, want)
	}
	r := s.Report()
	addsUp(t, r)
	if r.Entries.Served != 2 {
		t.Errorf("%+v", r.Entries)
	}

	// A single caller needs no name.
	s = newSession(t, nil, entries[1:]...)
	for _, want := range []string{"hit same", "hit different", "exhausted"} {
		s.says(t, q, want)
	}
}

func TestPositionBreaksTies(t *testing.T) {
	s := newSession(t, nil,
		Entry{ToolName: "t", ArgsHash: "h", Response: "a", Caller: "a", Turn: 1, ToolCallID: "call_1"},
		Entry{ToolName: "t", ArgsHash: "h", Response: "b", Caller: "b", Turn: 2, ToolCallID: "call_2"},
		Entry{ToolName: "t", ArgsHash: "h", Response: "c", Caller: "c", Turn: 3, ToolCallID: "call_3"},
	)
	s.says(t, Query{ToolName: "t", ArgsHash: "h", Turn: 2}, "hit b position")
	s.says(t, Query{ToolName: "t", ArgsHash: "h", ToolCallID: "call_3"}, "hit c position")
	s.says(t, Query{ToolName: "t", ArgsHash: "h"}, "ambiguous") // it may be one more call of b or c
	addsUp(t, s.Report())
}

func TestEqualCallsOfOneResponseAreToldApartByTheirIDs(t *testing.T) {
	s := newSession(t, nil,
		Entry{ToolName: "t", ArgsHash: "h", Response: "a", Turn: 1, ToolCallID: "call_1"},
		Entry{ToolName: "t", ArgsHash: "h", Response: "b", Turn: 1, ToolCallID: "call_2"},
		Entry{ToolName: "t", ArgsHash: "h", Response: "c", Turn: 2, ToolCallID: "call_3"},
	)
	s.says(t, Query{ToolName: "t", ArgsHash: "h", ToolCallID: "call_2"}, "hit b")
	s.says(t, Query{ToolName: "t", ArgsHash: "h", ToolCallID: "call_3"}, "hit a") // the id of another turn does not change the sequence
	s.says(t, Query{ToolName: "t", ArgsHash: "h", ToolCallID: "new"}, "hit c")
}

func TestRepeatedRequestsGetTheSameAnswerAgain(t *testing.T) {
	s := newSession(t, nil,
		Entry{ToolName: "poll", ArgsHash: "h", Response: "1"},
		Entry{ToolName: "poll", ArgsHash: "h", Response: "2"},
	)
	index := func(i int64) *int64 { return &i }
	first := Query{ToolName: "poll", ArgsHash: "h", ToolCallID: "call_a"}
	s.says(t, first, "hit 1")
	s.says(t, first, "hit 1")
	s.says(t, Query{ToolName: "poll", ArgsHash: "other", ToolCallID: "call_a"}, "no_entry") // a reused id is not the same call
	s.says(t, Query{ToolName: "poll", ArgsHash: "h", CallIndex: index(0)}, "hit 2")
	third := Query{ToolName: "poll", ArgsHash: "h", CallIndex: index(7)}
	s.says(t, third, "exhausted")
	s.says(t, third, "exhausted")
	s.says(t, first, "hit 1")
	s.says(t, Query{ToolName: "poll", ArgsHash: "h"}, "exhausted") // without an id every request is a call
	r := s.Report()
	addsUp(t, r)
	if r.Calls.Total != 5 || r.Calls.Repeated != 3 {
		t.Errorf("%+v", r.Calls)
	}
}

func TestPoliciesSayWhatTheNextCallGets(t *testing.T) {
	entries := []Entry{{ToolName: "t", ArgsHash: "h", Response: "1"}, {ToolName: "t", ArgsHash: "h", Response: "2"}}
	same := []Entry{{ToolName: "t", ArgsHash: "h", Response: "1"}, {ToolName: "t", ArgsHash: "h", Response: "1"}}
	for _, c := range []struct {
		policy  Policy
		entries []Entry
		want    []string
	}{
		{Sequence, entries, []string{"hit 1", "hit 2", "exhausted"}},
		{Once, entries, []string{"hit 1", "exhausted", "exhausted"}},
		{Sticky, entries, []string{"hit 1", "hit 2", "hit 2 sticky", "hit 2 sticky"}},
		{Any, same, []string{"hit 1", "hit 1", "hit 1 any"}},
		{Any, entries, []string{"ambiguous", "ambiguous"}},
		{Any, []Entry{{ToolName: "t", ArgsHash: "h", ResponseFidelity: Missing}}, []string{"unservable "}},
	} {
		for _, rules := range []*Rules{
			{Default: ToolRule{Policy: c.policy}},
			{Tools: map[string]ToolRule{"t": {Policy: c.policy}}},
			{Tools: map[string]ToolRule{"t": {Calls: map[string]Policy{"h": c.policy}}}},
		} {
			s := newSession(t, rules, c.entries...)
			for _, want := range c.want {
				s.says(t, Query{ToolName: "t", ArgsHash: "h"}, want)
			}
			addsUp(t, s.Report())
		}
	}
}

func TestModesComeBeforeEntries(t *testing.T) {
	s := newSession(t, &Rules{Tools: map[string]ToolRule{"clock": {Mode: ModeLive}, "pay": {Mode: ModeError}, "new": {Mode: ModeLive}}},
		Entry{ToolName: "clock", ArgsHash: "h", Response: "1"}, Entry{ToolName: "pay", ArgsHash: "h", Response: "1"})
	s.says(t, Query{ToolName: "clock", ArgsHash: "h"}, "live")
	s.says(t, Query{ToolName: "pay", ArgsHash: "h"}, "refused")
	s.says(t, Query{ToolName: "new", ArgsHash: "h"}, "live")
	r := s.Report()
	addsUp(t, r)
	if r.Calls.Outcomes[Live] != 2 || len(r.NotExact) != 3 || r.Diverged != nil {
		t.Errorf("what goes live is recorded and no miss: %+v", r)
	}
}

func TestIncompleteEntriesAreNeverServed(t *testing.T) {
	s := newSession(t, nil,
		Entry{ToolName: "t", ArgsHash: "h", Response: "cu", ResponseFidelity: Truncated},
		Entry{ToolName: "t", ArgsHash: "h", Response: "whole"},
		Entry{ToolName: "u", Response: "r", ArgsFidelity: Missing},
		Entry{ToolName: "v", ArgsHash: "cut", Response: "r", ArgsFidelity: Truncated},
		Entry{ToolName: "u", ArgsHash: "h", Response: "later"},
	)
	for _, c := range []struct{ tool, hash, want string }{
		{"t", "h", "unservable cu"}, // and is used up, so that the next one gets its own answer
		{"t", "h", "hit whole"},
		{"u", "x", "unservable r"},
		{"v", "cut", "unservable r"},
		{"v", "other", "unservable r"},
		{"u", "h", "hit later args_unknown_before"},
	} {
		s.says(t, Query{ToolName: c.tool, ArgsHash: c.hash}, c.want)
	}
	r := s.Report()
	addsUp(t, r)
	if r.NotExact[0].Reason != "truncated" || r.NotExact[1].Reason != "missing" {
		t.Errorf("%+v", r.NotExact)
	}
}

func TestFidelityIsLabelled(t *testing.T) {
	s := newSession(t, nil,
		Entry{ToolName: "t", ArgsHash: "a", Response: "1", ArgsFidelity: Redacted, ResponseFidelity: Lossy},
		Entry{ToolName: "t", ArgsHash: "b", Response: "2", ArgsFidelity: Lossy, ResponseFidelity: Redacted},
		Entry{ToolName: "t", ArgsHash: "c", Response: "3", ArgsFidelity: Exact, ResponseFidelity: Exact},
	)
	s.says(t, Query{ToolName: "t", ArgsHash: "a"}, "hit 1 args_redacted response_lossy")
	s.says(t, Query{ToolName: "t", ArgsHash: "b"}, "hit 2 args_lossy response_redacted")
	s.says(t, Query{ToolName: "t", ArgsHash: "c"}, "hit 3")
	if got := s.Report().Labels; !cmp.Equal(got, map[Label]int{ArgsRedacted: 1, ArgsLossy: 1, ResponseRedacted: 1, ResponseLossy: 1}) {
		t.Error(got)
	}
}

func TestEntriesWithoutCallersServeOneLiveCaller(t *testing.T) {
	plain := []Entry{{ToolName: "t", ArgsHash: "h", Response: "1"}, {ToolName: "t", ArgsHash: "h", Response: "2"}, {ToolName: "t", ArgsHash: "h", Response: "3"}}
	s := newSession(t, nil, plain...)
	s.says(t, Query{Caller: "x", ToolName: "t", ArgsHash: "h"}, "hit 1 caller_not_recorded")
	s.says(t, Query{Caller: "y", ToolName: "t", ArgsHash: "h"}, "ambiguous")                 // whose turn it was is not recorded
	s.says(t, Query{Caller: "x", ToolName: "t", ArgsHash: "h"}, "hit 3 caller_not_recorded") // all that is left
	s = newSession(t, &Rules{AnyCaller: true}, plain...)
	s.says(t, Query{Caller: "x", ToolName: "t", ArgsHash: "h"}, "hit 1")
	s.says(t, Query{Caller: "y", ToolName: "t", ArgsHash: "h"}, "hit 2")
}

func TestMergedRunsThatDisagreeAreAmbiguous(t *testing.T) {
	s := newSession(t, nil,
		Entry{ToolName: "t", ArgsHash: "h", Response: "1", Occurrence: 1},
		Entry{ToolName: "t", ArgsHash: "h", Response: "2", Occurrence: 2},
		Entry{ToolName: "t", ArgsHash: "h", Response: "not 1", Occurrence: 1},
		Entry{ToolName: "t", ArgsHash: "h", Response: "2", Occurrence: 2},
	)
	for _, want := range []string{"ambiguous", "hit 2", "exhausted"} {
		s.says(t, Query{ToolName: "t", ArgsHash: "h"}, want)
	}
	addsUp(t, s.Report())
}

func TestSessionsShareNothing(t *testing.T) {
	o, err := New([]Entry{{ToolName: "t", ArgsHash: "h", Response: "1"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, b := o.NewSession(0), o.NewSession(0)
	a.says(t, Query{ToolName: "t", ArgsHash: "h"}, "hit 1")
	b.says(t, Query{ToolName: "t", ArgsHash: "h"}, "hit 1")
	a.says(t, Query{ToolName: "t", ArgsHash: "h"}, "exhausted")
}

func TestSessionRefusesCallsBeyondItsMaximum(t *testing.T) {
	o, err := New(nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := o.NewSession(2)
	q := Query{ToolName: "t", ArgsHash: "h", ToolCallID: "1"}
	s.says(t, q, "no_entry")
	s.says(t, Query{ToolName: "t", ArgsHash: "h"}, "no_entry")
	if _, err := s.Answer(Query{ToolName: "t", ArgsHash: "h"}); !errors.Is(err, ErrSessionFull) {
		t.Error(err)
	}
	s.says(t, q, "no_entry") // a repetition is no further call
	addsUp(t, s.Report())
}

func TestMissNamesTheNearestEntriesWithoutTheirValues(t *testing.T) {
	entry := func(args, caller string) Entry {
		v := parse(t, args)
		return Entry{ToolName: "search", ArgsHash: Hash(v), Args: v, Caller: caller, Response: "r"}
	}
	s := newSession(t, nil,
		entry(`{"query":"winter shoes","page":2,"user":{"token":"tok-1234"}}`, "a"),
		entry(`{"query":"summer hats","page":3,"user":{"token":"[REDACTED:key:0123]"}}`, "a"),
		entry(`["winter shoes"]`, "a"),
		Entry{ToolName: "search", Response: "unknown arguments", ArgsFidelity: Missing},
	)
	live := Query{ToolName: "search", Caller: "a", Args: parse(t, `{"query":"winter shoes","page":9,"user":{"token":"tok-1234"},"hunter2":[1,2]}`)}
	near := s.Nearest(live)
	if len(near) != 3 || near[0].Index != 0 || near[0].Differences != 3 {
		t.Fatalf("%+v", near)
	}
	want := []Difference{{"$.page", "number", "number"}, {"$[name of 7 bytes]", "absent", "array of 2"}}
	if d := cmp.Diff(want, near[0].Diff); d != "" {
		t.Error(d)
	}
	if text := fmt.Sprint(near[0].Diff, near[1].Diff, near[2].Diff); strings.Contains(text, "shoes") || strings.Contains(text, "tok-1234") || strings.Contains(text, "hunter2") {
		t.Errorf("values in %s", text)
	}
	near = s.Nearest(Query{ToolName: "find", Args: parse(t, `["winter shoes"]`)})
	if len(near) != 1 || near[0].Entry.ToolName != "search" {
		t.Errorf("the same arguments with another tool: %+v", near)
	}
}

func TestReportTellsWhereAReplayDiverged(t *testing.T) {
	s := newSession(t, nil, Entry{ToolName: "t", ArgsHash: "1", Response: "1"}, Entry{ToolName: "t", ArgsHash: "2", Response: "2"}, Entry{ToolName: "t", ArgsHash: "3"})
	for _, hash := range []string{"1", "x", "2", "y"} {
		if _, err := s.Answer(Query{ToolName: "t", ArgsHash: hash}); err != nil {
			t.Fatal(err)
		}
	}
	r := s.Report()
	addsUp(t, r)
	if d := cmp.Diff(&Divergence{Call: 2, Before: 1, MissesAfter: 1}, r.Diverged); d != "" {
		t.Error(d)
	}
	if len(r.Unused) != 1 || r.Unused[0].Entry != 2 {
		t.Errorf("%+v", r.Unused)
	}
}

func TestEntriesThatLieAboutTheirArgumentsAreRefused(t *testing.T) {
	lie := Entry{ToolName: "t", ArgsHash: Hash(parse(t, `{"a":1}`)), Args: parse(t, `{"a":2}`)}
	if _, err := New([]Entry{{ToolName: "t", ArgsHash: "h"}, lie}, Options{}); !errors.Is(err, ErrWrongHash) || !strings.Contains(err.Error(), "entry 1") {
		t.Error(err)
	}
}

func TestRulesAreChecked(t *testing.T) {
	for _, r := range []ToolRule{{Mode: "fuzzy"}, {Policy: "cycle"}, {Calls: map[string]Policy{"h": "x"}}} {
		if _, err := New(nil, Options{Rules: &Rules{Tools: map[string]ToolRule{"t": r}}}); err == nil {
			t.Errorf("%+v was accepted", r)
		}
		if _, err := New(nil, Options{Rules: &Rules{Default: r}}); err == nil {
			t.Errorf("%+v was accepted", r)
		}
	}
	for _, r := range []normalise.Rule{{Path: "$.a", Action: normalise.Normalise, As: "colour"}, {Path: "a", Action: normalise.Ignore}} {
		if _, err := New(nil, Options{Rules: &Rules{Values: []normalise.Rule{r}}}); err == nil {
			t.Errorf("%+v was accepted", r)
		}
	}
}

func TestRulesMatchApproximatelyAndSaySo(t *testing.T) {
	rules := &Rules{Values: []normalise.Rule{
		{Tool: "t", Path: "$.trace", Action: normalise.Ignore},
		{Tool: "t", Path: "$.at", Action: normalise.Normalise, As: "timestamp", In: []string{"args", "result"}},
		{Tool: "t", Path: "$.q", Action: normalise.Ignore, In: []string{"result"}}, // of no consequence here
	}}
	entry := func(tool, args, response string) Entry {
		v, err := exactjson.Parse(args)
		if err != nil {
			t.Fatal(err)
		}
		return Entry{ToolName: tool, ArgsHash: Hash(v), Args: v, Response: response}
	}
	s := newSession(t, rules,
		entry("t", `{"q":"a","at":"2026-11-20T10:00:00Z","trace":"1"}`, "first"),
		entry("t", `{"q":"a","at":"2026-11-20T10:00:05Z","trace":"2"}`, "second"),
		entry("t", `{"q":"b","at":"2026-11-20T10:00:05Z"}`, "third"),
		entry("u", `{"at":"2026-11-20T10:00:05Z"}`, "fourth"),
	)
	ask := func(tool, args, want string) {
		t.Helper()
		s.says(t, Query{ToolName: tool, Args: parse(t, args)}, want)
	}
	ask("t", `{"q":"a","at":"2026-11-20T10:00:05Z","trace":"2"}`, "hit second")                 // equal arguments come first
	ask("t", `{"at":"2027-01-01T00:00:00Z","q":"a","trace":{"any":"thing"}}`, "hit first rule") // else the next of the group
	ask("t", `{"q":"a","at":"2027-01-01T00:00:00Z"}`, "exhausted")
	ask("t", `{"q":"b","at":"later"}`, "no_entry") // not the form of a time
	ask("t", `{"q":"b","at":1763632805}`, "hit third rule")
	ask("u", `{"at":"2027-01-01T00:00:00Z"}`, "no_entry") // another tool
	addsUp(t, s.Report())
}
