// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// searched runs a search over n answers whose mixes end as ends says.
func searched(t *testing.T, n, repeat int, ends func(exchanged func(int) bool) Outcome) (*Result, int) {
	t.Helper()
	p := &Pair{}
	for i := range n {
		p.Answers = append(p.Answers, Answer{Number: i + 1})
	}
	replays := 0
	r, err := (&Search{Pair: p, Repeat: repeat, Partners: 3, Replay: func(_ context.Context, exchanged func(int) bool) (Outcome, string, error) {
		replays++
		return ends(exchanged), "", nil
	}}).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Replays != replays || len(r.Trials) != replays {
		t.Errorf("%d replays, %d and %d in the report", replays, r.Replays, len(r.Trials))
	}
	return r, replays
}

func outcome(bad bool) Outcome {
	if bad {
		return Bad
	}
	return Good
}

func found(r *Result) (numbers []int) {
	for _, a := range r.Cause {
		numbers = append(numbers, a.Number)
	}
	return numbers
}

func TestASingleCauseIsFoundByHalving(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 33, 64, 100} {
		for cause := 1; cause <= n; cause++ {
			r, replays := searched(t, n, 1, func(exchanged func(int) bool) Outcome { return outcome(exchanged(cause)) })
			if r.Verdict != One || !slices.Equal(found(r), []int{cause}) || !*r.Alone || !*r.Back {
				t.Fatalf("%d of %d: %+v", cause, n, r)
			}
			if most := bits.Len(uint(n-1)) + 6; replays > most || r.Bound != most {
				t.Fatalf("%d of %d: %d replays, at most %d are promised: %+v", cause, n, replays, most, r)
			}
		}
	}
}

func TestAnswersThatFlipTogetherAreFound(t *testing.T) {
	for _, c := range []struct{ n, a, b int }{{2, 1, 2}, {9, 3, 7}, {64, 1, 64}, {100, 98, 99}, {33, 1, 2}} {
		r, replays := searched(t, c.n, 1, func(exchanged func(int) bool) Outcome { return outcome(exchanged(c.a) && exchanged(c.b)) })
		if r.Verdict != Together || !slices.Equal(found(r), []int{c.b, c.a}) || *r.Alone || !*r.Back || len(r.Notes) == 0 {
			t.Errorf("%+v: %+v", c, r)
		}
		if most := 2*bits.Len(uint(c.n-1)) + 7; replays > most {
			t.Errorf("%+v: %d replays, at most %d are promised", c, replays, most)
		}
	}
	r, _ := searched(t, 40, 1, func(exchanged func(int) bool) Outcome { return outcome(exchanged(4) && exchanged(17) && exchanged(31)) })
	if r.Verdict != Together || !slices.Equal(found(r), []int{31, 17, 4}) {
		t.Errorf("%+v", r)
	}
	// More than are looked for: it is said.
	r, _ = searched(t, 40, 1, func(exchanged func(int) bool) Outcome {
		return outcome(exchanged(4) && exchanged(9) && exchanged(17) && exchanged(31) && exchanged(33))
	})
	if r.Verdict != Interaction || len(r.Notes) != 2 {
		t.Errorf("%+v", r)
	}
}

func TestWhatIsNoSingleCauseIsSaid(t *testing.T) {
	// Either of two answers does it: the first is a cause, and giving it back does not help.
	r, _ := searched(t, 16, 1, func(exchanged func(int) bool) Outcome { return outcome(exchanged(5) || exchanged(11)) })
	if r.Verdict != One || !slices.Equal(found(r), []int{5}) || !*r.Alone || *r.Back || len(r.Notes) != 1 {
		t.Errorf("%+v", r)
	}
	if r, replays := searched(t, 16, 1, func(func(int) bool) Outcome { return Good }); r.Verdict != None || replays != 2 || len(r.Cause) != 0 {
		t.Errorf("%+v", r)
	}
	if r, replays := searched(t, 16, 1, func(func(int) bool) Outcome { return Bad }); r.Verdict != NotRepeated || replays != 1 {
		t.Errorf("%+v", r)
	}
	if r, _ := searched(t, 0, 1, func(func(int) bool) Outcome { return Good }); r.Verdict != None || len(r.Notes) != 1 {
		t.Errorf("%+v", r)
	}
	// A mix may be neither good nor bad.
	r, _ = searched(t, 16, 1, func(exchanged func(int) bool) Outcome {
		if exchanged(3) && !exchanged(9) {
			return Other
		}
		return outcome(exchanged(9))
	})
	if r.Verdict != One || !slices.Equal(found(r), []int{9}) || *r.Back || len(r.Notes) != 2 {
		t.Errorf("%+v", r)
	}
}

func TestAnOutcomeThatChangesIsSaid(t *testing.T) {
	// Every third replay of a mix that holds the answer 5 goes well by chance.
	n := 0
	r, _ := searched(t, 16, 3, func(exchanged func(int) bool) Outcome {
		if exchanged(5) {
			n++
			return outcome(n%3 != 0)
		}
		return Good
	})
	if r.Verdict != Flaky || len(r.Notes) == 0 {
		t.Errorf("%+v", r)
	}
	// Without repetitions, the two mixes that enclose the flip are still replayed once more.
	seen := map[string]int{}
	r, _ = searched(t, 16, 1, func(exchanged func(int) bool) Outcome {
		name := numbers(exchanged, 16)
		seen[name]++
		return outcome(exchanged(5) && seen[name] == 1)
	})
	if r.Verdict != Flaky {
		t.Errorf("%+v", r)
	}
}

func TestAFailureEndsTheSearch(t *testing.T) {
	broken := errors.New("no such program")
	_, err := (&Search{Pair: &Pair{Answers: make([]Answer, 3)}, Replay: func(context.Context, func(int) bool) (Outcome, string, error) { return "", "", broken }}).Run(t.Context())
	if !errors.Is(err, broken) {
		t.Error(err)
	}
}

// agentRun is a run that calls a tool once per result.
func agentRun(results ...string) *tape.Tape {
	t := &tape.Tape{Messages: map[string]tape.Message{}}
	for i, result := range append(results, "") {
		m := tape.Message{Role: tape.RoleAssistant, Parts: []tape.Part{{Type: tape.PartText, Text: fmt.Sprint("turn ", i)}}}
		t.Messages[m.ID()] = m
		t.Events = append(t.Events, tape.Event{Seq: len(t.Events) + 1, Type: tape.EventModelCall, Model: "m", Request: &tape.Request{Messages: []string{m.ID()}}, Response: &tape.Response{Message: m.ID()}})
		if result != "" {
			t.Events = append(t.Events, tape.Event{Seq: len(t.Events) + 1, Type: tape.EventToolCall, Name: "count", Args: exactjson.IntValue(int64(i)), ArgsHash: fmt.Sprint(i), Result: exactjson.StringValue(result)})
		}
	}
	return t
}

func resultsOf(t *tape.Tape) (list []string) {
	for i := range t.Events {
		if t.Events[i].Type == tape.EventToolCall {
			list = append(list, t.Events[i].Result.Str())
		}
	}
	return list
}

func TestAMixHoldsTheAnswersOfBoth(t *testing.T) {
	good, bad := agentRun("a", "b", "c", "d"), agentRun("a", "B", "c", "D", "E")
	p := NewPair(good, bad, All)
	if len(p.Answers) != 2 || p.Answers[0].Good != "b" || p.Answers[0].Bad != "B" || p.Answers[0].GoodSeq != 4 || p.Unpaired != 2 { // a call and a turn more
		t.Fatalf("%+v", p)
	}
	if p.Mix(only()) != good || p.Mix(only(1, 2)) != bad {
		t.Error("the ends are not the recorded runs")
	}
	mixed := p.Mix(only(2))
	if got := resultsOf(mixed); !slices.Equal(got, []string{"a", "b", "c", "D", "E"}) {
		t.Errorf("%v", got)
	}
	for i := range mixed.Events {
		if e := &mixed.Events[i]; e.Seq != i+1 || e.Request != nil {
			t.Errorf("%+v", e)
		}
	}
	if got := resultsOf(good); !slices.Equal(got, []string{"a", "b", "c", "d"}) || good.Events[0].Request == nil {
		t.Error("the recorded run was changed")
	}
	if p := NewPair(good, bad, Models); len(p.Answers) != 0 {
		t.Errorf("%+v", p.Answers)
	}
}

// say lets a run answer with a text, which its model said.
func say(t *tape.Tape, text string) *tape.Tape {
	m := tape.Message{Role: tape.RoleAssistant, Parts: []tape.Part{{Type: tape.PartReasoning, Text: "hm"}, {Type: tape.PartText, Text: text}}}
	t.Messages[m.ID()] = m
	t.Events[len(t.Events)-1].Response = &tape.Response{Message: m.ID()}
	text += "\n"
	t.Output.Text = &text
	return t
}

// first lets a run begin with a call of a tool that nobody asked for.
func first(t *tape.Tape) *tape.Tape {
	t.Events = slices.Insert(t.Events, 0, tape.Event{Type: tape.EventToolCall, Name: "greet"})
	for i := range t.Events {
		t.Events[i].Seq = i + 1
	}
	return t
}

// silent lets a run answer with something that its model did not say.
func silent(t *tape.Tape) *tape.Tape {
	t.Output.Text = new(string)
	return t
}

// Answers that are not exchanged do not come with those that are, also not where all are: they would be the cause under another name.
func TestOnlyWhatIsExchangedIsExchanged(t *testing.T) {
	good, bad := say(agentRun("a", "b"), "fine"), say(agentRun("a", "B"), "broken")
	for which, want := range map[Which]struct{ result, said string }{Tools: {"B", "fine"}, Models: {"b", "broken"}, All: {"B", "broken"}} {
		p := NewPair(good, bad, which)
		all := p.Mix(func(int) bool { return true })
		said := excerpt(all, &all.Events[len(all.Events)-1])
		if got := resultsOf(all); got[1] != want.result || said != want.said || (all == bad) != (which == All) {
			t.Errorf("%s: %v, %s", which, got, said)
		}
	}
	asked := *bad
	question := "something else"
	asked.Input.UserMessage = &question
	if p := NewPair(good, &asked, All); !p.Asked || p.Mix(func(int) bool { return true }).Input.UserMessage != nil {
		t.Error("a mix is asked what the bad run was asked")
	}
	// A model that is answered from the tape says what it said: its tools have no part in it.
	p := NewPair(good, bad, Tools)
	r, err := (&Search{Pair: p, ByAnswer: true, Replay: func(_ context.Context, exchanged func(int) bool) (Outcome, string, error) {
		mix := p.Mix(exchanged)
		return outcome(excerpt(mix, &mix.Events[len(mix.Events)-1]) == "broken"), "", nil
	}}).Run(t.Context())
	if err != nil || r.Verdict != None || len(r.Cause) != 0 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "not in them") {
		t.Errorf("%+v: %v", r, err)
	}
}

func TestTheAnswerByWhichTheOutcomeIsJudgedIsATrivialCause(t *testing.T) {
	for name, c := range map[string]struct {
		good, bad *tape.Tape
		byAnswer  bool
		want      Verdict
		note      string
	}{
		"a result differs too":            {say(agentRun("a", "b"), "fine"), say(agentRun("a", "B"), "broken"), true, Trivial, "tool_call count"},
		"a call more, behind it":          {say(agentRun("a"), "fine"), say(agentRun("a", "b"), "broken"), true, One, "no answer before it differs"},
		"a call more, before it":          {say(agentRun("a"), "fine"), say(first(agentRun("a")), "broken"), true, Trivial, "alone has a call before it"},
		"judged by something else":        {say(agentRun("a", "b"), "fine"), say(agentRun("a", "B"), "broken"), false, One, ""},
		"nothing else differs":            {say(agentRun("a", "b"), "fine"), say(agentRun("a", "b"), "broken"), true, One, "no answer before it differs"},
		"the run says something else yet": {silent(say(agentRun("a", "b"), "fine")), silent(say(agentRun("a", "B"), "broken")), true, One, ""},
	} {
		p := NewPair(c.good, c.bad, All)
		r, err := (&Search{Pair: p, ByAnswer: c.byAnswer, Replay: func(_ context.Context, exchanged func(int) bool) (Outcome, string, error) {
			return outcome(exchanged(len(p.Answers))), "", nil
		}}).Run(t.Context())
		if err != nil || r.Verdict != c.want || !slices.Equal(found(r), []int{len(p.Answers)}) || !strings.Contains(strings.Join(r.Notes, "; "), c.note) || c.note == "" && len(r.Notes) > 0 {
			t.Errorf("%s: %+v: %v", name, r, err)
		}
	}
}
