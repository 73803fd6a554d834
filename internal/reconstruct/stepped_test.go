// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"fmt"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

const llamaIndex = "opentelemetry.instrumentation.llamaindex"

// workflow is a run of LlamaIndex's workflow agent under Traceloop's instrumentation without one of the model: steps alone, of which one put together what the model
// is sent.
func workflow(prepared string, after int) *trace {
	tr := newTrace()
	task := func(name string, id, start int, out string) {
		attrs := []any{"traceloop.span.kind", "task", "traceloop.entity.name", name}
		if out != "" {
			attrs = append(attrs, "traceloop.entity.output", out)
		}
		tr.in(llamaIndex, name, id, 1, start, start+5, attrs...)
	}
	tr.in(llamaIndex, "FunctionAgent.workflow", 1, 0, 0, 100, "traceloop.span.kind", "workflow", "traceloop.entity.name", "FunctionAgent.workflow",
		"traceloop.entity.input", `{"ctx":null,"stepwise":false,"start_event":"{\"user_msg\":\"q\",\"chat_history\":null}"}`)
	task("call_tool.task", 2, 10, `{"tool_name":"f","tool_kwargs":{"x":1},"tool_id":"c1","tool_output":{"content":"{'a': 1}","tool_name":"f","raw_input":{"kwargs":{"x":1}},"raw_output":{"a":1},"is_error":false}}`)
	task("setup_agent.task", 3, 20, prepared)
	for i := range after { // the first of them asks the model
		task([]string{"run_agent_step.task", "parse_agent_output.task"}[i], 4+i, 30+10*i, "")
	}
	return tr
}

func TestStepsOfAWorkflowTellARunOfWhichNoModelCallIsRecorded(t *testing.T) {
	const conversation = `{"input":[{"role":"system","blocks":[{"block_type":"text","text":"Be terse."}]},{"role":"user","blocks":[{"block_type":"text","text":"q"}]}]}`
	for name, c := range map[string]struct {
		prepared string
		after    int
		system   string
		status   tape.RunStatus
	}{
		"the program went on":           {conversation, 2, "Be terse.", tape.StatusOK},
		"it ended with the model":       {conversation, 1, "Be terse.", tape.StatusIncomplete},
		"it ended before the model":     {conversation, 0, "Be terse.", tape.StatusIncomplete},
		"nothing was put together":      {"", 2, "", tape.StatusOK},
		"a conversation with another":   {`{"input":[{"role":"system","content":"Be terse."},{"role":"user","content":"another"}]}`, 2, "", tape.StatusOK},
		"a conversation without a rule": {`{"input":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]}`, 2, "", tape.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			tp := the(t, workflow(c.prepared, c.after).runs(t))
			wantEvents(t, tp, "tool_call f @2 = {\"a\":1}")
			system := ""
			if tp.Input.SystemPrompt != nil {
				system = *tp.Input.SystemPrompt
			}
			if tp.Input.UserMessage == nil || *tp.Input.UserMessage != "q" || system != c.system || tp.Run.Status != c.status {
				t.Errorf("user %v, system %q, status %s", tp.Input.UserMessage, system, tp.Run.Status)
			}
		})
	}
}

// Where the span of a workflow holds nothing, its steps tell what was asked at first, what was put together at last and what came of it.
func TestStepsOfAWorkflowTellWhatWasAskedAndAnswered(t *testing.T) {
	message := func(role, text string) string {
		return `{"role":"` + role + `","blocks":[{"block_type":"text","text":"` + text + `"}]}`
	}
	history := message("user", "earlier") + "," + message("assistant", "was said")
	given := `{"input":[` + history + "," + message("user", "q") + `]}`
	prepared := `{"input":[` + message("system", "Be terse.") + "," + history + "," + message("user", "q") + `]}`
	answer := `{"result":{"response":` + message("assistant", "a") + `,"tool_calls":[],"retry_messages":[]}}`
	const tool = `{"tool_name":"f","tool_kwargs":{"x":1},"tool_id":"c1","tool_output":{"content":"1","tool_name":"f","raw_input":{"kwargs":{"x":1}},"raw_output":1,"is_error":false}}`
	for name, c := range map[string]struct {
		steps []string
		root  bool
		want  string
	}{
		"without a tool":                 {[]string{given, prepared, answer}, true, "q, Be terse., a, 1 model calls, 0 tool calls"},
		"with a tool":                    {[]string{given, prepared, tool, prepared, answer}, true, "q, Be terse., a, 0 model calls, 1 tool calls"},
		"what was said before a tool":    {[]string{given, prepared, answer, tool}, true, "q, Be terse., , 0 model calls, 1 tool calls"},
		"what was said before a request": {[]string{given, answer, prepared}, true, "none"},
		"two answers in one":             {[]string{given, prepared, `{"a":` + message("assistant", "a") + `,"b":` + message("assistant", "b") + `}`}, true, "none"},
		"without the span of a run":      {[]string{given, prepared, answer}, false, "none"},
		"nothing was put together":       {[]string{answer}, true, "none"},
	} {
		tr := newTrace()
		if c.root {
			tr.in(llamaIndex, "FunctionAgent.workflow", 1, 0, 0, 100, "traceloop.span.kind", "workflow", "traceloop.entity.name", "FunctionAgent.workflow")
		}
		for i, out := range c.steps {
			tr.in(llamaIndex, "step.task", 2+i, 1, 10+10*i, 15+10*i, "traceloop.span.kind", "task", "traceloop.entity.name", "step.task", "traceloop.entity.output", out)
		}
		got := "none"
		if tapes := tr.runs(t); len(tapes) == 1 {
			tp, text := tapes[0], func(s *string) string {
				if s == nil {
					return ""
				}
				return *s
			}
			got = fmt.Sprintf("%s, %s, %s, %d model calls, %d tool calls", text(tp.Input.UserMessage), text(tp.Input.SystemPrompt), text(tp.Output.Text), tp.Usage.ModelCalls, tp.Usage.ToolCalls)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
