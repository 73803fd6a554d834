// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

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

// recordedBeside derives a run whose first model call has a span in the trace of the run, the others in a trace of their own, and all of whose records
// lie in the trace of the run. A call is its start, end, tokens and response id; a record has no start.
func recordedBeside(t *testing.T, spans, records [][4]any) *tape.Tape {
	t.Helper()
	const scope, session, prompt = "com.anthropic.claude_code.tracing", "session.id", "prompt.id"
	llm := func(tr *trace, id, parent int, c [4]any) {
		tr.in(scope, "claude_code.llm_request", id, parent, c[0].(int), c[1].(int), "span.type", "llm_request", "model", "m1", "gen_ai.response.id", c[3], "input_tokens", c[2], "output_tokens", 1, session, "s", prompt, "p")
	}
	tr, rest := newTrace(), newTrace()
	tr.in(scope, "claude_code.interaction", 1, 0, 0, 500, "span.type", "interaction", "user_prompt", "q", session, "s", prompt, "p")
	for i, c := range spans {
		if i == 0 {
			llm(tr, 2, 1, c)
		} else {
			llm(rest, 2+i, 0, c)
		}
	}
	rest.numbered(7).td.ResourceSpans().MoveAndAppendTo(tr.td.ResourceSpans())
	var logs [][]any
	for _, r := range records {
		logs = append(logs, []any{"claude_code.api_request", r[1], 1, "input_tokens", r[2], "output_tokens", 1, "duration_ms", 10, "gen_ai.response.id", r[3], session, "s", prompt, "p"})
	}
	return the(t, tr.with(t, append(logs, []any{"claude_code.assistant_response", 401, 1, "response", "end", session, "s", prompt, "p"})...))
}
