// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import "testing"

// A decorator that knows no kinds of steps writes the tool, its helpers and what else the program does alike. The last call of a loop that was cut has
// no request after it that shows the result.
func TestFunctionIsTheToolThatWasAskedFor(t *testing.T) {
	for name, c := range map[string]struct {
		function, in string
		want         []string
	}{
		"same name and arguments": {"f", `{"args": [], "kwargs": {"page": 3}}`, []string{"model_call @2", "tool_call f @3 by 1 = v"}},
		"other arguments":         {"f", `{"args": [], "kwargs": {"page": 4}}`, []string{"model_call @2", "tool_call f by 1 failed (missing)"}},
		"other name":              {"g", `{"args": [], "kwargs": {"page": 3}}`, []string{"model_call @2", "tool_call f by 1 failed (missing)"}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.in("langfuse-sdk", "run", 1, 0, 0, 100, "langfuse.observation.type", "agent", "langfuse.observation.input", `{"args": ["q"], "kwargs": {}}`)
			tr.chat(2, 1, 10, 20, list(user("q")), list(asks(call("c1", "f", `{"page":3}`))))
			tr.in("langfuse-sdk", c.function, 3, 1, 30, 40, "langfuse.observation.type", "span", "langfuse.observation.input", c.in, "langfuse.observation.output", "v")
			wantEvents(t, the(t, tr.runs(t)), c.want...)
		})
	}
}

// What a tool calls, and what calls a model itself, is no tool that was asked for.
func TestFunctionInAToolIsAPartOfIt(t *testing.T) {
	tr := newTrace()
	tr.in("langfuse-sdk", "run", 1, 0, 0, 100, "langfuse.observation.type", "agent", "langfuse.observation.input", `{"args": ["q"], "kwargs": {}}`)
	tr.chat(2, 1, 10, 20, list(user("q")), list(asks(call("c1", "f", `{"page":3}`), call("c2", "f", `{"page":3}`))))
	tr.tool("f", 3, 1, 30, 40, "c1", `{"page":3}`, "v")
	tr.in("langfuse-sdk", "f", 4, 3, 31, 39, "langfuse.observation.type", "span", "langfuse.observation.input", `{"page":3}`, "langfuse.observation.output", `"inner"`)
	wantEvents(t, the(t, tr.runs(t)), "model_call @2", "tool_call f @3 by 1 = v", "tool_call f by 1 failed (missing)")
}

// Logfire has no span that is an agent's: the functions lie beside the calls of the model, below what the application wrote.
func TestFunctionBesideLooseCallsIsTheToolThatWasAskedFor(t *testing.T) {
	for asked, want := range map[string]string{`{"page":3}`: "tool_call f @3 by 1 = v", `{"page":4}`: "tool_call f by 1 failed (missing)"} {
		tr := newTrace()
		tr.chat(2, 90, 10, 20, list(user("q")), list(asks(call("c1", "f", asked))))
		tr.in("logfire", "f", 3, 90, 30, 40, "code.function", "Tools.f", "page", int64(3), "return", "v", "logfire.json_schema", `{"type":"object","properties":{"page":{},"return":{}}}`)
		wantEvents(t, the(t, tr.runs(t)), "model_call @2", want)
	}
}

// Where an instrumentation lost what a later model call answered, the functions that have the name of a tool are calls; helpers are not, and nothing is added
// where the answer is known.
func TestFunctionAfterAnAnswerThatWasLostIsACall(t *testing.T) {
	for lost, want := range map[bool][]string{
		true:  {"model_call @2", "tool_call f @3 by 1 = v", "model_call @4", "tool_call f @5 = v"},
		false: {"model_call @2", "tool_call f @3 by 1 = v", "model_call @4"},
	} {
		tr := newTrace()
		tr.in("openlit", "run", 1, 0, 0, 100, "gen_ai.operation.name", "invoke_agent")
		tr.chat(2, 1, 10, 20, list(user("q")), list(asks(call("c1", "f", `{"x":1}`))))
		function := func(name string, id, start int, x string) {
			tr.in("openlit", name, id, 1, start, start+5, "function.args", "()", "function.kwargs", "{'x': "+x+"}", "gen_ai.output.messages", "v")
		}
		function("f", 3, 30, "1")
		answer := ""
		if !lost {
			answer = list(says("end"))
		}
		tr.chat(4, 1, 40, 50, "", answer)
		function("f", 5, 60, "2")
		function("log", 6, 70, "3")
		wantEvents(t, the(t, tr.runs(t)), want...)
	}
}
