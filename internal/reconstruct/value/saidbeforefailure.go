// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// saidBeforeFailure reports a text that is no answer: the model said it beside calls that ran, and the agent
// around them ended with an error then, that of the next model call perhaps.
//
// Needs: an agent that failed, around the last event or the last model call.
// Refuses: a last model call that answers; an agent that recorded the text as its answer.
// Seen in: loops whose framework keeps what the model said last, whatever came of the run.
func saidBeforeFailure(o *outputFacts, was claim) bool {
	said := o.last
	if o.failed {
		said = o.answeredBefore()
	}
	if said == nil || said.Response == nil || ledger.FinalAnswer(said) || was.text != chat.TextOf(said.Response) && !o.saidBesideCalls(said.Agent, was.text) {
		return false
	}
	n := o.failedAround()
	if said != o.last && len(o.last.Nodes) > 0 {
		if n = spantree.AgentAbove(o.last.Nodes[0]); n == o.root || n != nil && !n.Failed() {
			return false
		}
	}
	return n != nil && spantree.IsAgent(n) && n.Obs.Error != nil && toldBy(n) != was.text
}

// answeredBefore is the latest call of the agent of the last one that has an answer.
func (o *outputFacts) answeredBefore() *ledger.Call {
	for _, m := range slices.Backward(o.Calls.Models) {
		if m.Agent == o.last.Agent && m.Response != nil {
			return m
		}
	}
	return nil
}

func (o *outputFacts) saidBesideCalls(agent *ledger.Call, text string) bool {
	return slices.ContainsFunc(o.Calls.Models, func(m *ledger.Call) bool {
		return m.Agent == agent && m.Response != nil && chat.HasToolCall(m.Response) && text == chat.TextOf(m.Response)
	})
}
