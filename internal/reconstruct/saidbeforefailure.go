// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import "slices"

// saidBeforeFailure reports a text that is no answer: the model said it beside calls that ran, and the agent around them
// ended with an error then, that of the next model call perhaps.
//
// Needs: an agent that failed, around the last event or the last model call.
// Refuses: a last model call that answers; an agent that recorded the text as its answer.
// Seen in: loops whose framework keeps what the model said last, whatever came of the run.
func saidBeforeFailure(o *outputFacts, was claim) bool {
	said := o.last
	if o.failed {
		said = o.answeredBefore()
	}
	if said == nil || said.response == nil || finalAnswer(said) || was.text != textOf(said.response) && !o.saidBesideCalls(said.agent, was.text) {
		return false
	}
	n := o.failedAround()
	if said != o.last && len(o.last.nodes) > 0 {
		if n = agentAbove(o.last.nodes[0]); n == o.root || n != nil && !failedSpan(n) {
			return false
		}
	}
	return n != nil && isAgent(n) && n.obs.Error != nil && toldBy(n) != was.text
}

// answeredBefore is the latest call of the agent of the last one that has an answer.
func (o *outputFacts) answeredBefore() *call {
	for _, m := range slices.Backward(o.calls.models) {
		if m.agent == o.last.agent && m.response != nil {
			return m
		}
	}
	return nil
}

func (o *outputFacts) saidBesideCalls(agent *call, text string) bool {
	return slices.ContainsFunc(o.calls.models, func(m *call) bool {
		return m.agent == agent && m.response != nil && hasToolCall(m.response) && text == textOf(m.response)
	})
}
