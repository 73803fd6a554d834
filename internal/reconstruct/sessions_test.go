// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import "testing"

// Rig's spans without the span of a caller: each is a trace of its own, without messages. A run would be a tape per call, and no call on any of them.
func TestCallsOfAnAgentWithoutTheirParentsBelongToItsRun(t *testing.T) {
	clerk := []any{"gen_ai.agent.name", "clerk", "gen_ai.system_instructions", "You watch jobs."}
	for name, c := range map[string]struct {
		instructions  string
		linked, twice bool
		want          int
	}{
		"one run":               {"You watch jobs.", true, false, 1},
		"of another agent":      {"You read invoices.", true, false, 2},
		"a tool without a link": {"You watch jobs.", false, false, 2},
		"two runs at a time":    {"You watch jobs.", true, true, 3},
	} {
		t.Run(name, func(t *testing.T) {
			run, chat, tool, other := newTrace(), newTrace(), newTrace(), newTrace()
			run.in("rig", "invoke_agent", 1, 0, 0, 90, append([]any{"gen_ai.operation.name", "invoke_agent", "gen_ai.prompt", "Is it done?", "gen_ai.completion", "It is done."}, clerk...)...)
			asked := chat.in("rig", "chat", 2, 0, 10, 20, "gen_ai.operation.name", "chat", "gen_ai.agent.name", "clerk", "gen_ai.system_instructions", c.instructions, "gen_ai.response.id", "chatcmpl-12345678")
			ran := tool.in("rig", "execute_tool", 3, 0, 30, 40, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "get_job", "gen_ai.tool.call.arguments", `{"job":"5"}`, "gen_ai.tool.call.result", "done")
			run.numbered(1)
			chat.numbered(2)
			tool.numbered(3)
			if c.linked {
				link := ran.Links().AppendEmpty()
				link.SetTraceID(asked.TraceID())
				link.SetSpanID(asked.SpanID())
			}
			traces := []*trace{run, chat, tool}
			if c.twice {
				other.in("rig", "invoke_agent", 4, 0, 5, 80, append([]any{"gen_ai.operation.name", "invoke_agent", "gen_ai.prompt", "And job 6?", "gen_ai.completion", "It is queued."}, clerk...)...)
				traces = append(traces, other.numbered(4))
			}
			tapes := all(t, traces...)
			if len(tapes) != c.want {
				t.Fatalf("%d runs, want %d", len(tapes), c.want)
			}
			if c.want == 1 && (tapes[0].Usage.ToolCalls != 1 || tapes[0].Output.Text == nil || *tapes[0].Output.Text != "It is done.") {
				t.Errorf("%d tool calls, answer %v", tapes[0].Usage.ToolCalls, tapes[0].Output.Text)
			}
		})
	}
}
