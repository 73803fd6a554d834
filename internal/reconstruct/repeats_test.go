// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// A package and the client that it is built on are instrumented both, and neither makes its span the current one (LiteLLM under Langtrace).
func TestRequestThatIsToldAgainInTheTimeOfACallIsNoOther(t *testing.T) {
	question := list(user("hi"))
	for name, c := range map[string]struct {
		scope, model, request string
		start, end            int
		calls                 int
	}{
		"inside":           {"client", "m1", question, 2, 9, 1},
		"the same scope":   {"test", "m1", question, 2, 9, 2},
		"another model":    {"client", "m2", question, 2, 9, 2},
		"another question": {"client", "m1", list(user("ho")), 2, 9, 2},
		"more messages":    {"client", "m1", list(user("ha"), user("hi")), 2, 9, 2},
		"longer":           {"client", "m1", question, 2, 11, 2},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.in("app", "handle", 1, 0, 0, 100)
			tr.chat(2, 1, 1, 10, question, list(says("ho")))
			tr.in(c.scope, "post", 3, 1, c.start, c.end, "gen_ai.operation.name", "chat", "gen_ai.request.model", c.model, "gen_ai.input.messages", c.request)
			if n := modelCalls(tr.runs(t)); n != c.calls {
				t.Errorf("%d model calls, want %d", n, c.calls)
			}
		})
	}
}

func TestEachCallHasOneThatTellsItsRequestAgain(t *testing.T) {
	tr := newTrace()
	tr.in("app", "handle", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("hi")), list(says("ho")))
	for id := 3; id < 5; id++ {
		tr.in("client", "post", id, 1, id, 9, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1", "gen_ai.input.messages", list(user("hi")))
	}
	if n := modelCalls(tr.runs(t)); n != 2 {
		t.Errorf("%d model calls, want 2", n)
	}
}

func modelCalls(tapes []*tape.Tape) (n int) {
	for _, tp := range tapes {
		for _, e := range tp.Events {
			if e.Type == tape.EventModelCall {
				n++
			}
		}
	}
	return n
}

// Agents that speak to each other lie in each other (AG2): the spans around several calls, and those around such spans, are none of them.
func TestSpanAroundOneThatStandsForSeveralCallsIsNoCall(t *testing.T) {
	tr := newTrace()
	tr.in("test", "outer", 1, 0, 0, 100, "gen_ai.operation.name", "chat")
	tr.in("test", "middle", 2, 1, 1, 99, "gen_ai.operation.name", "chat")
	ask := asks(call("c1", "f", `{"x":1}`))
	tr.chat(3, 2, 2, 10, list(user("q")), list(ask))
	tr.chat(4, 2, 20, 30, list(user("q"), ask, shows("c1", "one")), list(says("end")))
	got := the(t, tr.runs(t))
	if got.Usage.ModelCalls != 2 || got.Usage.ToolCalls != 1 || got.Run.Status != tape.StatusOK {
		t.Errorf("%d model calls and %d tool calls, %s", got.Usage.ModelCalls, got.Usage.ToolCalls, got.Run.Status)
	}
}

// Langtrace records the text of an answer without its calls, and resends the calls without the text.
func TestCallsThatAreResentWithoutTheTextBelongToTheAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		id    string
		calls int
	}{"answered": {"c1", 1}, "of another id": {"c9", 0}} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.in("app", "handle", 1, 0, 0, 100)
			tr.chat(2, 1, 1, 10, list(user("q")), list(says("I look.")))
			tr.chat(3, 1, 20, 30, list(user("q"), asks(call("c1", "f", `{"x":1}`)), shows(c.id, "one")), list(says("end")))
			got := the(t, tr.runs(t))
			if got.Usage.ToolCalls != c.calls {
				t.Errorf("%d tool calls, want %d", got.Usage.ToolCalls, c.calls)
			}
			if got.Fidelity.Replayable.Tools != (c.calls > 0) {
				t.Errorf("the tools are replayable: %v", got.Fidelity.Replayable.Tools)
			}
		})
	}
}

func TestInstructionsThatGooglesAPITakesApartMayBeMissing(t *testing.T) {
	for provider, want := range map[string]bool{"google": true, "aws.bedrock": true, "openai": false} {
		tr := newTrace()
		tr.chat(2, 1, 1, 10, list(user("q")), list(says("end")), "gen_ai.provider.name", provider)
		found := false
		for _, f := range the(t, tr.runs(t)).Fidelity.Findings {
			found = found || f.Field == "input.system_prompt"
		}
		if found != want {
			t.Errorf("%s: said %v, want %v", provider, found, want)
		}
	}
}

// MLflow records of smolagents the tools alone, by their classes; the last of them is the one that the agent answers with.
func TestCallByWhichAnAgentAnswersIsNoTool(t *testing.T) {
	for name, c := range map[string]struct {
		tool, args, result string
		calls              int
	}{
		"its answer":      {"FinalAnswerTool.__call__", `{"answer":"the end"}`, "the end", 1},
		"a named tool":    {"echo", `{"answer":"the end"}`, "the end", 2},
		"another answer":  {"FinalAnswerTool.__call__", `{"answer":"an end"}`, "an end", 2},
		"more was given":  {"FinalAnswerTool.__call__", `{"answer":"the end","x":1}`, "the end", 2},
		"another came of": {"FinalAnswerTool.__call__", `{"answer":"the end"}`, "no end", 2},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.in("test", "run", 1, 0, 0, 100, "gen_ai.operation.name", "invoke_agent", "gen_ai.input.messages", list(user("q")), "gen_ai.output.messages", list(says("the end")))
			tr.tool("LookUp.__call__", 2, 1, 10, 20, "", `{"x":1}`, "one")
			tr.tool(c.tool, 3, 1, 30, 40, "", c.args, c.result)
			if n := the(t, tr.runs(t)).Usage.ToolCalls; n != c.calls {
				t.Errorf("%d tool calls, want %d", n, c.calls)
			}
		})
	}
}
