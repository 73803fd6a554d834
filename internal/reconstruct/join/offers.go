// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// byOffers unites tools that lost their trace context, each a trace of its own, with the run in which they
// ran.
//
// Needs: the span of a model call of the service that stands for a loop of calls, was open all the time and
// was offered a tool of this name; the next model call below it began when the tool was over.
// Refuses: several runs of which that is true.
// Seen in: streams of Spring AI without propagation of the context.
func (s *stitcher) byOffers() {
	type offer struct{ service, tool string }
	type loop struct {
		f *part
		n *spantree.Node
	}
	var lone []*part
	offers := map[offer][]loop{}
	for _, f := range s.all {
		if f.above == nil && isLoneTool(f) {
			lone = append(lone, f)
		}
		for _, m := range f.models {
			if len(m.Kids) == 0 {
				continue
			}
			for _, name := range m.Obs.Offered {
				k := offer{serviceName(m), name}
				offers[k] = append(offers[k], loop{f, m})
			}
		}
	}
	for _, f := range lone {
		tool := f.Heads[0]
		around := offers[offer{serviceName(tool), tool.Obs.Name}]
		if len(around) > maxAskings {
			continue
		}
		var runs []*part
		for _, l := range around {
			goesOn := func(n *spantree.Node) bool { return n.Obs.Class == genai.Model && tool.End <= n.Start }
			if tool.Within(l.n) && slices.ContainsFunc(l.n.Kids, goesOn) {
				runs = append(runs, l.f)
			}
		}
		s.propose(f, fragment.ByOffer, runs...)
	}
}

// isLoneTool reports the span of a tool that is all of its trace, with whatever ran below it: an agent that
// is a tool of the run.
func isLoneTool(f *part) bool {
	n := f.alone()
	return n != nil && n.Up == nil && n.Obs.Class == genai.Tool && n.Obs.Name != "" && len(f.Parts) == 0
}
