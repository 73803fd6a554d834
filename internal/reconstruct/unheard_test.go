// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import "testing"

// Where every span is a trace of its own, and no answer of a model is recorded, a call that a model asked for belongs to the one run that was going on.
func TestACallInATraceOfItsOwnBelongsToTheRunThatMayHaveAskedForIt(t *testing.T) {
	for name, c := range map[string]struct {
		scope, service, id string
		at                 int
		heard, beside      bool
		want               int
	}{
		"the only run":               {"rig", "desk", "call_12345678", 20, false, false, 1},
		"without an id of a model":   {"rig", "desk", "", 20, false, false, 2},
		"of another instrumentation": {"other", "desk", "call_12345678", 20, false, false, 2},
		"of another service":         {"rig", "billing", "call_12345678", 20, false, false, 2},
		"after the run":              {"rig", "desk", "call_12345678", 120, false, false, 2},
		"before any model call":      {"rig", "desk", "call_12345678", 1, false, false, 2},
		"the answer is recorded":     {"rig", "desk", "call_12345678", 20, true, false, 2},
		"two runs were going on":     {"rig", "desk", "call_12345678", 20, false, true, 3},
	} {
		answer := []any{"gen_ai.operation.name", "chat", "gen_ai.usage.output_tokens", 7}
		if c.heard {
			answer = append(answer, "gen_ai.output.messages", list(says("Aurora is free.")))
		}
		run := func(n byte) *trace {
			tr := newTrace()
			tr.in("rig", "invoke_agent", 1, 0, 0, 100, "gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "a", "gen_ai.prompt", "Which rooms are free?")
			tr.in("rig", "chat", 2, 1, 2, 10, answer...)
			return tr.numbered(n).service("desk")
		}
		traces := []*trace{run(1)}
		if c.beside {
			traces = append(traces, run(2))
		}
		alone := newTrace()
		attributes := []any{"gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "rooms", "gen_ai.tool.call.arguments", `{"floor":1}`, "gen_ai.tool.call.result", "none"}
		if c.id != "" {
			attributes = append(attributes, "gen_ai.tool.call.id", c.id)
		}
		alone.in(c.scope, "execute_tool", 3, 0, c.at, c.at+10, attributes...)
		tapes := all(t, append(traces, alone.numbered(3).service(c.service))...)
		if len(tapes) != c.want {
			t.Errorf("%s: %d runs, want %d", name, len(tapes), c.want)
		}
		if c.want == 1 {
			wantCodes(t, tapes[0], "joined")
		}
	}
}

// Where nothing below the span of a run was recorded, its tools need no id: the one run of their instrumentation that was going on ran them.
func TestACallInATraceOfItsOwnBelongsToTheOnlyRunOfWhichNothingElseIsKnown(t *testing.T) {
	for name, c := range map[string]struct {
		scope         string
		at            int
		known, beside bool
		want          int
	}{
		"the only run":               {"agno", 20, false, false, 1},
		"of another instrumentation": {"other", 20, false, false, 3},
		"after the run":              {"agno", 120, false, false, 3},
		"the run has calls below it": {"agno", 20, true, false, 3},
		"two runs were going on":     {"agno", 20, false, true, 4},
	} {
		run := func(n byte, known bool) *trace {
			tr := newTrace()
			tr.in("agno", "a.agent", 1, 0, 0, 100, "traceloop.span.kind", "agent", "gen_ai.agent.name", "a", "traceloop.entity.input", "Which rooms are free?")
			if known {
				tr.in("agno", "f.tool", 2, 1, 2, 10, "traceloop.span.kind", "tool", "traceloop.entity.name", "f", "traceloop.entity.output", "x")
			}
			return tr.numbered(n).service("desk")
		}
		traces := []*trace{run(1, c.known)}
		if c.beside {
			traces = append(traces, run(2, c.known || c.beside))
		}
		for i := range 2 {
			alone := newTrace()
			alone.in(c.scope, "rooms.tool", 3, 0, c.at+20*i, c.at+20*i+10, "traceloop.span.kind", "tool", "traceloop.entity.name", "rooms", "traceloop.entity.output", "none")
			traces = append(traces, alone.numbered(byte(3+i)).service("desk"))
		}
		if tapes := all(t, traces...); len(tapes) != c.want {
			t.Errorf("%s: %d runs, want %d", name, len(tapes), c.want)
		}
	}
}

// The client of a provider writes spans of its own, below none of the run's.
func TestModelCallWithoutContentIsOfTheOnlyRunThatNamesItsModel(t *testing.T) {
	build := func(named string, start int, runs int, more ...any) int {
		var traces []*trace
		for i := range runs {
			tr := newTrace()
			tr.in("opentelemetry.instrumentation.agno", "assistant.agent", 1, 0, 10, 100, "traceloop.span.kind", "agent", "gen_ai.agent.name", "assistant", "gen_ai.request.model", named, "traceloop.entity.input", "what now?")
			traces = append(traces, tr.numbered(byte(1+i)))
		}
		tr := newTrace()
		tr.in("com.anthropic.sdk.python", "anthropic.messages.create", 9, 0, start, start+9, append([]any{"gen_ai.operation.name", "chat", "gen_ai.request.model", "m1"}, more...)...)
		return len(all(t, append(traces, tr.numbered(9))...))
	}
	for _, c := range []struct {
		why   string
		got   int
		tapes int
	}{
		{"its model", build("m1", 20, 1), 1},
		{"another model", build("m2", 20, 1), 2},
		{"after the run", build("m1", 200, 1), 2},
		{"two runs", build("m1", 20, 2), 3},
		{"it tells what it was asked", build("m1", 20, 1, "gen_ai.input.messages", list(user("another question"))), 2},
	} {
		if c.got != c.tapes {
			t.Errorf("%s: %d tapes, want %d", c.why, c.got, c.tapes)
		}
	}
}
