// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
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
	waitsUnseen                           // an answer may have asked for tools, or a request repeats a failed step
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

// when is a fact where it holds.
func when(holds bool, fact joinFacts) joinFacts {
	if holds {
		return fact
	}
	return 0
}

// factsOf reads the facts of all parts, those of their spans apart: newPart took these.
func factsOf(all []*part) (has joinFacts) {
	entered := map[*spantree.Node]bool{}
	for _, f := range all {
		again := when(has&converses != 0 && len(f.turns) > 0, severalConverse)
		elsewhere := slices.ContainsFunc(f.Traces, func(trace string) bool { return trace != all[0].Traces[0] })
		has |= f.facts | f.shape() | again | when(elsewhere, severalTraces)
		for _, t := range f.turns {
			has |= t.shape()
		}
		for _, n := range f.Entry {
			if !entered[n] {
				entered[n] = true
				spantree.Walk(n, func(n *spantree.Node) bool {
					has |= when(n.Obs.InvocationID != "", namesRun)
					return true
				})
			}
		}
	}
	return has | when(has&severalConverse != 0 || has&converses != 0 && has&bareSpan != 0, mayAnswer)
}

func spanFacts(n *spantree.Node) joinFacts {
	return when(n.Obs.Relay || n.Up != nil && n.Up.Obs.Relay, relaysPosts) |
		when(n.Obs.InvocationID != "", namesRun) |
		when(n.Obs.Class == genai.Model && len(n.Kids) > 0 && len(n.Obs.Offered) > 0, offersTools)
}

func (p *part) shape() joinFacts {
	loose, calls, tool := !p.OwnRun(), len(p.turns) > 0, p.alone()
	return when(calls, converses) |
		when(calls && loose, looseCalls) |
		when(p.onlyModelCalls(), modelCalls) |
		when(!loose, hasAgent) |
		when(p.Root != nil && p.noCalls(), bareSpan) |
		when(isStep(p), bareStep) |
		when(len(p.tools) > 0 && len(p.models) == 0, toolsAlone) |
		when(len(p.tools) > 0 && loose, looseTools) |
		when(tool != nil && tool == chat.Only(p.tools), loneTool) |
		when(p.earliest.Spans > 0 && p.earliest.Span.Links().Len() > 0, linksBack) |
		when(p.prompt() != "" || loose && p.userText() == "", noQuestion)
}

func (t *turn) shape() joinFacts {
	says, alone, loose := len(t.n.Obs.Response) > 0, t.f.onlyModelCall(), !t.f.OwnRun()
	return when(len(t.n.Obs.Request) == 0 && !says && t.n.Obs.ResponseID != "", responseAlone) |
		when(alone && len(t.sent) == 0 && !says, hollowCall) |
		when(alone && t.n.Failed(), callFailed) |
		when(loose && (t.unsaid() || t.retries()), waitsUnseen) |
		when(loose && len(resultsAlone(t)) > 0, sendsResults)
}
