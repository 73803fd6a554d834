// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// silent is a run of a framework that records no content: an agent, and two calls of tools.
func silentRun(tr *trace, agent, parent, start int) {
	tr.in("framework", "invoke_agent a", agent, parent, start, start+50, "gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "a")
	tr.in("framework", "execute_tool look", agent+1, agent, start+10, start+20, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "look", "gen_ai.tool.call.id", fmt.Sprint("call_0000000", agent))
}

func deref(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}

// Where the instrumentation of an agent records no content, what its application wrote of the function around the run is what was asked and answered.
func TestFunctionAroundARunTellsWhatWasAskedAndAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		attributes []any
		failed     bool
		beside     bool
		want       string
	}{
		"input and output":             {attributes: []any{"input", "Which rooms are free?", "output", "Aurora is free."}, want: "Which rooms are free? recovered, Aurora is free. recovered"},
		"a question alone":             {attributes: []any{"question", "Which rooms are free?"}, want: "Which rooms are free? recovered, - missing"},
		"an argument that is named so": {attributes: []any{"acme.fn.name", "ask", "acme.fn.args", `{"question":"Which rooms are free?"}`, "acme.fn.output", "Aurora is free."}, want: "Which rooms are free? recovered, Aurora is free. recovered"},
		"structures":                   {attributes: []any{"acme.fn.name", "ask", "acme.fn.args", `{"a":1,"b":2}`, "acme.fn.output", `{"ok":true}`}, want: "- missing, - missing"},
		"it failed":                    {attributes: []any{"input", "Which rooms are free?", "output", "Aurora is free."}, failed: true, want: "Which rooms are free? recovered, - missing"},
		"two runs in it":               {attributes: []any{"input", "Which rooms are free?", "output", "Aurora is free."}, beside: true, want: "- missing, - missing"},
		"an input that names nothing":  {attributes: []any{"input", "Which rooms are free?"}, want: "- missing, - missing"},
	} {
		tr := newTrace()
		around := tr.in("app", "handle", 1, 0, 0, 200, c.attributes...)
		if c.failed {
			around.Status().SetCode(ptrace.StatusCodeError)
		}
		silentRun(tr, 2, 1, 10)
		if c.beside {
			silentRun(tr, 6, 1, 100)
		}
		tp := tr.runs(t)[0]
		got := fmt.Sprintf("%s %s, %s %s", deref(tp.Input.UserMessage), tp.Input.Provenance["user_message"], deref(tp.Output.Text), tp.Output.Provenance["text"])
		if got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A part of the run that lost the context of its trace lies in the time of the function; the agent that it ran as a tool is not what the function was asked.
func TestFunctionAroundARunHoldsWhatLostItsTrace(t *testing.T) {
	outer, inner := newTrace(), newTrace()
	outer.in("app", "handle", 1, 0, 0, 100, "input", "Which rooms are free?", "output", "Aurora is free.")
	outer.chat(2, 1, 1, 5, "", "", "gen_ai.usage.output_tokens", 7)
	outer.tool("rooms", 3, 1, 10, 60, "call_12345678", `{"question":"Which are booked?"}`, "All but Aurora are.")
	outer.chat(4, 1, 70, 80, "", "", "gen_ai.usage.output_tokens", 7)
	inner.agent("rooms", 5, 0, 20, 50, "gen_ai.input.messages", list(user("Which are booked?")), "gen_ai.output.messages", list(says("All but Aurora are.")))
	inner.chat(6, 5, 21, 40, "", "", "gen_ai.usage.output_tokens", 7)
	tp := the(t, all(t, outer.numbered(1).service("desk"), inner.numbered(2).service("desk")))
	if got := deref(tp.Input.UserMessage) + ", " + deref(tp.Output.Text); got != "Which rooms are free?, Aurora is free." {
		t.Error(got)
	}
}

// A record of the agent's own is not touched by it.
func TestFunctionAroundARunYieldsToWhatTheRunTells(t *testing.T) {
	tr := newTrace()
	tr.in("app", "handle", 1, 0, 0, 200, "input", "ticket 17", "output", "closed")
	tr.agent("a", 2, 1, 10, 100)
	tr.chat(3, 2, 20, 30, list(user("Which rooms are free?")), list(says("Aurora is free.")))
	if tp := the(t, tr.runs(t)); deref(tp.Input.UserMessage) != "Which rooms are free?" || deref(tp.Output.Text) != "Aurora is free." {
		t.Errorf("%s, %s", deref(tp.Input.UserMessage), deref(tp.Output.Text))
	}
}

// Functions alone are no run.
func TestFunctionsOfAProgramAreNoRun(t *testing.T) {
	tr := newTrace()
	tr.in("app", "handle", 1, 0, 0, 200, "question", "Which rooms are free?", "answer", "Aurora is free.")
	tr.in("app", "run_tool", 2, 1, 10, 20, "tool", "look", "parameters", `{"x":1}`, "result", "r")
	tr.in("app", "resize", 3, 1, 30, 40, "input", "a.png", "output", "b.png")
	if tapes, reason := tr.derive(t); len(tapes) > 0 || reason == "" {
		t.Errorf("%d runs, %q", len(tapes), reason)
	}
}

// Of a call whose span holds neither arguments nor a result, the span of its function tells them. The value of an argument alone does not name it.
func TestFunctionInsideATellsTheCall(t *testing.T) {
	for name, c := range map[string]struct {
		function, in string
		more         []any
		want         string
	}{
		"of its name":            {"look", `{"x":1}`, nil, `tool_call look @3+4 = r {"x":1}`},
		"one argument":           {"look", "x", nil, "tool_call look @3+4 = r null"},
		"of another name":        {"fetch", `{"x":1}`, nil, "tool_call look @3 (missing) null"},
		"the call tells its own": {"look", `{"x":1}`, []any{"gen_ai.tool.call.result", "told"}, "tool_call look @3 = told null"},
	} {
		tr := newTrace()
		tr.in("framework", "invoke_agent a", 2, 0, 0, 50, "gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "a")
		tr.in("framework", "execute_tool look", 3, 2, 10, 20, append([]any{"gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "look", "gen_ai.tool.call.id", "call_00000001"}, c.more...)...)
		tr.in("app", c.function, 4, 3, 11, 19, "input", c.in, "output", "r")
		tp := the(t, tr.runs(t))
		if got := events(tp)[0] + " " + tp.Events[0].Args.JSON(); len(tp.Events) != 1 || got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A span that says that it is one of a tool, and with what the tool was called, is a call where a run is of which no answer is on record. Where answers are, they say what was called.
func TestFunctionThatSaysItIsATool(t *testing.T) {
	for name, c := range map[string]struct {
		key, answer string
		want        int
	}{
		"a tool":               {"tool", "", 1},
		"a job":                {"job", "", 0},
		"nobody asked for it":  {"tool", list(says("No need to look.")), 0},
		"what was asked for":   {"tool", list(asks(call("c1", "look", `{"x":1}`))), 1},
		"another that was not": {"tool", list(asks(call("c1", "fetch", `{"x":1}`))), 1},
	} {
		tr := newTrace()
		tr.in("app", "handle", 1, 0, 0, 100, "question", "Which rooms are free?")
		attributes := []any{"gen_ai.operation.name", "chat", "gen_ai.request.model", "m"}
		if c.answer != "" {
			attributes = append(attributes, "gen_ai.output.messages", c.answer)
		}
		tr.in("app", "generate", 2, 1, 1, 9, attributes...)
		tr.in("app", "handle tool", 3, 1, 10, 20, c.key, "look", "parameters", `{"x":1}`)
		tp := the(t, tr.runs(t))
		if tp.Usage.ToolCalls != c.want {
			t.Errorf("%s: %v", name, events(tp))
		}
		for _, e := range tp.Events {
			if want := map[bool]string{true: "fetch", false: "look"}[name == "another that was not"]; e.Type == tape.EventToolCall && e.Name != want {
				t.Errorf("%s: the call of %s", name, e.Name)
			}
		}
	}
}

// A limit cuts what an application wrote of a function as it cuts everything else.
func TestWhatALimitCutOfAFunctionIsNoneOfItsValues(t *testing.T) {
	long := func(of string) string { return strings.Repeat("the word "+of+" and so on; ", 40) }
	for limit, want := range map[int][3]string{
		256:    {"-", "-", "truncated"},
		10_000: {long("question"), long("answer"), ""},
	} {
		tr := newTrace()
		tr.in("app", "handle", 1, 0, 0, 200, "input", cutTo(limit, long("question")), "output", cutTo(limit, long("answer")))
		tr.in("framework", "chat", 2, 1, 10, 20, "gen_ai.operation.name", "chat", "gen_ai.output.messages", list(asks(call("call_0123456789abcdef", "look", `{"input":"a"}`))))
		tr.in("app", "look", 3, 1, 30, 40, "input", "a", "output", cutTo(limit, long("result")))
		tr.in("framework", "chat", 4, 1, 50, 60, "gen_ai.operation.name", "chat")
		tp := the(t, tr.runs(t))
		got := [3]string{deref(tp.Input.UserMessage), deref(tp.Output.Text), ""}
		for _, e := range tp.Events {
			if e.Type == tape.EventToolCall {
				got[2] = string(e.Provenance["result"])
			}
		}
		if got != want {
			t.Errorf("limit %d: %.60q", limit, got)
		}
	}
}
