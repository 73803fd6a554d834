// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"slices"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// Where no content of model calls is on record, the functions that ran after one that asked for tools are those tools.
func TestFunctionsAfterAModelThatAskedForToolsAreThem(t *testing.T) {
	function := func(tr *trace, name string, id, parent, start, end int) {
		tr.in("acme", name, id, parent, start, end, "acme.fn.qualname", name, "acme.fn.args", `{"x":1}`, "acme.fn.output", "rain")
	}
	for reason, want := range map[string][]string{"tool_calls": {"look"}, "stop": nil} {
		tr := newTrace()
		function(tr, "assistant", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, "", "", "gen_ai.response.finish_reasons", []any{reason})
		function(tr, "look", 3, 1, 20, 30)
		function(tr, "within", 4, 3, 22, 24) // a part of it
		tr.chat(5, 1, 40, 50, "", "", "gen_ai.response.finish_reasons", []any{"stop"})
		function(tr, "format", 6, 1, 60, 70) // after an answer
		var names []string
		for _, e := range the(t, tr.runs(t)).Events {
			if e.Type == tape.EventToolCall {
				names = append(names, e.Name)
			}
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: %v, want %v", reason, names, want)
		}
	}
}

// Functions alone are no run.
func TestFunctionsAloneAreNoRun(t *testing.T) {
	tr := newTrace()
	tr.in("acme", "resize", 1, 0, 0, 100, "acme.fn.qualname", "resize", "acme.fn.args", `{"x":1}`, "acme.fn.output", "done")
	tr.in("acme", "load", 2, 1, 10, 20, "acme.fn.qualname", "load", "acme.fn.args", `{"x":1}`, "acme.fn.output", "done")
	if n := len(tr.runs(t)); n != 0 {
		t.Errorf("%d runs", n)
	}
}

// A function of the name of a tool that the model before it was offered is that tool, where nothing says what that answered.
func TestFunctionOfAnOfferedToolAfterAnAnswerThatNobodyRecordedIsTheTool(t *testing.T) {
	const offered = `[{"type":"function","name":"look","parameters":{"type":"object"}}]`
	for _, c := range []struct {
		name, answer string
		more         []any
		want         []string
	}{
		{"look", "", nil, []string{"look"}},
		{"format", "", nil, nil}, // it was not offered
		{"look", list(says("I need no tool for that.")), nil, nil},
		{"look", "", []any{"gen_ai.response.finish_reasons", []any{"stop"}}, nil},
	} {
		tr := newTrace()
		tr.agent("assistant", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), c.answer, append([]any{"gen_ai.tool.definitions", offered}, c.more...)...)
		tr.in("acme", c.name, 3, 1, 20, 30, "acme.fn.qualname", c.name, "acme.fn.args", `{"x":1}`, "acme.fn.output", "rain")
		tr.chat(4, 1, 40, 50, "", list(says("The end of it.")))
		var names []string
		for _, e := range the(t, tr.runs(t)).Events {
			if e.Type == tape.EventToolCall {
				names = append(names, e.Name)
			}
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("%s after %q %v: %v, want %v", c.name, c.answer, c.more, names, c.want)
		}
	}
}

// Two calls of one name beside each other of which the first says nothing are two calls, whatever became of the second; a step of another name prepares the call.
func TestSilentCallBeforeOneOfTheSameNameIsACall(t *testing.T) {
	for name, want := range map[string]int{"chat m1": 2, "prepare": 1} {
		tr := newTrace()
		tr.agent("assistant", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, "", "", "gen_ai.tool.definitions", `[{"type":"function","name":"look","parameters":{"type":"object"}}]`).SetName(name)
		tr.chat(3, 1, 40, 50, list(user("q")), list(says("The end of it.")))
		models := 0
		for _, e := range the(t, tr.runs(t)).Events {
			if e.Type == tape.EventModelCall {
				models++
			}
		}
		if models != want {
			t.Errorf("%s: %d model calls, want %d", name, models, want)
		}
	}
}

// An agent that is a tool holds calls of its own. Of one that no model was offered, or after an answer, nothing says that a model called it.
func TestFunctionThatHoldsCallsIsTheOfferedTool(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		want         []string
	}{
		{"expert", "", []string{"expert"}},
		{"other", "", nil},
		{"expert", list(says("I need nobody for that.")), nil},
	} {
		tr := newTrace()
		tr.agent("assistant", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), c.answer, "gen_ai.tool.definitions", `[{"type":"function","name":"expert","parameters":{"type":"object"}}]`)
		tr.in("acme", c.name, 3, 1, 20, 50, "acme.fn.qualname", c.name, "acme.fn.args", `{"question":"why"}`, "acme.fn.output", "rain")
		tr.chat(4, 3, 30, 40, list(user("why")), list(says("rain")))
		tr.chat(5, 1, 60, 70, "", list(says("The end of it.")))
		var names []string
		for _, e := range the(t, tr.runs(t)).Events {
			if e.Type == tape.EventToolCall {
				names = append(names, e.Name)
			}
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("%s after %q: %v, want %v", c.name, c.answer, names, c.want)
		}
	}
}
