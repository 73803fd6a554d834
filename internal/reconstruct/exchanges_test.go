// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// exchange adds a request or an answer to the span of a loop, as an event.
func exchange(span ptrace.Span, at int, name string, pairs ...string) {
	e := span.Events().AppendEmpty()
	e.SetName(name)
	e.SetTimestamp(span.StartTimestamp() + pcommon.Timestamp(at)*1_000_000)
	e.Attributes().PutStr("model", "m1")
	for i := 0; i < len(pairs); i += 2 {
		e.Attributes().PutStr(pairs[i], pairs[i+1])
	}
}

// looping is a loop of two calls below the function that answers, with a tool between them whose spans lie in each other and keep less and less of the arguments.
func looping(answer string, inner ...any) *trace {
	tr := newTrace()
	pairs := []any{"gen_ai.agent.name", "shop", "gen_ai.request.model", "m1"}
	if answer != "" {
		pairs = append(pairs, "response", answer)
	}
	tr.in("agent", "shop.generate_str", 1, 0, 0, 100, pairs...)
	loop := tr.in("agent", "shop.generate", 2, 1, 1, 99, "gen_ai.agent.name", "shop", "gen_ai.request.model", "m1")
	id, asked := "call_MXUIFO7HIUCZUF", `{"x":1,"y":null}`
	exchange(loop, 1, "gen_ai.user.message", "messages.0.role", "user", "messages.0.content", "hi")
	exchange(loop, 10, "gen_ai.assistant.message", "choices.0.message.content", "Let me look.", "choices.0.message.tool_calls.0.gen_ai.tool.call.id", id,
		"choices.0.message.tool_calls.0.function.name", "f", "choices.0.message.tool_calls.0.function.arguments", asked)
	exchange(loop, 40, "gen_ai.tool.message", "messages.0.role", "user", "messages.0.content", "hi", "messages.1.role", "assistant", "messages.1.tool_calls.0.gen_ai.tool.call.id", id,
		"messages.1.tool_calls.0.function.name", "f", "messages.1.tool_calls.0.function.arguments", asked, "messages.2.role", "tool", "messages.2.gen_ai.tool.call.id", id, "messages.2.content", "rows")
	exchange(loop, 50, "gen_ai.assistant.message", "choices.0.message.content", "Two rows.")
	tr.in("agent", "shop.execute", 3, 2, 20, 30, "gen_ai.tool.name", "f", "gen_ai.tool.call.id", id, "tool_args", asked, "result.content.0.type", "text", "result.content.0.text", "rows")
	tr.in("agent", "shop.call", 4, 3, 21, 29, "gen_ai.tool.name", "f", "gen_ai.tool.call.id", id, "request.method", "tools/call", "request.params.name", "f", "request.params.arguments.x", "1", "request.params.arguments.y", "None")
	tr.in("agent", "shop.inner", 5, 4, 22, 28, append([]any{"gen_ai.tool.name", "f"}, inner...)...)
	return tr
}

func TestModelCallsThatAreEventsOfALoop(t *testing.T) {
	tp := the(t, looping("Let me look.\nTwo rows.").runs(t))
	wantEvents(t, tp, "model_call @2", "tool_call f @3+4+5 by 1 = rows", "model_call @2")
	if *tp.Input.UserMessage != "hi" || *tp.Output.Text != "Let me look.\nTwo rows." || tp.Run.Status != tape.StatusOK || !tp.Fidelity.Replayable.Tools {
		t.Errorf("asked %q, answered %q, %s, tools %t", *tp.Input.UserMessage, *tp.Output.Text, tp.Run.Status, tp.Fidelity.Replayable.Tools)
	}
	if tp := the(t, looping("").runs(t)); *tp.Output.Text != "Two rows." {
		t.Errorf("answered %q", *tp.Output.Text)
	}
}

// A text that the models of the loop did not say is the answer of another model: the span around is a call of its own. A span inside with other arguments is another execution.
func TestWhatIsNotOfTheLoop(t *testing.T) {
	tp := the(t, looping("Let me look.\nTwo rows. Anything else?").runs(t))
	if len(tp.Events) < 4 || tp.Events[0].SpanIDs[0] == tp.Events[1].SpanIDs[0] {
		t.Errorf("%d events", len(tp.Events))
	}
	tp = the(t, looping("", "arguments.x", "2").runs(t))
	calls := 0
	for _, e := range tp.Events {
		if e.Type == tape.EventToolCall {
			calls++
		}
	}
	if calls != 2 {
		t.Errorf("%d calls", calls)
	}
}
