// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import "testing"

const voltagent = "@voltagent/core"

// loop is a run of which one span stands for all model calls, and the memory holds what was said.
func loop(tool string) *trace {
	const first = `{"type":"tool-look","toolCallId":"call_0001","state":"output-available","input":{"id":7},"output":{"type":"json","value":{"name":"x"}}}`
	saved := func(tr *trace, id, when int, parts string) {
		tr.in(voltagent, "memory.write", id, 1, when, when, "span.type", "memory", "memory.operation", "write",
			"input", `{"conversationId":"c","message":{"id":"m","role":"assistant","parts":[`+parts+`]}}`)
	}
	tr := newTrace()
	tr.in(voltagent, "main", 1, 0, 0, 100, "entity.type", "agent", "entity.name", "main", "input", "q", "output", "end")
	tr.in(voltagent, "llm:generateText", 2, 1, 1, 90, "span.type", "llm", "llm.model", "m1", "llm.messages", list(user("q")), "llm.tools", "look")
	if tool != "" {
		tr.in(voltagent, "tool.execution:"+tool, 3, 1, 20, 30, "span.type", "tool", "tool.name", tool, "tool.call.id", "call_0001", "input", `{"id":7}`, "output", `{"name":"x"}`)
	}
	saved(tr, 4, 31, first)
	saved(tr, 5, 91, first+`,{"type":"step-start"},{"type":"text","text":"end"}`)
	return tr
}

func TestMemoryNamesTheCallsOfALoopThatOneSpanStandsFor(t *testing.T) {
	wantEvents(t, the(t, loop("RunnableTool").runs(t)), `model_call @2`, `tool_call look @3 by 1 = {"name":"x"}`)
}

func TestMemoryShowsTheCallsOfALoopThatNoSpanReports(t *testing.T) {
	tp := the(t, loop("").runs(t))
	wantEvents(t, tp, `model_call @2`, `tool_call look by 1 = {"name":"x"} (recovered)`)
	if r := tp.Events[0].Response; r == nil || r.Message == "" {
		t.Error("the answer of the loop is not on the tape")
	}
}

// The records of the second model call lie in the trace of the run, its span in a trace of its own.
func TestRecordsInAnotherTraceThanTheirSpanAreOfOneCall(t *testing.T) {
	const scope, session, prompt = "com.anthropic.claude_code.tracing", "session.id", "prompt.id"
	llm := func(tr *trace, id, parent, start, end, in, out int) {
		tr.in(scope, "claude_code.llm_request", id, parent, start, end, "span.type", "llm_request", "model", "m1", "input_tokens", in, "output_tokens", out, session, "s", prompt, "p")
	}
	tr := newTrace()
	tr.in(scope, "claude_code.interaction", 1, 0, 0, 500, "span.type", "interaction", "user_prompt", "q", session, "s", prompt, "p")
	llm(tr, 2, 1, 1, 20, 10, 11)
	rest := newTrace()
	llm(rest, 3, 0, 200, 300, 20, 21)
	rest.numbered(7).td.ResourceSpans().MoveAndAppendTo(tr.td.ResourceSpans())
	record := func(when, in, out int) []any {
		return []any{"claude_code.api_request", when, 1, "input_tokens", in, "output_tokens", out, "duration_ms", 10, session, "s", prompt, "p"}
	}
	tp := the(t, tr.with(t, record(20, 10, 11), record(300, 20, 21),
		[]any{"claude_code.assistant_response", 301, 1, "response", "end", session, "s", prompt, "p"}))
	if tp.Usage.ModelCalls != 2 {
		t.Errorf("events %v, want two model calls", events(tp))
	}
	if tp.Output.Text == nil || *tp.Output.Text != "end" {
		t.Errorf("answered %v", tp.Output.Text)
	}
}
