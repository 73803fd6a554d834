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
	after []rule.ID // see rule.Rule.After
}

// joinRules run in this order.
var joinRules = []joinRule{
	{"join/relay", relaysPosts, (*stitcher).byRelay, nil},
	{"join/run-id", namesRun, (*stitcher).byRunID, nil},
	{"join/response-id", severalConverse | modelCalls | responseAlone, (*stitcher).byResponse, nil},
	{"join/twin", severalTraces | severalConverse | modelCalls, (*stitcher).byTwin, nil},
	{"join/hollow-twin", severalTraces | severalConverse | hollowCall, (*stitcher).byHollowTwin, nil},
	{"join/conversation", severalConverse, (*stitcher).byConversation, []rule.ID{"join/relay", "join/run-id"}},
	{"join/step", bareStep, (*stitcher).bySteps, nil},
	{"join/shown-call", severalConverse | looseCalls, (*stitcher).byShownCalls, []rule.ID{"join/conversation"}},
	{"join/asked-call", looseTools, (*stitcher).byCalls, []rule.ID{"join/conversation", "join/step"}},
	{"join/link", severalTraces | linksBack, (*stitcher).byLink, nil},
	{"join/repeat", severalTraces | severalConverse | waitsUnseen, (*stitcher).byRepeat, []rule.ID{"join/conversation"}},
	{"join/results", severalTraces | severalConverse | sendsResults, (*stitcher).byResults, nil},
	{"join/answer", mayAnswer, (*stitcher).byAnswer, []rule.ID{"join/asked-call"}},
	{"join/broken-run", severalTraces | converses | bareSpan | hasAgent, (*stitcher).byBrokenRun, nil},
	{"join/failure", severalConverse | callFailed, (*stitcher).byFailure, nil},
	{"join/delegation", severalTraces, (*stitcher).byDelegation, []rule.ID{"join/answer"}},
	{"join/stream", converses | bareSpan, (*stitcher).byStream, []rule.ID{"join/asked-call"}},
	{"join/offer", loneTool | offersTools, (*stitcher).byOffers, nil},
	{"join/tool-twin", severalTraces | toolsAlone, (*stitcher).byToolTwin, []rule.ID{"join/asked-call"}},
	{"join/session", noQuestion, (*stitcher).bySession, []rule.ID{"join/asked-call"}},
	{"join/unheard", loneTool | hasAgent, (*stitcher).byUnheard, []rule.ID{"join/link", "join/session"}},
	{"join/named-model", severalTraces | hollowCall | hasAgent, (*stitcher).byNamedModel, nil},
}

// joinAgain is the second round: tools whose other reports were joined in the first.
var joinAgain = joinRule{"join/tool-twin", severalTraces | toolsAlone, (*stitcher).byToolTwin, nil}

func (r joinRule) place() rule.Place { return rule.Place{ID: r.id, After: r.after} }

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
	for _, r := range slices.Concat(rule.Drawn(s.run.Shuffle, joinRules, joinRule.place), []joinRule{joinAgain}) {
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
