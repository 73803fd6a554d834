// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// joinRule proposes unions of parts. Where a fact that it needs is not there it would propose none, and is
// not run.
type joinRule struct {
	id    rule.ID
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

// Stitch unites fragments that are one run; in order of time.
func Stitch(run *rule.Run, all []*fragment.Fragment) []*fragment.Fragment {
	if len(all) < 2 {
		return all
	}
	return newStitcher(run, all).join()
}

func newStitcher(run *rule.Run, all []*fragment.Fragment) *stitcher {
	s := &stitcher{run: run}
	for _, f := range all {
		s.all = append(s.all, newPart(f))
	}
	slices.SortStableFunc(s.all, func(a, b *part) int { return spantree.CompareNodes(a.earliest, b.earliest) })
	for i, f := range s.all {
		f.place = i
	}
	s.facts = factsOf(s.all)
	return s
}

func (s *stitcher) join() (out []*fragment.Fragment) {
	for _, r := range joinRules {
		if s.facts&r.needs == r.needs && !s.run.Leaves(r.id) {
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
