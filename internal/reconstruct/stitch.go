// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import "slices"

// This stage unites the parts of a run. A run is not a trace, and what hangs together in a trace is not always all of a run.
// Command line agents open a trace per step, a provider's SDK opens one per call, and steps lose their parent or their trace
// context. The conversation is the spine of a run: a request that repeats what another part asked and was answered goes on
// with it, a tool call belongs to the part that asked for it, and a new user message begins a new run.

// How parts of a run were found to be one, as the finding says it.
const (
	byRun          = "run id"
	byConversation = "conversation"
	byCall         = "tool calls"
	byTime         = "session and time"
	byContent      = "content"
	byDescription  = "description of the agent"
	byLinks        = "span links"
	byOffer        = "offered tools"
)

// joinRule proposes unions of parts. Where a fact that it needs is not there it would propose none, and is not run.
type joinRule struct {
	id    string
	needs joinFacts
	apply func(*stitcher)
}

// joinRules run in this order.
var joinRules = []joinRule{
	{"join/relay", relaysPosts, (*stitcher).byRelay},
	{"join/run-id", namesRun, (*stitcher).byRunID},
	{"join/response-id", severalConverse | modelCalls | responseAlone, (*stitcher).byResponse},
	{"join/twin", severalTraces | severalConverse | modelCalls, (*stitcher).byTwin},
	{"join/hollow-twin", severalTraces | severalConverse | hollowCall, (*stitcher).byHollowTwin},
	{"join/conversation", severalConverse, (*stitcher).byConversation},
	{"join/step", bareStep, (*stitcher).bySteps},
	{"join/shown-call", severalConverse | looseCalls, (*stitcher).byShownCalls},
	{"join/asked-call", looseTools, (*stitcher).byCalls},
	{"join/link", severalTraces | linksBack, (*stitcher).byLink},
	{"join/repeat", severalTraces | severalConverse | waitsUnseen, (*stitcher).byRepeat},
	{"join/results", severalTraces | severalConverse | sendsResults, (*stitcher).byResults},
	{"join/answer", mayAnswer, (*stitcher).byAnswer},
	{"join/broken-run", severalTraces | converses | bareSpan | hasAgent, (*stitcher).byBrokenRun},
	{"join/failure", severalConverse | callFailed, (*stitcher).byFailure},
	{"join/delegation", severalTraces, (*stitcher).byDelegation},
	{"join/stream", converses | bareSpan, (*stitcher).byStream},
	{"join/offer", loneTool | offersTools, (*stitcher).byOffers},
	{"join/tool-twin", severalTraces | toolsAlone, (*stitcher).byToolTwin},
	{"join/session", noQuestion, (*stitcher).bySession},
	{"join/unheard", loneTool | hasAgent, (*stitcher).byUnheard},
	{"join/named-model", severalTraces | hollowCall | hasAgent, (*stitcher).byNamedModel},
	{"join/tool-twin", severalTraces | toolsAlone, (*stitcher).byToolTwin}, // again: of tools whose other reports were joined since
}

// stitch unites fragments that are one run; in order of time.
func stitch(all []*fragment) []*fragment {
	if len(all) < 2 {
		return all
	}
	return newStitcher(all).join()
}

func newStitcher(all []*fragment) *stitcher {
	s := &stitcher{}
	for _, f := range all {
		s.all = append(s.all, newPart(f))
	}
	slices.SortStableFunc(s.all, func(a, b *part) int { return compareNodes(a.earliest, b.earliest) })
	for i, f := range s.all {
		f.place = i
	}
	s.facts = factsOf(s.all)
	return s
}

func (s *stitcher) join() (out []*fragment) {
	for _, r := range joinRules {
		if s.facts&r.needs == r.needs {
			s.rule = r.id
			r.apply(s)
		}
	}
	if s.facts&severalTraces != 0 {
		s.clocks()
	}
	for _, run := range s.runs() {
		out = append(out, united(run))
	}
	return out
}
