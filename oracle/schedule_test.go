// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/tapedeck/tapedeck/internal/testbed/seed"
)

var (
	schedules = flag.Int("schedules", 10_000, "how many random schedules to play")
)

// liveCall is a call of a live run: what is asked, and what it must get.
type liveCall struct {
	caller, tool, hash string
	id                 string
	nth                int // of the caller with this content, from 0
	anonymous          bool
}

// scenario is a recording: per caller the calls in order.
type scenario struct {
	entries []Entry
	answers map[call][]*Entry
	callers []string
}

func newScenario(r *rand.Rand) scenario {
	s := scenario{answers: map[call][]*Entry{}}
	for c := range 1 + r.IntN(4) {
		s.callers = append(s.callers, fmt.Sprintf("agent/%d", c))
	}
	variety := 1 + r.IntN(3) // of answers: with few, equal calls get equal answers
	for i := range 1 + r.IntN(16) {
		e := Entry{
			ToolName: fmt.Sprintf("tool%d", r.IntN(2)), ArgsHash: fmt.Sprintf("hash%d", r.IntN(3)), Caller: s.callers[r.IntN(len(s.callers))],
			Response: fmt.Sprintf("answer%d", r.IntN(variety*2)), Seq: i + 1, IsError: r.IntN(8) == 0,
		}
		if r.IntN(10) == 0 {
			e.ResponseFidelity = Truncated
		}
		s.entries = append(s.entries, e)
	}
	for i := range s.entries {
		e := &s.entries[i]
		s.answers[callOf(e)] = append(s.answers[callOf(e)], e)
		e.Occurrence = len(s.answers[callOf(e)])
	}
	return s
}

// live makes the calls of a replay: each caller repeats its recorded calls in its order, now and then leaves one out, makes one more or
// another one, and the callers take turns at random. Some clients do not say who calls.
func (s scenario) live(r *rand.Rand) []liveCall {
	anonymous := [...]int{0, 0, 50, 100}[r.IntN(4)] // percent
	lanes := map[string][]liveCall{}
	for i := range s.entries {
		e := &s.entries[i]
		for range []int{1, 1, 1, 1, 1, 1, 1, 1, 0, 2}[r.IntN(10)] {
			lanes[e.Caller] = append(lanes[e.Caller], liveCall{caller: e.Caller, tool: e.ToolName, hash: e.ArgsHash})
		}
		if r.IntN(12) == 0 {
			lanes[e.Caller] = append(lanes[e.Caller], liveCall{caller: e.Caller, tool: e.ToolName, hash: "never recorded"})
		}
	}
	var all []liveCall
	made := map[call]int{}
	for id := 0; ; id++ {
		open := slices.DeleteFunc(slices.Clone(s.callers), func(c string) bool { return len(lanes[c]) == 0 })
		if len(open) == 0 {
			return all
		}
		c := open[r.IntN(len(open))]
		next := lanes[c][0]
		lanes[c] = lanes[c][1:]
		next.id, next.anonymous = fmt.Sprintf("live_%d", id), r.IntN(100) < anonymous
		next.nth = made[call{next.caller, next.tool, next.hash}]
		made[call{next.caller, next.tool, next.hash}]++
		all = append(all, next)
	}
}

// wrong says what is wrong with an answer, "" when nothing is.
func (s scenario) wrong(c liveCall, a Answer, anyAnonymous bool) string {
	recorded := s.answers[call{c.caller, c.tool, c.hash}]
	var right *Entry
	if c.nth < len(recorded) {
		right = recorded[c.nth]
	}
	if a.Outcome.Served() {
		switch {
		case right == nil && !c.anonymous:
			return "served a call that was not recorded so often"
		case right == nil: // one more call of an unknown caller is told from the others by nothing
			if slices.ContainsFunc(s.entries, func(e Entry) bool {
				return e.ToolName == c.tool && e.ArgsHash == c.hash && !sameAnswer(&e, a.Entry)
			}) {
				return "served one of several answers"
			}
		case !sameAnswer(right, a.Entry) || !right.Servable():
			return "served " + a.Entry.Response + ", recorded was " + right.Response
		case (a.Outcome == RecordedError) != right.IsError:
			return "wrong outcome"
		}
		return ""
	}
	if anyAnonymous { // a miss is no error then, but its reason must be a known one
		if !a.Outcome.Missed() || !slices.Contains(Outcomes, a.Outcome) {
			return "no typed miss"
		}
		return ""
	}
	want := Exhausted
	switch {
	case right != nil && !right.Servable():
		want = Unservable
	case right != nil:
		return "a recorded call was missed"
	case len(recorded) == 0:
		want = NoEntry
	}
	if a.Outcome != want {
		return fmt.Sprintf("want %s", want)
	}
	return ""
}

func TestRandomSchedulesGetNoWrongAnswer(t *testing.T) {
	seed := seed.Of(t)
	outcomes := map[Outcome]int{}
	for n := range *schedules {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		s := newScenario(r)
		o, err := New(s.entries, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + r.IntN(2) { // sessions share nothing
			session, calls := o.NewSession(0), s.live(r)
			anyAnonymous := slices.ContainsFunc(calls, func(c liveCall) bool { return c.anonymous })
			var earlier []liveCall
			answers := map[string]Answer{}
			repeated := 0
			for _, c := range calls {
				a := play(t, session, c)
				if what := s.wrong(c, a, anyAnonymous); what != "" {
					t.Fatalf("schedule %d of seed %d: %+v: %s: %s\n%+v", n, seed, c, say(a), what, s.entries)
				}
				outcomes[a.Outcome]++
				answers[c.id] = a
				if earlier = append(earlier, c); r.IntN(4) == 0 { // a client that lost an answer asks again, now or later
					again := earlier[r.IntN(len(earlier))]
					b := play(t, session, again)
					if repeated++; say(b) != say(answers[again.id]) || b.Index != answers[again.id].Index || !b.Repeated {
						t.Fatalf("schedule %d of seed %d: %+v got %s first and %s again", n, seed, again, say(answers[again.id]), say(b))
					}
				}
			}
			report := session.Report()
			addsUp(t, report)
			if report.Calls.Total != len(calls) || report.Calls.Repeated != repeated {
				t.Fatalf("schedule %d of seed %d: %d calls and %d repetitions, report %+v", n, seed, len(calls), repeated, report.Calls)
			}
			if !anyAnonymous {
				s.wholeReport(t, report, calls, fmt.Sprintf("schedule %d of seed %d", n, seed))
			}
		}
	}
	t.Log(outcomes)
	for _, o := range []Outcome{Hit, RecordedError, NoEntry, Exhausted, Ambiguous, Unservable} {
		if outcomes[o] == 0 {
			t.Errorf("no schedule led to %s", o)
		}
	}
}

// wholeReport checks the entries of a report against what was called.
func (s scenario) wholeReport(t *testing.T, r Report, calls []liveCall, where string) {
	t.Helper()
	asked := map[call]int{}
	for _, c := range calls {
		asked[call{c.caller, c.tool, c.hash}]++
	}
	var want EntryCounts
	for i := range s.entries {
		e := &s.entries[i]
		want.Total++
		if e.Servable() {
			want.Servable++
		}
		switch {
		case e.Occurrence > asked[callOf(e)]:
			want.Unused++
		case e.Servable():
			want.Served++
		default:
			want.Passed++
		}
	}
	if want != r.Entries {
		t.Fatalf("%s: entries %+v, want %+v", where, r.Entries, want)
	}
}

func play(t *testing.T, s *Session, c liveCall) Answer {
	t.Helper()
	q := Query{Caller: c.caller, ToolName: c.tool, ArgsHash: c.hash, ToolCallID: c.id}
	if c.anonymous {
		q.Caller = ""
	}
	a, err := s.Answer(q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestParallelCallersGetTheirOwnAnswers lets callers run at once, with retries in parallel.
func TestParallelCallersGetTheirOwnAnswers(t *testing.T) {
	const callers, calls = 16, 50
	var entries []Entry
	for k := range calls {
		for c := range callers {
			entries = append(entries, Entry{ToolName: "poll", ArgsHash: "h", Caller: fmt.Sprint(c), Response: fmt.Sprintf("%d of %d", k, c)})
		}
	}
	s := newSession(t, nil, entries...)
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for k := range calls {
				var tries sync.WaitGroup
				for range 2 {
					tries.Go(func() {
						a, err := s.Answer(Query{ToolName: "poll", ArgsHash: "h", Caller: fmt.Sprint(c), ToolCallID: fmt.Sprint(k)})
						if want := fmt.Sprintf("hit %d of %d", k, c); err != nil || say(a) != want {
							t.Errorf("got %s, want %s (%v)", say(a), want, err)
						}
					})
				}
				tries.Wait()
			}
		})
	}
	all.Wait()
	r := s.Report()
	addsUp(t, r)
	if r.Entries.Served != callers*calls || r.Calls.Repeated != callers*calls {
		t.Errorf("%+v %+v", r.Calls, r.Entries)
	}
}
