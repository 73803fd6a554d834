// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package divide

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// gather puts runs that were torn apart together: the span of an agent without a call below it is the run of
// the calls and steps beside it.
//
// Needs: the same parent; the time of the agent; the same user message, or none.
// Refuses: an agent with calls of its own; of several agents, all but the innermost.
// Seen in: instrumentations that hang every span below that of the application, which is no evidence.
func gather(frags []*fragment.Fragment) []*fragment.Fragment {
	beside := map[spantree.Siblings][]*fragment.Fragment{}
	for _, f := range frags {
		key := spantree.SiblingsOf(f.Heads[0])
		beside[key] = append(beside[key], f)
	}
	for _, f := range frags {
		f.Within = gatherer(f, beside[spantree.SiblingsOf(f.Heads[0])])
	}
	for _, f := range frags {
		if f.Within == nil {
			continue
		}
		run := f.Within
		for run.Within != nil {
			run = run.Within
		}
		run.Entry = append(run.Entry, f.Entry...)
		for _, n := range f.Heads {
			n.Up, n.Adopted = run.Root, true
			run.Root.Kids = append(run.Root.Kids, n)
		}
	}
	kept := spantree.Filter(frags, func(f *fragment.Fragment) bool { return f.Within == nil })
	for _, f := range kept {
		if f.Root != nil {
			slices.SortFunc(f.Root.Kids, spantree.CompareNodes)
		}
	}
	return kept
}

// gatherer is the innermost of the runs beside a fragment that this is a part of, nil if there is none.
func gatherer(f *fragment.Fragment, beside []*fragment.Fragment) (run *fragment.Fragment) {
	for _, g := range beside {
		if g != f && g.Within == nil && g.Root != nil && !spantree.HoldsCall(g.Root) && around(g, f) && (run == nil || around(g, run)) {
			run = g
		}
	}
	return run
}

// around reports that a fragment lies in the time of a run span and speaks of nothing else than its run does.
func around(run, inner *fragment.Fragment) bool {
	for _, n := range inner.Heads {
		if n.Parent.IsEmpty() || !n.Within(run.Root) ||
			n.Start == run.Root.Start && n.End == run.Root.End && spantree.CompareNodes(n, run.Root) < 0 {
			return false
		}
	}
	asked := inner.UserText()
	return asked == "" || asked == run.UserText()
}
