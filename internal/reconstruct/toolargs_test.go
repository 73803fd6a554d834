// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// Python's decorators record every parameter of a function, those that it was called without as their
// defaults.
func TestNullThatNobodyAskedForIsADefault(t *testing.T) {
	build := func(asked, received string) tape.Event {
		ask := strings.Replace(asks(call("c1", "f", asked)), `,"arguments":none`, "", 1)
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("f", 3, 1, 11, 12, "", received, "r")
		tr.chat(4, 1, 20, 30, list(user("q"), ask, shows("c1", "r")), list(says("end")))
		tp := the(t, tr.runs(t))
		wantEvents(t, tp, "model_call @2", "tool_call f @3 by 1 = r", "model_call @4")
		return tp.Events[1]
	}
	for _, c := range []struct{ asked, received, args string }{
		{"none", `{"a":null}`, `{}`}, // recorders leave out what is empty
		{"none", `{"a":null,"b":1}`, `{"a":null,"b":1}`},
		{`{"a":1}`, `{"a":1,"b":null}`, `{"a":1}`},
		{`{}`, `{"a":null,"b":null}`, `{}`},
		{`{"a":1,"b":null}`, `{"a":1,"b":null}`, `{"a":1,"b":null}`},
		{`{"a":1}`, `{"a":null}`, `{"a":null}`},             // it was asked for, with a value
		{`{"a":1}`, `{"a":1,"b":0}`, `{"a":1,"b":0}`},       // whose value is a value
		{`{"a":1}`, `{"a":2,"b":null}`, `{"a":2,"b":null}`}, // another call
	} {
		if e := build(c.asked, c.received); e.Args.JSON() != c.args || !e.ExecutedArgs.IsAbsent() {
			t.Errorf("asked %s, received %s: %s, executed %s", c.asked, c.received, e.Args.JSON(), e.ExecutedArgs.JSON())
		}
	}
}

// Where no record shows what was asked, the definition tells a default from a value.
func TestNullThatTheDefinitionRulesOutIsADefault(t *testing.T) {
	define := func(parameters string) string {
		return `{"type":"function","name":"f","parameters":{"type":"object","properties":{"a":{"type":"integer"},` + parameters + `},"required":["a"]}}`
	}
	for name, c := range map[string]struct {
		tools, want string
		label       tape.Label
	}{
		"optional":              {"[" + define(`"b":{"type":"string"}`) + "]", `{"a":1}`, tape.Recovered},
		"may be null":           {"[" + define(`"b":{"type":["string","null"]}`) + "]", `{"a":1,"b":null}`, ""},
		"one of several":        {"[" + define(`"b":{"anyOf":[{"type":"string"},{"type":"null"}]}`) + "]", `{"a":1,"b":null}`, ""},
		"not in the definition": {"[" + define(`"c":{"type":"string"}`) + "]", `{"a":1,"b":null}`, ""},
		"required":              {`[{"type":"function","name":"f","parameters":{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}}]`, `{"a":1,"b":null}`, ""},
		"defined twice":         {"[" + define(`"b":{"type":"string"}`) + "," + define(`"b":{"type":["string","null"]}`) + "]", `{"a":1,"b":null}`, ""},
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), "", "gen_ai.tool.definitions", c.tools)
		tr.tool("f", 3, 1, 11, 12, "", `{"a":1,"b":null}`, "r")
		if e := the(t, tr.runs(t)).Events[1]; e.Args.JSON() != c.want || e.Provenance["args"] != c.label {
			t.Errorf("%s: %s, label %q", name, e.Args.JSON(), e.Provenance["args"])
		}
	}
}

func TestObjectsOfTheProgramAreNoArguments(t *testing.T) {
	ask := asks(call("c1", "handoff", `{"to":"billing"}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
	tr.tool("FunctionTool", 3, 1, 11, 12, "", `{"to":"billing","ctx":"<workflows.context.Context object at 0x7f5362c1bc10>"}`, "r")
	tr.chat(4, 1, 20, 30, list(user("q"), ask, shows("c1", "r")), list(says("end")))
	wantEvents(t, the(t, tr.runs(t)), "model_call @2", "tool_call handoff @3 by 1 = r", "model_call @4")
}
