// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package fragment

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// OwnRun reports a fragment whose own span is that of an agent, and no step of a graph.
func (f *Fragment) OwnRun() bool { return f.Root != nil && !f.Root.Obs.WeakAgent }

// Pieces lists the fragments that this one was united from; itself where there are none.
func (f *Fragment) Pieces() []*Fragment {
	if len(f.Parts) == 0 {
		return []*Fragment{f}
	}
	return f.Parts
}

// Leaves lists the fragments at the bottom of all unions that led to this one.
func (f *Fragment) Leaves() []*Fragment { return f.appendLeaves(nil) }

func (f *Fragment) appendLeaves(leaves []*Fragment) []*Fragment {
	if len(f.Parts) == 0 {
		return append(leaves, f)
	}
	for _, part := range f.Parts {
		leaves = part.appendLeaves(leaves)
	}
	return leaves
}

// Ending is the run span that ended last. Of a run that waited and was resumed it is the one that knows how
// it ended.
func (f *Fragment) Ending() *spantree.Node {
	if len(f.Parts) == 0 {
		return f.Root
	}
	last, end := f.Root, uint64(0)
	for _, part := range f.Leaves() {
		if part.Root == last && last != nil {
			end = last.End + part.Behind
		}
	}
	for _, part := range f.Leaves() {
		if n := part.Root; n != nil && last != nil && n != last && n.End+part.Behind > end && (part.OwnRun() || !n.Missing && f.Root.Obs.WeakAgent) {
			last = n
		}
	}
	return last
}

// First is the first span of a fragment.
func (f *Fragment) First() *spantree.Node { return slices.MinFunc(f.Heads, spantree.CompareNodes) }
