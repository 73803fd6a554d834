// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// seed of what is planted. Another one must pass too.
const seed = 20261120

// plant is a divergence that was put into the second of two equal tapes, and where it must be found.
type plant struct {
	kind  Kind
	a, b  int    // seq of the first divergent step; 0: none
	field Field  // of a changed event
	path  string // of a changed event
	level Level  // the lowest level that sees it; below it the tapes are equal
}

// check compares at every level.
func (want plant) check(t *testing.T, name string, a, b *tape.Tape) {
	t.Helper()
	seen := false
	for _, level := range Levels {
		seen = seen || level == want.level
		got := compared(t, a, b, level)
		if !seen {
			if !got.Equal || got.Counts.Noted != 1 {
				t.Errorf("%s: at %s: not equal with one note: %+v", name, level, got.Counts)
			}
			continue
		}
		if got.Equal || got.First == nil {
			t.Errorf("%s: at %s: %+v was not found", name, level, want)
			continue
		}
		first, edits := got.First, 1
		if first.Kind != want.kind || seqOf(first.A) != want.a || seqOf(first.B) != want.b {
			t.Errorf("%s: at %s: found %s at %d and %d, want %+v", name, level, first.Kind, seqOf(first.A), seqOf(first.B), want)
		}
		if want.kind == Moved {
			edits = 2
		}
		if len(got.Steps) != edits || len(got.Input)+len(got.Output) > 0 {
			t.Errorf("%s: at %s: %+v also found %+v", name, level, want, got.Steps)
		}
		if want.kind == Changed && (len(first.Differences) != 1 || first.Differences[0].Field != want.field || first.Differences[0].Path != want.path) {
			t.Errorf("%s: at %s: %+v differs in %+v", name, level, want, first.Differences)
		}
	}
}

func compared(tb testing.TB, a, b *tape.Tape, level Level) *Result {
	tb.Helper()
	r, err := Tapes(a, b, Options{Level: level})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func seqOf(e *EventRef) int {
	if e == nil {
		return 0
	}
	return e.Seq
}

// forEachEvent calls do for every event of every tape of the corpus, with a renamed copy to plant into.
func forEachEvent(t *testing.T, do func(name string, a, b *tape.Tape, i int, rng *rand.Rand) bool) {
	t.Helper()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	planted, tapes := 0, 0
	for _, r := range corpus(t) {
		a, some := r.read(t), false
		for i := range a.Events {
			b := r.read(t)
			rename(b, rng)
			if do(r.name, a, b, i, rng) {
				planted, some = planted+1, true
			}
		}
		if some {
			tapes++
		}
	}
	if tapes < 40 {
		t.Errorf("planted in %d tapes only", tapes)
	}
	t.Logf("planted %d in %d tapes", planted, tapes)
}

func TestRunsThatDifferInIDsTimesAndTokensAreEqual(t *testing.T) {
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, r := range corpus(t) {
		a, b := r.read(t), r.read(t)
		rename(b, rng)
		if a.Run.TraceID == b.Run.TraceID || a.Events[0].StartedAt.Equal(b.Events[0].StartedAt) {
			t.Fatalf("%s: nothing was renamed", r.name)
		}
		for _, level := range Levels {
			got := compared(t, a, b, level)
			if !got.Equal || got.First != nil || got.Counts != (Counts{Equal: len(a.Events)}) {
				t.Errorf("%s: at %s: %+v %+v", r.name, level, got.Counts, got.First)
			}
		}
	}
}

func TestAChangedArgumentIsFound(t *testing.T) {
	forEachEvent(t, func(name string, a, b *tape.Tape, i int, rng *rand.Rand) bool {
		e := &b.Events[i]
		if e.Type != tape.EventToolCall || e.Args.IsAbsent() {
			return false
		}
		var path string
		e.Args, path = altered(e.Args, rng)
		plant{Changed, i + 1, i + 1, FieldArgs, path, Actions}.check(t, name, a, b)
		return true
	})
}

// A model that asks for something else is the first to differ; the call follows.
func TestAChangedRequestIsFoundAtTheModelCall(t *testing.T) {
	forEachEvent(t, func(name string, a, b *tape.Tape, i int, rng *rand.Rand) bool {
		e := &b.Events[i]
		if e.Type != tape.EventModelCall || e.Response == nil {
			return false
		}
		m := b.Messages[e.Response.Message]
		if said := func(o tape.Event) bool { return o.Response != nil && o.Response.Message == e.Response.Message }; slices.ContainsFunc(b.Events[:i], said) || slices.ContainsFunc(b.Events[i+1:], said) {
			return false // a model that says the same twice without ids: the pool has it once
		}
		for n := range m.Parts {
			if m.Parts[n].Type == tape.PartToolCall {
				var path string
				m.Parts[n].Args, path = altered(m.Parts[n].Args, rng)
				if len(b.Messages[e.Response.Message].Parts) == 1 {
					plant{Changed, i + 1, i + 1, FieldAsks, "$[0].args" + path[1:], Actions}.check(t, name, a, b)
				} else if got := compared(t, a, b, Actions); seqOf(got.First.A) != i+1 || got.First.Differences[0].Field != FieldAsks {
					t.Errorf("%s: event %d: %+v", name, i+1, got.First)
				}
				return true
			}
		}
		return false
	})
}

func TestAChangedResultIsFound(t *testing.T) {
	forEachEvent(t, func(name string, a, b *tape.Tape, i int, rng *rand.Rand) bool {
		e := &b.Events[i]
		if e.Type != tape.EventToolCall || e.Result.IsAbsent() {
			return false
		}
		var path string
		e.Result, path = altered(e.Result, rng)
		plant{Changed, i + 1, i + 1, FieldResult, path, Results}.check(t, name, a, b)
		return true
	})
}

func TestAnotherModelIsFound(t *testing.T) {
	forEachEvent(t, func(name string, a, b *tape.Tape, i int, _ *rand.Rand) bool {
		if b.Events[i].Type != tape.EventModelCall {
			return false
		}
		b.Events[i].Model = "another-model"
		plant{Changed, i + 1, i + 1, FieldModel, "$", Actions}.check(t, name, a, b)
		return true
	})
}

func TestAnotherAnswerIsFound(t *testing.T) {
	forEachEvent(t, func(name string, a, b *tape.Tape, i int, _ *rand.Rand) bool {
		e := &b.Events[i]
		if e.Type != tape.EventModelCall || e.Response == nil {
			return false
		}
		m := b.Messages[e.Response.Message]
		for n := range m.Parts {
			if m.Parts[n].Type == tape.PartText {
				m.Parts[n].Text += " planted"
				shared := 0
				for k := range b.Events {
					if r := b.Events[k].Response; r != nil && r.Message == e.Response.Message {
						shared++
					}
				}
				if shared > 1 {
					return false // the same answer twice changes twice
				}
				plant{Changed, i + 1, i + 1, FieldText, "$", All}.check(t, name, a, b)
				return true
			}
		}
		return false
	})
}

func TestADroppedEventIsFound(t *testing.T) {
	forEachEvent(t, func(name string, a, b *tape.Tape, i int, _ *rand.Rand) bool {
		if len(b.Events) == 1 {
			return false
		}
		var kept []int
		for n := range b.Events {
			if n != i {
				kept = append(kept, n)
			}
		}
		with(b, kept, tape.Event{})
		last := i // of equal neighbours nobody knows which one is gone; the last one is named
		for s := newSequence(a, Options{}, newInterner()); last+1 < len(s.items) && s.items[last].ids == s.items[last+1].ids; {
			last++
		}
		plant{Dropped, last + 1, 0, "", "", Actions}.check(t, name, a, b)
		return true
	})
}

func TestAnInsertedEventIsFound(t *testing.T) {
	forEachEvent(t, func(name string, a, b *tape.Tape, i int, rng *rand.Rand) bool {
		fresh := b.Events[rng.IntN(len(b.Events))] // much like one of the others
		fresh.RequestedBy, fresh.Parent, fresh.Via = b.Events[i].RequestedBy, b.Events[i].Parent, 0
		switch fresh.Type {
		case tape.EventModelCall:
			fresh.Model = "planted"
		case tape.EventAgentCall:
			fresh.Agent = &tape.Agent{Name: "planted"}
		default:
			if fresh.Args.IsAbsent() {
				fresh.Name = "planted"
			}
			fresh.Args, _ = altered(fresh.Args, rng)
		}
		// Before event i, and behind the last one.
		for _, at := range []int{i, len(b.Events)} {
			c := *b
			var kept []int
			for n := range c.Events {
				if n == at {
					kept = append(kept, -1)
				}
				kept = append(kept, n)
			}
			if at == len(c.Events) {
				kept = append(kept, -1)
			}
			with(&c, kept, fresh)
			plant{Inserted, 0, at + 1, "", "", Actions}.check(t, name, a, &c)
		}
		return true
	})
}

func TestSwappedCallsAreFoundUnlessOneResponseAskedForBoth(t *testing.T) {
	together := 0
	forEachEvent(t, func(name string, a, b *tape.Tape, i int, _ *rand.Rand) bool {
		some := false
		for j := i + 1; j < len(b.Events); j++ {
			c := *b
			c.Events = append([]tape.Event(nil), b.Events...)
			x, y := &c.Events[i], &c.Events[j]
			if x.Type != y.Type || x.Caller != y.Caller || x.Parent != y.Parent || x.Type == tape.EventAgentCall {
				continue
			}
			*x, *y = *y, *x
			x.Seq, y.Seq = i+1, j+1
			x.RequestedBy, y.RequestedBy = y.RequestedBy, x.RequestedBy // the place keeps who asked
			if x.RequestedBy > 0 && x.RequestedBy == y.RequestedBy {
				if got := compared(t, a, &c, All); !got.Equal {
					t.Errorf("%s: %d and %d were asked for together: %+v", name, i+1, j+1, got.First)
				}
				together++
				continue
			}
			in := newInterner()
			s := newSequence(a, Options{}, in)
			of := func(event, level int) int32 {
				for n := range s.items {
					if s.items[n].event == event {
						return s.items[n].ids[level]
					}
				}
				return 0
			}
			for level := range Levels {
				got := compared(t, a, &c, Levels[level])
				if of(i, level) == of(j, level) {
					if !got.Equal && level == 0 {
						t.Errorf("%s: %d and %d are the same at %s: %+v", name, i+1, j+1, Levels[level], got.First)
					}
					continue
				}
				if first := got.First; first == nil || first.Kind != Moved || seqOf(first.A) != i+1 || seqOf(first.B) != j+1 {
					t.Errorf("%s: at %s: %d and %d were swapped: %+v", name, Levels[level], i+1, j+1, first)
				}
				some = true
			}
		}
		return some
	})
	if together == 0 {
		t.Error("no calls were asked for together")
	}
}

// Several divergences in one run: each is found, and nothing else.
func TestEveryDivergenceOfARunIsFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for _, r := range corpus(t) {
		a, b := r.read(t), r.read(t)
		rename(b, rng)
		var want []int
		for i := range b.Events {
			e := &b.Events[i]
			switch {
			case rng.IntN(2) == 0:
				continue
			case e.Type == tape.EventModelCall:
				e.Model += "-planted"
			case !e.Result.IsAbsent():
				e.Result, _ = altered(e.Result, rng)
			default:
				continue
			}
			want = append(want, i+1)
		}
		got := compared(t, a, b, Results)
		var found []int
		for _, s := range got.Steps {
			if s.Kind != Changed || s.A.Seq != s.B.Seq {
				t.Errorf("%s: seed %d: %+v", r.name, seed, s)
			}
			found = append(found, seqOf(s.A))
		}
		if !slices.Equal(want, found) {
			t.Errorf("%s: seed %d: planted at %v, found at %v", r.name, seed, want, found)
		}
	}
}

// Two turns in another order: a model call and the call it asked for, both have moved.
func TestSwappedTurnsAreFound(t *testing.T) {
	forEachEvent(t, func(name string, a, b *tape.Tape, i int, _ *rand.Rand) bool {
		if i+3 >= len(b.Events) {
			return false
		}
		for n, want := range []tape.EventType{tape.EventModelCall, tape.EventToolCall, tape.EventModelCall, tape.EventToolCall} {
			if e := &b.Events[i+n]; e.Type != want || e.Parent != b.Events[i].Parent {
				return false
			}
		}
		var kept []int
		for n := range b.Events {
			kept = append(kept, n)
		}
		kept[i], kept[i+1], kept[i+2], kept[i+3] = i+2, i+3, i, i+1
		with(b, kept, tape.Event{})
		s := newSequence(a, Options{}, newInterner())
		for level := range Levels {
			first := i // the turns may only differ in the call, or not at all
			for first < i+2 && s.items[first].ids[level] == s.items[first+2].ids[level] {
				first++
			}
			got := compared(t, a, b, Levels[level])
			switch {
			case first == i+2:
				if !got.Equal {
					t.Errorf("%s: at %s: turns at %d are the same: %+v", name, Levels[level], i+1, got.First)
				}
			case got.First == nil || got.First.Kind != Moved || min(seqOf(got.First.A), seqOf(got.First.B)) != first+1 || max(seqOf(got.First.A), seqOf(got.First.B)) != first+3:
				t.Errorf("%s: at %s: turns at %d were swapped: %+v", name, Levels[level], i+1, got.First)
			}
		}
		return true
	})
}
