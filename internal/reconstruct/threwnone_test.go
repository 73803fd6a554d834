// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import "testing"

// agno before 2 writes None as the result of a tool that threw, and no failure; the messages of the next request say which results are failures.
func TestNoneBesideAFailureThatTheModelWasToldOfIsAFailure(t *testing.T) {
	told := func(content, failed string) string {
		return `"role='tool' content='` + content + `' name=None tool_call_id='c1' tool_calls=None tool_name='f' tool_call_error=` + failed + `"`
	}
	for name, c := range map[string]struct{ result, content, failed, want string }{
		"told of a failure":        {"None", "timeout", "True", "error timeout"},
		"told of what it returned": {"None", "None", "False", "ok None"},
		"a failure with a result":  {"3 rows", "3 rows", "True", "ok 3 rows"},
	} {
		tr := newTrace()
		tr.in("openinference.instrumentation.agno", "a.run", 1, 0, 0, 50, "openinference.span.kind", "AGENT", "input.value", "q", "output.value", "end")
		tr.in("openinference.instrumentation.agno", "m.invoke", 2, 1, 1, 9, "openinference.span.kind", "LLM", "llm.model_name", "m",
			"input.value", `{"messages":["role='user' content='q' name=None tool_call_id=None tool_calls=None"]}`,
			"llm.output_messages.0.message.role", "assistant", "llm.output_messages.0.message.tool_calls.0.tool_call.id", "c1",
			"llm.output_messages.0.message.tool_calls.0.tool_call.function.name", "f", "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments", "{}")
		tr.in("openinference.instrumentation.agno", "f", 3, 1, 10, 19, "openinference.span.kind", "TOOL", "tool.name", "f", "input.value", "{}", "output.value", c.result, "output.mime_type", "text/plain")
		tr.in("openinference.instrumentation.agno", "m.invoke", 4, 1, 20, 29, "openinference.span.kind", "LLM", "llm.model_name", "m",
			"input.value", `{"messages":["role='user' content='q' name=None tool_call_id=None tool_calls=None",`+
				`"role='assistant' content=None name=None tool_call_id=None tool_calls=[{'id': 'c1', 'type': 'function', 'function': {'name': 'f', 'arguments': '{}'}}]",`+told(c.content, c.failed)+`]}`,
			"llm.output_messages.0.message.role", "assistant", "llm.output_messages.0.message.content", "end")
		got := ""
		for _, e := range the(t, tr.runs(t)).Events {
			if e.Name == "f" {
				got = string(e.Status) + " " + e.Result.Str()
				if e.Error != nil {
					got += e.Error.Message
				}
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
