// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"cmp"
	"errors"
	"slices"

	"github.com/tapedeck/tapedeck/tape"
)

// Separation is the earliest event that tells good runs from bad ones. Its JSON form is part of the contract.
type Separation struct {
	// Separates is true when the event is in all runs of one side and in none of the other.
	Separates bool  `json:"separates"`
	Compare   Level `json:"compare"`
	Good      int   `json:"good"` // how many runs were compared
	Bad       int   `json:"bad"`
	// Best is the separating event; when none separates, the one that comes closest. Nil when all runs are equal.
	Best *Witness `json:"best"`
	// Next are the ones that come next, in the same order.
	Next []Witness `json:"next"`
}

// Witness is an event of one run, and in how many runs of each side an equal event stands at its place.
type Witness struct {
	Side  Side     `json:"side"` // whose run it is from
	Run   int      `json:"run"`  // which run of that side, from 0
	Event EventRef `json:"event"`
	Good  int      `json:"good"` // runs that have it, the run itself included
	Bad   int      `json:"bad"`
	// Instead says what the runs of the other side have there.
	Instead []Variant `json:"instead"`
	// place orders witnesses of different runs: the event of the first good run behind which it stands.
	place int
	id    int32
}

// Variant is what some runs of the other side have at the place of a witness.
type Variant struct {
	Kind        Kind         `json:"kind"` // equal: they have it too; dropped: nothing; changed, moved
	Count       int          `json:"count"`
	Run         int          `json:"run"` // the first of them
	Event       *EventRef    `json:"event,omitempty"`
	Differences []Difference `json:"differences,omitempty"`
}

// Side is a set of runs.
type Side string

// The sides.
const (
	Good Side = "good"
	Bad  Side = "bad"
)

// Bounds of Separate. References are the runs of each side whose events are considered. An event that all runs of a side have is in the
// first one. So the bounds limit only the search for the closest when none separates.
const (
	MaxRuns       = 200
	maxReferences = 8
	maxNext       = 5
	maxVariants   = 5
)

// Separate finds the earliest event that is in all good runs and in no bad one, or the other way round.
func Separate(good, bad []*tape.Tape, o Options) (*Separation, error) {
	level, err := o.level()
	switch {
	case err != nil:
		return nil, err
	case len(good) == 0 || len(bad) == 0:
		return nil, errors.New("a separation needs good runs and bad runs")
	case len(good)+len(bad) > MaxRuns:
		return nil, errors.New("too many runs")
	}
	in := newInterner()
	prepare := func(tapes []*tape.Tape) []*sequence {
		out := make([]*sequence, len(tapes))
		for i, t := range tapes {
			out[i] = newSequence(t, o, in)
		}
		return out
	}
	s := &separator{level: level, good: prepare(good), bad: prepare(bad)}
	s.sides()
	return s.result(), nil
}

type separator struct {
	level     int
	good, bad []*sequence
	found     []Witness
}

func (s *separator) sides() {
	// The first run of each side holds every event that separates perfectly; the others are asked when it holds none.
	for n := range maxReferences {
		if n < len(s.good) {
			s.reference(Good, n, s.good[n])
		}
		if n < len(s.bad) {
			s.reference(Bad, n, s.bad[n])
		}
		if slices.ContainsFunc(s.found, s.perfect) {
			return
		}
	}
}

func (s *separator) perfect(w Witness) bool {
	return w.Good == len(s.good) && w.Bad == 0 || w.Bad == len(s.bad) && w.Good == 0
}

// reference counts, for every event of one run, the runs that have it.
func (s *separator) reference(side Side, n int, of *sequence) {
	witnesses := make([]Witness, len(of.items))
	for i := range witnesses {
		witnesses[i] = Witness{Side: side, Run: n, Event: *of.ref(i), Instead: []Variant{}, place: 2 * of.items[i].event, id: of.items[i].ids[s.level]}
	}
	for _, runs := range []Side{Good, Bad} {
		others := s.good
		if runs == Bad {
			others = s.bad
		}
		for k, other := range others {
			if runs == side && k == n {
				for i := range witnesses {
					witnesses[i].has(side)
				}
				continue
			}
			pairs, _ := align(of, other, s.level)
			for _, p := range pairs {
				if p.a < 0 {
					continue
				}
				if p.kind == Equal {
					witnesses[p.a].has(runs)
				}
				if runs != side {
					witnesses[p.a].instead(of, other, p, k, s.level)
				}
			}
			if runs == Good && k == 0 {
				for i, place := range places(of, other, pairs) {
					witnesses[i].place = place
				}
			}
		}
	}
	s.found = append(s.found, witnesses...)
}

func (w *Witness) has(side Side) {
	if side == Good {
		w.Good++
	} else {
		w.Bad++
	}
}

// places says where the events of a run stand in the first good run: at an event, or behind one.
func places(of, first *sequence, pairs []pair) []int {
	out := make([]int, len(of.items))
	for i := range out {
		out[i] = -1
	}
	for _, p := range pairs {
		if p.a >= 0 && p.b >= 0 && p.kind != Moved {
			out[p.a] = 2 * first.items[p.b].event
		}
	}
	last := -1
	for i := range out {
		if out[i] >= 0 {
			last = out[i] | 1
		} else {
			out[i] = last
		}
	}
	return out
}

// instead notes what a run of the other side has at the place of a witness.
func (w *Witness) instead(of, other *sequence, p pair, run, level int) {
	step := newStep(of, other, p, level)
	v := Variant{Kind: step.Kind, Count: 1, Run: run, Event: step.B, Differences: step.Differences}
	for i := range w.Instead {
		x := &w.Instead[i]
		if x.Kind == v.Kind && slices.EqualFunc(x.Differences, v.Differences, sameDifference) {
			x.Count++
			return
		}
	}
	if len(w.Instead) < maxVariants {
		w.Instead = append(w.Instead, v)
	}
}

func sameDifference(x, y Difference) bool {
	return x.Field == y.Field && x.Path == y.Path && (x.A == nil) == (y.A == nil) && (x.B == nil) == (y.B == nil) &&
		(x.A == nil || x.A.Equal(*y.A)) && (x.B == nil || x.B.Equal(*y.B))
}

// result ranks the witnesses: those that separate by place, then the others by how far apart the sides are.
func (s *separator) result() *Separation {
	distance := func(w Witness) int { // |good/Good - bad/Bad|, times both
		d := w.Good*len(s.bad) - w.Bad*len(s.good)
		return max(d, -d)
	}
	s.found = slices.DeleteFunc(s.found, func(w Witness) bool { return distance(w) == 0 })
	slices.SortStableFunc(s.found, func(x, y Witness) int {
		return cmp.Or(cmp.Compare(distance(y), distance(x)), cmp.Compare(x.place, y.place), cmp.Compare(x.id, y.id), cmp.Compare(y.Side, x.Side), cmp.Compare(x.Run, y.Run))
	})
	out := &Separation{Compare: Levels[s.level], Good: len(s.good), Bad: len(s.bad), Next: []Witness{}}
	s.found = slices.CompactFunc(s.found, func(x, y Witness) bool { return x.place == y.place && x.id == y.id }) // one event, seen in several runs
	if len(s.found) > 0 {
		out.Best = &s.found[0]
		out.Separates = s.perfect(s.found[0])
		out.Next = append(out.Next, s.found[1:min(len(s.found), 1+maxNext)]...)
	}
	return out
}
