// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/tape"
)

// reporterOfRuns is one instrumentation of one service.
type reporterOfRuns struct{ service, scope string }

// byUnheard unites the span of a tool that lies alone in its trace with the one run of its service, and of its instrumentation, that was going on then and whose last model call may
// have asked for it: nothing of the answer was recorded. The id of the call says that a model asked for it, and no answer on record does. Where two runs were going on, whose it is, is
// not known (Rig, whose spans are traces of their own where no span of an application stands above them). Where nothing below the one run that was going on was recorded, the call needs no
// id (Agno's streams under Traceloop, whose span of the run is no longer the current one when the tools run).
func (s *stitcher) byUnheard() {
	groups := map[*fragment][]*turn{}
	runs := map[reporterOfRuns][]*fragment{}
	for _, f := range s.all {
		groups[s.find(f)] = append(groups[s.find(f)], s.turns[f]...)
		if f.ownRun() {
			k := reporterOfRuns{serviceOf(f.first().resource).Name, f.root.scope.name}
			runs[k] = append(runs[k], f)
		}
	}
	for _, turns := range groups {
		slices.SortStableFunc(turns, func(a, b *turn) int { return cmp.Or(cmp.Compare(a.n.end, b.n.end), compareNodes(a.n, b.n)) })
	}
	next, open := map[reporterOfRuns]int{}, map[reporterOfRuns][]*fragment{} // the runs are in order of their start
	for _, f := range s.all {
		n := s.unasked(f)
		if n == nil {
			continue
		}
		k := reporterOfRuns{serviceOf(n.resource).Name, n.scope.name}
		for ; next[k] < len(runs[k]) && runs[k][next[k]].first().start <= n.start; next[k]++ {
			open[k] = append(open[k], runs[k][next[k]])
		}
		open[k] = slices.DeleteFunc(open[k], func(g *fragment) bool { _, end := g.interval(); return end < n.start })
		owners, going := map[*fragment]bool{}, 0
		for _, g := range open[k] {
			if !g.spans(f) {
				continue
			}
			going++
			if asked := groups[s.find(g)]; len(n.obs.CallID) >= minQuoted && mayHaveAsked(asked, n) || n.obs.CallID == "" && len(asked) == 0 && !holdsCall(g.root) && !s.sameTrace(g, f) {
				owners[s.find(g)] = true
			}
		}
		if owner := only(owners); owner != nil && (n.obs.CallID != "" || going == 1) {
			s.unite(owner, f, byTime)
		}
	}
}

// unasked is the only span of a part that is the call of a tool alone in its trace, which has no id or the one that a model gave it, and for which no answer on record asks; else nil.
func (s *stitcher) unasked(f *fragment) *node {
	if f.root != nil || s.joined(f) || len(f.heads) != 1 || len(s.turns[f]) > 0 {
		return nil
	}
	n := f.heads[0]
	if tools := f.tools(); len(tools) != 1 || tools[0] != n || n.spans == 0 || !n.parent.IsEmpty() || n.obs.CallID != "" && (len(n.obs.CallID) < minQuoted || len(s.calls.byID[n.obs.CallID]) > 0) || session(n.obs) != "" {
		return nil
	}
	return n
}

// mayHaveAsked reports that the last of these model calls, in order of their end, that had ended when a tool began was answered with nobody knows what.
func mayHaveAsked(turns []*turn, n *node) bool {
	i, _ := slices.BinarySearchFunc(turns, n.start+rounding+1, func(t *turn, at uint64) int { return cmp.Compare(t.n.end, at) })
	if i == 0 {
		return false
	}
	o := turns[i-1].n.obs
	unheard := len(o.Response) == 0 && o.ResponseLabel == "" && !turns[i-1].failed()
	return unheard && (len(o.FinishReasons) == 0 || slices.ContainsFunc(o.FinishReasons, tape.AsksForTools))
}

// byNamedModel unites a model call without any content, alone in its trace, with the one run of its service that was going on then, where the run names the model, and no model call of it
// is on record: the client of the provider writes spans of its own, below none of the run's (Anthropic's SDK in streams of Agno under Traceloop).
func (s *stitcher) byNamedModel() {
	runs, next, open := map[string][]*fragment{}, map[string]int{}, map[string][]*fragment{} // in order of their start
	for _, f := range s.all {
		if f.ownRun() {
			k := serviceOf(f.first().resource).Name
			runs[k] = append(runs[k], f)
		}
	}
	for _, f := range s.all {
		n := s.contentless(f)
		if n == nil {
			continue
		}
		k := serviceOf(n.resource).Name
		for ; next[k] < len(runs[k]) && runs[k][next[k]].first().start <= n.start; next[k]++ {
			open[k] = append(open[k], runs[k][next[k]])
		}
		open[k] = slices.DeleteFunc(open[k], func(g *fragment) bool { _, end := g.interval(); return end < n.start })
		if len(open[k]) != 1 {
			continue
		}
		if g := open[k][0]; g.spans(f) && !s.sameTrace(g, f) && g.root.obs.Model == n.obs.Model && len(g.modelSpans()) == 0 {
			s.unite(s.find(g), f, byTime)
		}
	}
}

// contentless is the only span of a part that is a model call alone in its trace which tells no more than the model that was asked, else nil.
func (s *stitcher) contentless(f *fragment) *node {
	if f.root != nil || s.joined(f) || len(f.heads) != 1 || len(s.turns[f]) != 1 || len(f.tools()) > 0 {
		return nil
	}
	t := s.turns[f][0]
	if n := t.n; n == f.heads[0] && n.spans > 0 && n.parent.IsEmpty() && n.obs.Model != "" && len(t.sent) == 0 && len(n.obs.Response) == 0 && n.reports == nil && session(n.obs) == "" {
		return n
	}
	return nil
}
