// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// heldBy adds the span of an ADK agent on which another package wrote a model call.
func (tr *trace) heldBy(id, parent, start, end int, request, response string) {
	tr.in("gcp.vertex.agent", "invoke_agent shop", id, parent, start, end, "gen_ai.agent.name", "shop", "gen_ai.operation.name", "generate_content", "gen_ai.request.model", "m1",
		"openinference.span.kind", "LLM", "gen_ai.input.messages", request, "gen_ai.output.messages", response)
}

func TestModelCallsWrittenOnTheSpanOfTheAgentAreCalls(t *testing.T) {
	tr := newTrace()
	tr.heldBy(1, 0, 0, 100, list(user("hi")), list(says("hello")))
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call @1")
	if tp.Output.Text == nil || *tp.Output.Text != "hello" || tp.Input.UserMessage == nil || *tp.Input.UserMessage != "hi" {
		t.Errorf("asked %v, answered %v", tp.Input.UserMessage, tp.Output.Text)
	}

	// each was written over the one before: the last request shows what those were answered. What was said before the user spoke is of another run.
	tr = newTrace()
	tr.heldBy(1, 0, 0, 100, list(user("first"), asks(call("", "f", `{"x":0}`)), shows("", "0"), says("done"), user("and now"), asks(call("", "f", `{"x":1}`), call("", "g", `{}`)), shows("", "one"), shows("", "two")), list(says("both")))
	tr.tool("f", 2, 1, 20, 30, "adk-1", `{"x":1}`, "one")
	tr.tool("g", 3, 1, 21, 40, "adk-2", "", "two")
	tp = the(t, tr.runs(t))
	wantEvents(t, tp, "model_call", "tool_call f @2 by 1 = one", "tool_call g @3 by 1 = two", "model_call @1")
	if n := len(tp.Events[0].Request.Messages); n != 5 || !tp.Fidelity.Replayable.Tools || tp.Events[0].Provenance["response.message"] != tape.Recovered {
		t.Errorf("%d messages, tools %t, %v", n, tp.Fidelity.Replayable.Tools, tp.Events[0].Provenance)
	}
}

func TestAnswerOfTheCallBeforeIsNotThatOfTheLast(t *testing.T) {
	ask := asks(call("", "f", `{"x":1}`))
	build := func(runs int) *tape.Tape {
		tr := newTrace()
		tr.heldBy(1, 0, 0, 100, list(user("go"), ask, shows("", "queued")), list(ask))
		for i := range runs {
			tr.tool("f", 2+i, 1, 10+20*i, 20+20*i, "", `{"x":1}`, "queued")
		}
		return the(t, tr.runs(t))
	}
	tp := build(1) // the last request was never answered
	wantEvents(t, tp, "model_call", "tool_call f @2 by 1 = queued", "model_call @1")
	if tp.Events[2].Response != nil && tp.Events[2].Response.Message != "" {
		t.Errorf("answered %v", tp.Events[2].Response)
	}
	wantEvents(t, build(2), "model_call", "tool_call f @2 by 1 = queued", "model_call @1", "tool_call f @3 by 3 = queued") // it asked once more: the tool ran again
}

// A model call below the agent that is reported on its own, and what was written key by key: rests of other calls may stand among it.
func TestAgentsWithoutAModelCallOfTheirOwnHoldNone(t *testing.T) {
	tr := newTrace()
	tr.heldBy(1, 0, 0, 100, list(user("hi")), list(says("hello")))
	tr.chat(2, 1, 10, 20, list(user("hi")), list(says("hello")))
	wantEvents(t, the(t, tr.runs(t)), "model_call @2")

	tr = newTrace()
	tr.in("gcp.vertex.agent", "invoke_agent shop", 1, 0, 0, 100, "gen_ai.agent.name", "shop", "openinference.span.kind", "LLM", "llm.input_messages.0.message.role", "user",
		"llm.input_messages.0.message.content", "hi", "llm.output_messages.0.message.role", "model", "llm.output_messages.0.message.tool_calls.0.tool_call.function.name", "f")
	tr.tool("g", 2, 1, 10, 20, "", `{"x":1}`, "one")
	wantEvents(t, the(t, tr.runs(t)), "tool_call g @2 = one")
}

// The last call of a run that failed has no answer.
func TestModelCallOnTheSpanOfTheAgentThatFailed(t *testing.T) {
	tr := newTrace()
	tr.in("gcp.vertex.agent", "invoke_agent shop", 1, 0, 0, 100, "gen_ai.agent.name", "shop", "gen_ai.operation.name", "generate_content", "gen_ai.request.model", "m1",
		"gen_ai.input.messages", list(user("hi"))).Status().SetCode(ptrace.StatusCodeError)
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call @1 failed")
	if tp.Events[0].Status != tape.EventError || tp.Run.Status != tape.StatusError || *tp.Input.UserMessage != "hi" {
		t.Errorf("%s, run %s", tp.Events[0].Status, tp.Run.Status)
	}
}
