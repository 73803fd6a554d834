// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import "testing"

// The span of the model call that asked for the agent goes on until the agent has answered; no span reports the call itself.
func TestAgentThatBeginsBeforeItsModelCallEndsComesAfterTheCall(t *testing.T) {
	ask := asks(call("c1", "billing", `{"q":"why"}`))
	look := asks(call("c2", "look", `{"id":7}`))
	tr := newTrace()
	tr.agent("main", 1, 0, 0, 200)
	tr.chat(2, 1, 1, 100, list(user("q")), list(ask))
	tr.agent("billing", 3, 1, 20, 99)
	tr.chat(4, 3, 21, 40, list(user("why")), list(look))
	tr.chat(5, 3, 50, 90, list(user("why"), look, shows("c2", "found")), list(says("twice")))
	tr.chat(6, 1, 110, 150, list(user("q"), ask, shows("c1", "twice")), list(says("end")))
	wantEvents(t, the(t, tr.runs(t)), "model_call @2", "tool_call billing by 1 = twice (recovered)", "agent_call billing @3 via 2", "model_call @4 in 3",
		"tool_call look by 4 in 3 = found (recovered)", "model_call @5 in 3", "model_call @6")
}

// An agent that was told the conversation with the call in it took over: what it answers is the answer of the run, and the call returned what its request shows.
func TestAgentThatGoesOnWithTheConversationTookOver(t *testing.T) {
	ask := asks(call("c1", "billing", `{"q":"why"}`))
	took := shows("c1", "you are billing")
	tr := newTrace()
	tr.agent("main", 1, 0, 0, 200)
	tr.chat(2, 1, 1, 19, list(user("q")), list(ask))
	tr.agent("billing", 3, 1, 20, 99)
	tr.chat(4, 3, 21, 40, list(user("q"), ask, took), list(says("paid twice")))
	got := the(t, tr.runs(t))
	wantEvents(t, got, "model_call @2", "tool_call billing by 1 = you are billing (recovered)", "agent_call billing @3 via 2", "model_call @4 in 3")
	if got.Output.Text == nil || *got.Output.Text != "paid twice" || got.Run.Status != "ok" {
		t.Errorf("the run ended %s with %v", got.Run.Status, got.Output.Text)
	}
}
