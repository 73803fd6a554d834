// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import "testing"

// LangChain's executor runs a tool of its own where the model asks for one that there is not.
func TestToolThatAnswersInPlaceOfAMissingOneIsTheCallThatWasAskedFor(t *testing.T) {
	for name, c := range map[string]struct {
		args, result string
		want         []string
	}{
		"named and shown": {`{"requested_tool_name":"cancel_job","available_tool_names":["get_job"]}`, "no such tool", []string{
			"model_call @2", "tool_call cancel_job @3 by 1 = no such tool", "model_call @4"}},
		"another name": {`{"requested_tool_name":"stop_job"}`, "no such tool", []string{
			"model_call @2", "tool_call cancel_job by 1 = no such tool (recovered)", "tool_call invalid_tool @3 = no such tool", "model_call @4"}},
		"another result": {`{"requested_tool_name":"cancel_job"}`, "a note of the program", []string{
			"model_call @2", "tool_call cancel_job by 1 = no such tool (recovered)", "tool_call invalid_tool @3 = a note of the program", "model_call @4"}},
	} {
		t.Run(name, func(t *testing.T) {
			ask := asks(call("c1", "cancel_job", `{"job":"31"}`))
			tr := newTrace()
			tr.agent("a", 1, 0, 0, 100)
			tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
			tr.tool("invalid_tool", 3, 1, 11, 12, "", c.args, c.result)
			tr.chat(4, 1, 20, 30, list(user("q"), ask, shows("c1", "no such tool")), list(says("end")))
			wantEvents(t, the(t, tr.runs(t)), c.want...)
		})
	}
}

// A step may hold the plan for a call, which names its id, before there is an answer.
func TestPlanForACallInAStateIsNoAnswer(t *testing.T) {
	for state, want := range map[string]string{
		`{"outputs":[{"tool":"f","tool_input":{"x":1},"tool_call_id":"c1","log":"go"}]}`:                          "tool_call f by 1 failed (missing)",
		`{"outputs":[{"role":"user","content":"q"},{"role":"tool","tool_call_id":"c1","content":"from a step"}]}`: "tool_call f by 1 = from a step (recovered)",
	} {
		tr := newTrace()
		tr.in("opentelemetry.instrumentation.langchain", "run.workflow", 1, 0, 0, 100, "traceloop.span.kind", "workflow", "traceloop.entity.name", "run", "traceloop.entity.input", `{"inputs":{"input":"q"}}`)
		tr.chat(2, 1, 1, 10, list(user("q")), list(asks(call("c1", "f", `{"x":1}`))))
		tr.in("opentelemetry.instrumentation.langchain", "step.task", 3, 1, 11, 12, "traceloop.span.kind", "task", "traceloop.entity.name", "step", "traceloop.entity.output", state)
		wantEvents(t, the(t, tr.runs(t)), "model_call @2", want)
	}
}
