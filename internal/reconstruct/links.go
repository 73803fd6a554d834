// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// maxLinks bounds how many links of a span are followed.
const maxLinks = 16

type spanKey struct {
	trace pcommon.TraceID
	span  pcommon.SpanID
}

// byLink unites a step in a trace of its own with the part whose call its first span links to, where that call was not the end of a run: a tool ran, or the
// answer asked for one. Programs that give every step a trace link it to the step before. A link says no more than that two things belong together: so a part
// with a run span is a run, and a model call that was asked something else than the run of the link begins another one, as that of a job that a tool put
// into a queue.
func (s *stitcher) byLink() {
	calls := map[spanKey]*node{}
	of := map[*node]*fragment{}
	for _, f := range s.all {
		for _, n := range append(f.modelSpans(), f.tools()...) {
			calls[spanKey{n.span.TraceID(), n.id}], of[n] = n, f
		}
	}
	for _, f := range s.all {
		if f.ownRun() || f.first().spans == 0 {
			continue
		}
		links := f.first().span.Links()
		for i := range min(links.Len(), maxLinks) {
			before := calls[spanKey{links.At(i).TraceID(), links.At(i).SpanID()}]
			if before == nil || s.sameTrace(of[before], f) || !sameService(of[before], f) || !unfinished(before, f) || !s.asksAlike(of[before], f) {
				continue
			}
			s.unite(of[before], f, byLinks)
			break
		}
	}
}

// unfinished reports a call after which its run was not over: also one whose answer was not recorded, when tools alone followed it.
func unfinished(n *node, next *fragment) bool {
	return n.obs.Class == genai.Tool || len(n.obs.Response) == 0 && len(next.modelSpans()) == 0 && len(next.tools()) > 0 || len(n.obs.Response) > 0 && len(callsOf(n.obs.Response[0].Parts)) > 0
}

// asksAlike reports that no model call of f was asked something else than the run of g was.
func (s *stitcher) asksAlike(g, f *fragment) bool {
	for _, t := range s.turns[f] {
		asked := lastUserText(t.n.obs.Request)
		if asked == "" {
			continue
		}
		known := false
		for _, other := range s.turns[s.find(g)] {
			known = known || lastUserText(other.n.obs.Request) == asked
		}
		if !known {
			return false
		}
	}
	return true
}
