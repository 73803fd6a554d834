// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// byLink unites a step in a trace of its own with the part whose call its first span links to. A link says no
// more than that two things belong together, so what follows a link may be another run, as that of a job that
// a tool put into a queue.
//
// Needs: a span link to a call of another trace, after which the run was not over.
// Refuses: a part with a run span; a request that asks something else; another service.
// Seen in: programs that give every step a trace and link it to the step before.
func (s *stitcher) byLink() {
	calls := map[spantree.SpanKey]*spantree.Node{}
	of := map[*spantree.Node]*part{}
	for _, f := range s.all {
		for _, list := range [][]*spantree.Node{f.models, f.tools} {
			for _, n := range list {
				calls[spantree.SpanKeyOf(n)], of[n] = n, f
			}
		}
	}
	for _, f := range s.all {
		if f.OwnRun() || f.earliest.Spans == 0 {
			continue
		}
		for key := range spantree.Linked(f.earliest) {
			n := calls[key]
			if n == nil || !unfinished(n, f) || !s.otherTrace(of[n], f) || !s.sameService(of[n], f) || !s.asksAlike(of[n], f) {
				continue
			}
			if s.propose(f, fragment.ByLinks, of[n]) {
				break
			}
		}
	}
}

// unfinished reports a call after which its run was not over: also one whose answer was not recorded where
// tools alone followed it.
func unfinished(n *spantree.Node, next *part) bool {
	return n.Obs.Class == genai.Tool || len(n.Obs.Response) == 0 && len(next.models) == 0 && len(next.tools) > 0 || len(n.Asks()) > 0
}

// asksAlike reports that no model call of f was asked something else than the run of g was.
func (s *stitcher) asksAlike(g, f *part) bool {
	asked := map[string]bool{"": true}
	for _, t := range s.find(g).turns {
		asked[chat.LastUserText(t.n.Obs.Request)] = true
	}
	for _, t := range f.turns {
		if !asked[chat.LastUserText(t.n.Obs.Request)] {
			return false
		}
	}
	return true
}
