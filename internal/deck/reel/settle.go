// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// piece is a row of a trace, and the level of the reel that it lies in.
type piece struct {
	*Entry
	level int
}

// settled is what a compaction makes of the rows of one trace.
type settled struct {
	all  *Trace // of the rows that are merged and the others
	rows []Meta // in the order of compare; evidence and tape are those of the entries
	from []*Entry
	made []*Row // rows that were derived, at their places; nil where they come from entries
	// pending: no row has the tapes of all evidence.
	pending bool
}

// settle decides what becomes of the rows of a trace that are merged, beside others of the trace that lie elsewhere. The union of what it leaves and the others is what the union of all
// was. It holds as well when somebody else settles the others at the same time:
//
//   - Evidence is never left out, but for a row of which another reel has an equal one, in the area of the
//     trace, and a higher level than all merged reels that have one. A reel gets a level above those that it
//     was made of, so what stands for another row never lies below it, and the highest one stays.
//   - Tapes are left out that are no longer those of all evidence, or of which there are better ones: they can never be those that are shown again, or are derived again.
//   - Areas change upwards only, from undecided to runs to replays.
//
// Tapes of a revision below the one given are as none.
func settle(merged, others []piece, revision int) settled {
	entries := func(pieces []piece) []*Entry {
		list := make([]*Entry, len(pieces))
		for i, p := range pieces {
			list[i] = p.Entry
		}
		return list
	}
	s := settled{all: Unite(slices.Concat(entries(merged), entries(others)))}
	current := s.all.Current
	if current != nil && current.Revision < revision && !s.all.Dropped {
		current = nil
	}
	s.pending = current == nil && len(s.all.Parts) > 0 && !s.all.Dropped
	inCurrent := func(e *Entry) bool {
		return current != nil && e.Dropped() == s.all.Dropped && slices.Equal(e.Parts, s.all.Parts) && e.Generation() == current.Generation
	}
	local := Unite(entries(merged)).Entries
	keep := func(e *Entry, bare bool) {
		m := e.Meta
		if bare {
			m = e.bare()
		}
		m.Area = string(s.all.Location.Area)
		if s.all.Location.Area == deck.AreaReplays {
			m.ReplayRunID = s.all.Location.ReplayRunID
		}
		s.rows, s.from = append(s.rows, m), append(s.from, e)
	}
	// above tells whether a reel of a higher level than all that are merged and have something has it, too.
	above := func(has func(o *Entry) bool, there func(o *Entry) bool) bool {
		highest := -1
		for _, p := range merged {
			if has(p.Entry) {
				highest = max(highest, p.level)
			}
		}
		return slices.ContainsFunc(others, func(o piece) bool { return o.level > highest && has(o.Entry) && there(o.Entry) })
	}
	// Of rows with the same tape one that is signed is kept.
	signed := slices.Clone(local)
	slices.SortStableFunc(signed, func(a, b *Entry) int { return cmp.Compare(min(len(b.Signature), 1), min(len(a.Signature), 1)) })
	roots := map[string]bool{}
	for _, e := range signed {
		if !inCurrent(e) || roots[e.RootSpanID] {
			continue
		}
		if above(func(o *Entry) bool {
			return inCurrent(o) && o.RootSpanID == e.RootSpanID && o.RunID == e.RunID && o.TapeBytes >= e.TapeBytes && (o.Signature != "" || e.Signature == "")
		}, func(*Entry) bool { return true }) {
			continue
		}
		roots[e.RootSpanID] = true
		keep(e, false)
	}
	for i, e := range local {
		if e.Part == "" || slices.ContainsFunc(local[:i], func(o *Entry) bool { return o.Part == e.Part }) {
			continue // the first row of a part decides for it
		}
		if slices.ContainsFunc(s.rows, func(m Meta) bool { return m.Part == e.Part }) {
			continue // that row has the evidence
		}
		holder := e
		if j := slices.IndexFunc(local, func(o *Entry) bool { return o.Part == e.Part && o.EvidenceBytes > 0 }); j >= 0 {
			holder = local[j]
		}
		if !s.pending && above(func(o *Entry) bool { return o.Part == e.Part && o.EvidenceBytes >= holder.EvidenceBytes },
			func(o *Entry) bool { return o.Location() == s.all.Location }) {
			continue
		}
		keep(holder, true)
	}
	s.sort()
	return s
}

// sort puts the rows into the order of compare.
func (s *settled) sort() {
	at := make([]int, len(s.rows))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(i, j int) int { return s.rows[i].compare(&s.rows[j]) })
	rows, from, made := make([]Meta, len(at)), make([]*Entry, len(at)), make([]*Row, len(at))
	for i, j := range at {
		rows[i], from[i] = s.rows[j], s.from[j]
		if s.made != nil {
			made[i] = s.made[j]
		}
	}
	s.rows, s.from, s.made = rows, from, made
}
