// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"iter"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// maxLinks bounds how many links of a span are followed.
const maxLinks = 16

type spanKey struct {
	trace pcommon.TraceID
	span  pcommon.SpanID
}

func spanKeyOf(n *node) spanKey { return spanKey{n.span.TraceID(), n.id} }

// linked are the spans that a span links to.
func linked(n *node) iter.Seq[spanKey] {
	return func(yield func(spanKey) bool) {
		links := n.span.Links()
		for i := range min(links.Len(), maxLinks) {
			if !yield(spanKey{links.At(i).TraceID(), links.At(i).SpanID()}) {
				return
			}
		}
	}
}

// byLink unites a step in a trace of its own with the part whose call its first span links to. A link says no more than
// that two things belong together, so what follows a link may be another run, as that of a job that a tool put into a queue.
//
// Needs: a span link to a call of another trace, after which the run was not over.
// Refuses: a part with a run span; a request that asks something else; another service.
// Seen in: programs that give every step a trace and link it to the step before.
func (s *stitcher) byLink() {
	calls := map[spanKey]*node{}
	of := map[*node]*part{}
	for _, f := range s.all {
		for _, list := range [][]*node{f.models, f.tools} {
			for _, n := range list {
				calls[spanKeyOf(n)], of[n] = n, f
			}
		}
	}
	for _, f := range s.all {
		if f.ownRun() || f.earliest.spans == 0 {
			continue
		}
		for key := range linked(f.earliest) {
			n := calls[key]
			if n != nil && unfinished(n, f) && s.otherTrace(of[n], f) && s.sameService(of[n], f) && s.asksAlike(of[n], f) && s.propose(f, byLinks, of[n]) {
				break
			}
		}
	}
}

// unfinished reports a call after which its run was not over: also one whose answer was not recorded where tools alone
// followed it.
func unfinished(n *node, next *part) bool {
	return n.obs.Class == genai.Tool || len(n.obs.Response) == 0 && len(next.models) == 0 && len(next.tools) > 0 || len(n.asks()) > 0
}

// asksAlike reports that no model call of f was asked something else than the run of g was.
func (s *stitcher) asksAlike(g, f *part) bool {
	asked := map[string]bool{"": true}
	for _, t := range s.find(g).turns {
		asked[lastUserText(t.n.obs.Request)] = true
	}
	for _, t := range f.turns {
		if !asked[lastUserText(t.n.obs.Request)] {
			return false
		}
	}
	return true
}
