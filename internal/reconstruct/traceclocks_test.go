// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import "testing"

// wantBehind derives a run whose second trace has a clock that is two seconds behind.
func wantBehind(t *testing.T, first, second *trace, want ...string) {
	t.Helper()
	tp := the(t, all(t, first.numbered(1), second.numbered(2).moved(-2000)))
	wantEvents(t, tp, want...)
	wantCodes(t, tp, "joined", "clock_skew")
	if tp.Output.Text == nil || *tp.Output.Text != "The end of it." {
		t.Errorf("answered %v", tp.Output.Text)
	}
}

// No response was recorded with its calls, the request after it shows them, and the span of the run never came.
func TestCallThatOnlyTheConversationAskedForTellsThatAClockIsBehind(t *testing.T) {
	for _, id := range []string{"", "call_0001"} {
		ask := asks(call("call_0001", "find", `{"n":1}`))
		first, second := newTrace(), newTrace()
		first.chat(2, 91, 1, 10, list(user("q")), "")
		first.chat(4, 91, 31, 40, list(user("q"), ask, shows("call_0001", "r")), list(says("The end of it.")))
		second.tool("find", 3, 0, 11, 12, id, `{"n":1}`, "r")
		wantBehind(t, first, second, "model_call @2", "tool_call find @3 by 1 = r", "model_call @4")
	}
}

// Of a hand-off the answer was recorded without its call; the agent that took over repeats its text and shows the call.
func TestTextThatAnotherAgentRepeatsTellsThatAClockIsBehind(t *testing.T) {
	const text = "Handing over to billing."
	handed := `{"role":"assistant","parts":[{"type":"text","content":"` + text + `"},` + call("call_0001", "transfer_to_billing", `{}`) + `]}`
	first, second := newTrace(), newTrace()
	first.agent("triage", 1, 0, 0, 20)
	first.chat(2, 1, 1, 10, list(user("q")), list(says(text)))
	second.agent("billing", 3, 0, 30, 80)
	second.chat(4, 3, 31, 40, list(user("q"), handed, shows("call_0001", "{}")), list(says("The end of it.")))
	tp := the(t, all(t, first.numbered(1), second.numbered(2).moved(-2000)))
	wantCodes(t, tp, "joined", "clock_skew")
	if tp.Run.RootSpanID != spanID(1).String() || tp.Output.Text == nil || *tp.Output.Text != "The end of it." {
		t.Errorf("events %v, root %s, answered %v", events(tp), tp.Run.RootSpanID, tp.Output.Text)
	}

	// a short text comes about by chance
	first, second = newTrace(), newTrace()
	first.agent("triage", 1, 0, 0, 20)
	first.chat(2, 1, 1, 10, list(user("q")), list(says("Yes.")))
	second.agent("billing", 3, 0, 30, 80)
	second.chat(4, 3, 31, 40, list(user("q"), `{"role":"assistant","parts":[{"type":"text","content":"Yes."},`+call("call_0001", "transfer_to_billing", `{}`)+`]}`, shows("call_0001", "{}")), list(says("The end of it.")))
	if tapes := all(t, first.numbered(1), second.numbered(2).moved(-2000)); len(tapes) != 2 {
		t.Errorf("%d runs, want 2", len(tapes))
	}
}

// A model call without a request names the session of a run that waits for what the model makes of a tool.
func TestCallOfASessionThatSeemsToBeginBeforeItsOnlyRunGoesOnWithIt(t *testing.T) {
	build := func(reason string) (first, second *trace) {
		first, second = newTrace(), newTrace()
		first.agent("clerk", 1, 0, 0, 100, "gen_ai.conversation.id", "s1")
		first.chat(2, 1, 1, 10, list(user("q")), list(asks(call("call_0001", "find", `{"n":1}`))), "gen_ai.conversation.id", "s1", "gen_ai.response.finish_reasons", reason)
		first.tool("find", 3, 1, 11, 12, "call_0001", `{"n":1}`, "r")
		second.chat(4, 0, 31, 40, "", list(says("The end of it.")), "gen_ai.conversation.id", "s1")
		return first, second
	}
	first, second := build("tool_calls")
	wantBehind(t, first, second, "model_call @2", "tool_call find @3 by 1 = r", "model_call @4")

	first, second = build("tool_calls")
	other := newTrace() // two runs of the session: which one goes on is not known
	other.agent("clerk", 5, 0, 0, 100, "gen_ai.conversation.id", "s1")
	other.chat(6, 5, 1, 10, list(user("another")), list(asks(call("call_0002", "find", `{"n":2}`))), "gen_ai.conversation.id", "s1")
	if tapes := all(t, first.numbered(1), second.numbered(2).moved(-2000), other.numbered(3)); len(tapes) != 3 {
		t.Errorf("%d runs, want 3", len(tapes))
	}
}

// A nested agent lost its parent, and its trace is behind. A tool of the run returned its answer.
func TestNestedAgentWhoseClockIsBehindIsFoundByItsAnswer(t *testing.T) {
	ask := asks(call("call_0001", "billing", `{"q":"why"}`))
	look := asks(call("call_0002", "look", `{"n":1}`))
	first, second := newTrace(), newTrace()
	first.agent("clerk", 1, 0, 0, 200)
	first.chat(2, 1, 1, 10, list(user("q")), list(ask))
	first.tool("billing", 3, 1, 11, 80, "call_0001", `{"q":"why"}`, "Twice on the same day.")
	second.chat(4, 93, 20, 30, list(user("why")), list(look))
	second.chat(5, 93, 40, 60, list(user("why"), look, shows("call_0002", "found")), list(says("Twice on the same day.")))
	second.chat(6, 0, 90, 99, list(user("q"), ask, shows("call_0001", "Twice on the same day.")), list(says("The end of it.")))
	tp := the(t, all(t, first.numbered(1), second.numbered(2).moved(-2000)))
	if tp.Usage.ModelCalls != 4 || tp.Output.Text == nil || *tp.Output.Text != "The end of it." {
		t.Errorf("events %v, answered %v", events(tp), tp.Output.Text)
	}
}

// The second trace holds the span of the run and its tools under the name of a class, the first one the model calls.
func TestCallsWithTheirIDsArePairedWhateverTheClocksSay(t *testing.T) {
	ask := asks(call("call_0001", "find", `{"n":1}`), call("call_0002", "find", `{"n":2}`))
	first, second := newTrace(), newTrace()
	first.chat(2, 91, 1, 10, list(user("q")), "")
	second.tool("RunnableTool", 3, 92, 11, 15, "call_0001", `{"n":1}`, "r")
	second.tool("RunnableTool", 4, 92, 12, 14, "call_0002", `{"n":2}`, "s")
	second.chat(5, 92, 31, 40, list(user("q"), ask, shows("call_0001", "r"), shows("call_0002", "s")), list(says("The end of it.")))
	wantBehind(t, first, second, "model_call @2", "tool_call find @3 by 1 = r", "tool_call find @4 by 1 = s", "model_call @5")
}

// How far a clock is behind is known at least, not at most: two equal calls on two clocks may have run in either order, and are asked for in that of the
// response.
func TestEqualCallsOnTwoClocksStandInTheOrderOfTheAnswer(t *testing.T) {
	ask := asks(call("call_0001", "dice", `{"sides":6}`), call("call_0002", "dice", `{"sides":6}`))
	first, second := newTrace(), newTrace()
	first.chat(2, 91, 1, 10, list(user("q")), list(ask))
	first.tool("dice", 3, 91, 15, 16, "call_0001", `{"sides":6}`, "3")
	second.tool("dice", 4, 0, 16, 17, "call_0002", `{"sides":6}`, "5")
	second.chat(5, 0, 31, 40, list(user("q"), ask, shows("call_0001", "3"), shows("call_0002", "5")), list(says("The end of it.")))
	wantBehind(t, first, second, "model_call @2", "tool_call dice @3 by 1 = 3", "tool_call dice @4 by 1 = 5", "model_call @5")
}
