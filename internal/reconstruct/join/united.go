// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
)

// united makes one fragment of the parts of a run.
func united(run []*part) *fragment.Fragment {
	if len(run) == 1 {
		return run[0].Fragment
	}
	whys := run[0].whys
	slices.SortStableFunc(run, func(a, b *part) int { // as if their clocks were one
		return cmp.Compare(a.earliest.Start+a.Behind, b.earliest.Start+b.Behind)
	})
	u := &fragment.Fragment{Own: run[0].Own}
	if whole := runSpan(run); whole != nil {
		u.Root = whole.Root
		u.Traces = slices.Clone(whole.Traces)
		u.Seen, u.Cut = whole.Seen, whole.Cut
	}
	for _, f := range run {
		u.Lost = u.Lost || f.Lost
		u.Parts = append(u.Parts, f.Fragment)
		u.Heads = append(u.Heads, f.Heads...)
		u.Entry = append(u.Entry, f.Entry...)
		u.Why = append(u.Why, f.Why...)
		for _, t := range f.Traces {
			if !slices.Contains(u.Traces, t) {
				u.Traces = append(u.Traces, t)
				u.Seen = u.Seen.And(f.Seen)
				u.Cut = cmp.Or(u.Cut, f.Cut)
			}
		}
	}
	u.Why = append(u.Why, whys...)
	slices.Sort(u.Why)
	u.Why = slices.Compact(u.Why)
	return u
}

// runSpan finds the part whose own span is that of the whole run: the one in whose time all others lie, else
// the first part unless its parent never came, else the first with the span of an agent. It is nil where
// there is none. An agent that a tool ran is no whole run.
func runSpan(run []*part) *part {
	for _, f := range run {
		if f.Root != nil && !slices.ContainsFunc(run, func(g *part) bool { return g != f && !f.spans(g) }) {
			return f
		}
	}
	if f := run[0]; f.Root != nil && !f.Heads[0].Missing {
		return f
	}
	for _, f := range run {
		if f.OwnRun() && !f.AsTool {
			return f
		}
	}
	return nil
}
