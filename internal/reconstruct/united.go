// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"
)

// united makes one fragment of the parts of a run.
func united(run []*part) *fragment {
	if len(run) == 1 {
		return run[0].fragment
	}
	whys := run[0].whys
	slices.SortStableFunc(run, func(a, b *part) int { // as if their clocks were one
		return cmp.Compare(a.earliest.start+a.behind, b.earliest.start+b.behind)
	})
	u := &fragment{own: run[0].own}
	if whole := runSpan(run); whole != nil {
		u.root = whole.root
		u.traces = slices.Clone(whole.traces)
		u.seen, u.cut = whole.seen, whole.cut
	}
	for _, f := range run {
		u.parts = append(u.parts, f.fragment)
		u.heads = append(u.heads, f.heads...)
		u.entry = append(u.entry, f.entry...)
		u.why = append(u.why, f.why...)
		for _, t := range f.traces {
			if !slices.Contains(u.traces, t) {
				u.traces = append(u.traces, t)
				u.seen = u.seen.and(f.seen)
				u.cut = cmp.Or(u.cut, f.cut)
			}
		}
	}
	u.why = append(u.why, whys...)
	slices.Sort(u.why)
	u.why = slices.Compact(u.why)
	return u
}

// runSpan finds the part whose own span is that of the whole run: the one in whose time all others lie, else the first
// part unless its parent never came, else the first with the span of an agent. It is nil where there is none. An agent
// that a tool ran is no whole run.
func runSpan(run []*part) *part {
	for _, f := range run {
		if f.root != nil && !slices.ContainsFunc(run, func(g *part) bool { return g != f && !f.spans(g) }) {
			return f
		}
	}
	if f := run[0]; f.root != nil && !f.heads[0].missing {
		return f
	}
	for _, f := range run {
		if f.ownRun() && !f.asTool {
			return f
		}
	}
	return nil
}

// ownRun reports a fragment whose own span is that of an agent, and no step of a graph.
func (f *fragment) ownRun() bool { return f.root != nil && !f.root.obs.WeakAgent }

// pieces lists the fragments that this one was united from; itself where there are none.
func (f *fragment) pieces() []*fragment {
	if len(f.parts) == 0 {
		return []*fragment{f}
	}
	return f.parts
}

// leaves lists the fragments at the bottom of all unions that led to this one.
func (f *fragment) leaves() []*fragment {
	if len(f.parts) == 0 {
		return []*fragment{f}
	}
	var out []*fragment
	for _, part := range f.parts {
		out = append(out, part.leaves()...)
	}
	return out
}

// ending is the run span that ended last. Of a run that waited and was resumed it is the one that knows how it ended.
func (f *fragment) ending() *node {
	last, end := f.root, uint64(0)
	for _, part := range f.leaves() {
		if part.root == last && last != nil {
			end = last.end + part.behind
		}
	}
	for _, part := range f.leaves() {
		if n := part.root; n != nil && last != nil && n != last && n.end+part.behind > end && (part.ownRun() || !n.missing && f.root.obs.WeakAgent) {
			last = n
		}
	}
	return last
}

// first is the first span of a fragment.
func (f *fragment) first() *node { return slices.MinFunc(f.heads, compareNodes) }
