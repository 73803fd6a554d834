// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// joinFacts are conditions without which rules of this stage find nothing, as a set of bits over all parts.
type joinFacts uint32

const (
	severalTraces   joinFacts = 1 << iota // parts lie in several traces
	converses                             // a part holds a model call
	severalConverse                       // two parts do
	mayAnswer                             // a part holds a model call, and another one may tell its answer
	modelCalls                            // a part holds model calls, no tool call and no agent
	looseCalls                            // a part holds model calls and no agent
	hollowCall                            // a part is a model call that holds no message
	callFailed                            // a part is a model call that failed
	responseAlone                         // a model call tells the id of its response and no message
	waitsUnseen                           // an answer may have asked for tools unseen, or a request repeats that of a failed step
	sendsResults                          // a request holds nothing but results
	bareSpan                              // a part has a span of its own and holds no call
	bareStep                              // that is a step of a graph
	toolsAlone                            // a part holds tool calls and no model call
	looseTools                            // a part holds tool calls and no agent
	loneTool                              // a part is a tool call
	offersTools                           // a model call with others below it was offered tools
	hasAgent                              // a part has the span of an agent
	noQuestion                            // a part holds no question of a user, or nothing else
	linksBack                             // the first span of a part links to others
	relaysPosts                           // agents send each other messages
	namesRun                              // a span names the id of its run
)

// factsOf reads the facts in one walk: those of spans were taken when the parts were read.
func factsOf(all []*part) (has joinFacts) {
	set := func(fact joinFacts, holds bool) {
		if holds {
			has |= fact
		}
	}
	entered := map[*spantree.Node]bool{}
	for _, f := range all {
		set(f.facts, true)
		loose, calls := !f.OwnRun(), len(f.turns) > 0
		set(severalConverse, has&converses != 0 && calls)
		set(converses, calls)
		set(hasAgent, !loose)
		set(modelCalls, f.onlyModelCalls())
		set(looseCalls, loose && calls)
		set(bareSpan, f.Root != nil && f.noCalls())
		set(bareStep, isStep(f))
		set(toolsAlone, len(f.tools) > 0 && len(f.models) == 0)
		set(looseTools, len(f.tools) > 0 && loose)
		set(loneTool, f.Root == nil && len(f.Heads) == 1 && f.Heads[0] == chat.Only(f.tools))
		set(linksBack, f.earliest.Spans > 0 && f.earliest.Span.Links().Len() > 0)
		set(noQuestion, f.prompt() != "" || loose && f.userText() == "")
		for _, t := range f.turns {
			asks, says := len(t.n.Obs.Request) > 0, len(t.n.Obs.Response) > 0
			set(responseAlone, !asks && !says && t.n.Obs.ResponseID != "")
			set(hollowCall, len(t.sent) == 0 && !says && f.onlyModelCall())
			set(callFailed, t.n.Failed() && f.onlyModelCall())
			set(waitsUnseen, loose && (t.unsaid() || t.retries()))
			set(sendsResults, loose && len(resultsAlone(t)) > 0)
		}
		for _, trace := range f.Traces {
			set(severalTraces, trace != all[0].Traces[0])
		}
		for _, n := range f.Entry {
			if !entered[n] {
				entered[n] = true
				spantree.Walk(n, func(n *spantree.Node) bool {
					set(namesRun, n.Obs.InvocationID != "")
					return true
				})
			}
		}
	}
	set(mayAnswer, has&severalConverse != 0 || has&converses != 0 && has&bareSpan != 0)
	return has
}
