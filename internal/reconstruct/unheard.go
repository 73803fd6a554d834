// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import "slices"

// byUnheard unites the span of a tool that lies alone in its trace with the run that was going on then and may have asked for
// it, where no answer on record asks for it.
//
// Needs: one run of the service and instrumentation of whose last answer before the tool nothing was recorded, and the id that
// a model gave the call; or the only run that was going on, of which nothing below its span was recorded, and no id.
// Refuses: several runs; a span that names a session.
// Seen in: Rig, whose spans are traces of their own without one of the application around them; streams of Agno under Traceloop,
// whose span of the run is no longer the current one when the tools run.
func (s *stitcher) byUnheard() {
	going := goingOn(s.all, func(f *part) reporterKey { return reporterKey{f.service, f.root.scope.name} })
	turns := map[*part][]*turn{} // of runs, in order of their end
	for _, run := range s.runs() {
		turns[run[0]] = turnsOf(run, compareEnds)
	}
	for _, f := range s.all {
		n := s.unasked(f)
		if n == nil {
			continue
		}
		var runs []*part
		around := 0
		for _, g := range going.at(reporterKey{f.service, n.scope.name}, n.start) {
			if !g.spans(f) {
				continue
			}
			around++
			asked := turns[s.find(g)]
			bare := n.obs.CallID == "" && len(asked) == 0 && !holdsCall(g.root)
			if n.obs.CallID != "" && mayHaveAsked(asked, n) || bare && s.otherTrace(g, f) {
				runs = append(runs, g)
			}
		}
		if n.obs.CallID != "" || around == 1 {
			s.propose(f, byTime, runs...)
		}
	}
}

// unasked is the only span of a part where that is the call of a tool alone in its trace, for which no answer on record asks. It
// has no id or one that a model may have given.
func (s *stitcher) unasked(f *part) *node {
	n := f.heads[0]
	if f.root != nil || s.joined(f) || len(f.heads) != 1 || len(f.turns) > 0 || only(f.tools) != n || n.spans == 0 || !n.parent.IsEmpty() || session(n.obs) != "" {
		return nil
	}
	if id := n.obs.CallID; id != "" && (len(id) < minQuoted || len(s.asked().byID[id]) > 0) {
		return nil
	}
	return n
}

// mayHaveAsked reports that the last of these model calls, in order of their end, that had ended when a tool began was answered
// with nobody knows what.
func mayHaveAsked(turns []*turn, n *node) bool {
	i, _ := slices.BinarySearchFunc(turns, n.start+rounding+1, endsAt)
	if i == 0 {
		return false
	}
	m := turns[i-1].n
	unheard := len(m.obs.Response) == 0 && m.obs.ResponseLabel == "" && !m.failed()
	return unheard && (len(m.obs.FinishReasons) == 0 || finishedForTools(m))
}
