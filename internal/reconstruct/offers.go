// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// byOffers unites tools that lost their trace context, each a trace of its own, with the run in which they ran.
//
// Needs: the span of a model call of the service that stands for a loop of calls, was open all the time and was offered a tool
// of this name; the next model call below it began when the tool was over.
// Refuses: several runs of which that is true.
// Seen in: streams of Spring AI without propagation of the context.
func (s *stitcher) byOffers() {
	type offer struct{ service, tool string }
	type loop struct {
		f *part
		n *node
	}
	var lone []*part
	for _, f := range s.all {
		if f.above == nil && isLoneTool(f) {
			lone = append(lone, f)
		}
	}
	if len(lone) == 0 {
		return
	}
	offers := map[offer][]loop{}
	for _, f := range s.all {
		for _, m := range f.models {
			if len(m.kids) == 0 {
				continue
			}
			for _, name := range m.obs.Offered {
				k := offer{serviceName(m), name}
				offers[k] = append(offers[k], loop{f, m})
			}
		}
	}
	for _, f := range lone {
		tool := f.heads[0]
		around := offers[offer{serviceName(tool), tool.obs.Name}]
		if len(around) > maxAskings {
			continue
		}
		var runs []*part
		for _, l := range around {
			if tool.within(l.n) && slices.ContainsFunc(l.n.kids, func(n *node) bool { return n.obs.Class == genai.Model && tool.end <= n.start }) {
				runs = append(runs, l.f)
			}
		}
		s.propose(f, byOffer, runs...)
	}
}

// isLoneTool reports the span of a tool that is all of its trace, with whatever ran below it: an agent that is a tool of the run.
func isLoneTool(f *part) bool {
	n := f.heads[0]
	return f.root == nil && len(f.heads) == 1 && len(f.parts) == 0 && n.obs.Class == genai.Tool && n.obs.Name != "" && n.up == nil && n.parent.IsEmpty()
}
