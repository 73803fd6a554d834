// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// byOffers unites tools that lost their trace context, each a trace of its own, with the run in which they ran. The span of a model call that stands for a whole
// loop of calls was open all the time, was offered a tool of this name, and the next call of the model below it began when the tool was over (the stream of a
// chat in Spring AI without propagation of its context). Where that is true of several runs of the service, none is taken.
func (s *stitcher) byOffers() {
	type offer struct{ service, tool string }
	var lone []*fragment
	for _, f := range s.all {
		if s.find(f) == f && isLoneTool(f) {
			lone = append(lone, f)
		}
	}
	if len(lone) == 0 {
		return
	}
	offers := map[offer][]*node{}
	of := map[*node]*fragment{}
	for _, f := range s.all {
		for _, m := range f.modelSpans() {
			if len(m.obs.Offered) == 0 || len(m.kids) == 0 {
				continue
			}
			of[m] = f
			for _, name := range m.obs.Offered {
				k := offer{serviceOf(m.resource).Name, name}
				offers[k] = append(offers[k], m)
			}
		}
	}
	for _, f := range lone {
		tool := f.heads[0]
		around := offers[offer{serviceOf(tool.resource).Name, tool.obs.Name}]
		if len(around) > maxAskings {
			continue
		}
		owners := map[*fragment]bool{}
		for _, m := range around {
			if m.start <= tool.start && tool.end <= m.end && slices.ContainsFunc(m.kids, func(n *node) bool { return n.obs.Class == genai.Model && tool.end <= n.start }) {
				owners[s.find(of[m])] = true
			}
		}
		if owner := only(owners); owner != nil {
			s.unite(owner, f, byOffer)
		}
	}
}

// isLoneTool reports the span of a tool that is all of its trace, with whatever ran below it: an agent that is a tool of the run.
func isLoneTool(f *fragment) bool {
	n := f.heads[0]
	return f.root == nil && len(f.heads) == 1 && len(f.parts) == 0 && n.obs.Class == genai.Tool && n.obs.Name != "" && n.up == nil && n.parent.IsEmpty()
}
