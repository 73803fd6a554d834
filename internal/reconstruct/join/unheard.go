// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// byUnheard unites the span of a tool that lies alone in its trace with the run that was going on then and
// may have asked for it, where no answer on record asks for it.
//
// Needs: one run of the service and instrumentation of whose last answer before the tool nothing was
// recorded, and the id that a model gave the call; or the only run that was going on, of which nothing below
// its span was recorded, and no id.
// Refuses: several runs; a span that names a session.
// Seen in: Rig, whose spans are traces of their own without one of the application around them; streams of
// Agno under Traceloop, whose span of the run is no longer the current one when the tools run.
func (s *stitcher) byUnheard() {
	going := goingOn(s.all, func(f *part) reporterKey { return reporterKey{f.service, f.Root.Scope.Name} })
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
		for _, g := range going.at(reporterKey{f.service, n.Scope.Name}, n.Start) {
			if !g.spans(f) {
				continue
			}
			around++
			asked := turns[s.find(g)]
			bare := n.Obs.CallID == "" && len(asked) == 0 && !spantree.HoldsCall(g.Root)
			if n.Obs.CallID != "" && mayHaveAsked(asked, n) || bare && s.otherTrace(g, f) {
				runs = append(runs, g)
			}
		}
		if n.Obs.CallID != "" || around == 1 {
			s.propose(f, fragment.ByTime, runs...)
		}
	}
}

// unasked is the only span of a part where that is the call of a tool alone in its trace, for which no answer
// on record asks. It has no id or one that a model may have given.
func (s *stitcher) unasked(f *part) *spantree.Node {
	n := f.alone()
	if n == nil || n.Spans == 0 || len(f.turns) > 0 || chat.Only(f.tools) != n || session(n.Obs) != "" || s.joined(f) {
		return nil
	}
	if id := n.Obs.CallID; id != "" && (len(id) < chat.MinQuoted || len(s.asked().byID[id]) > 0) {
		return nil
	}
	return n
}

// mayHaveAsked reports that the last of these model calls, in order of their end, that had ended when a tool
// began was answered with nobody knows what.
func mayHaveAsked(turns []*turn, n *spantree.Node) bool {
	i, _ := slices.BinarySearchFunc(turns, n.Start+spantree.Rounding+1, endsAt)
	if i == 0 {
		return false
	}
	m := turns[i-1].n
	unheard := len(m.Obs.Response) == 0 && m.Obs.ResponseLabel == "" && !m.Failed()
	return unheard && (len(m.Obs.FinishReasons) == 0 || spantree.FinishedForTools(m))
}
