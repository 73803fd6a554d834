// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// The spans of these runs hang beside each other below a span of the application, which is no evidence.

func TestRunThatHangsBesideItsCallsIsOneRun(t *testing.T) {
	const app = 99
	ask := asks(call("c1", "f", `{"x":1}`))
	tr := newTrace()
	tr.agent("a", 1, app, 0, 100, "gen_ai.input.messages", list(user("q")))
	tr.agent("step", 2, app, 1, 11)
	tr.chat(3, app, 1, 10, list(user("q")), list(ask))
	tr.tool("f", 4, app, 11, 12, "c1", `{"x":1}`, "r")
	tr.agent("step", 5, app, 19, 31, "gen_ai.input.messages", list(user("q")))
	tr.chat(6, app, 20, 30, list(user("q"), ask, shows("c1", "r")), list(says("end")))
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call @3", "tool_call f @4 by 1 = r", "model_call @6")
	if tp.Run.Agent.Name != "a" || tp.Input.UserMessage == nil || *tp.Input.UserMessage != "q" {
		t.Errorf("agent %q, user message %v", tp.Run.Agent.Name, tp.Input.UserMessage)
	}
}

func TestRunsOfOtherQuestionsAreNotGathered(t *testing.T) {
	const app = 99
	tr := newTrace()
	tr.agent("a", 1, app, 0, 100, "gen_ai.input.messages", list(user("one")), "gen_ai.output.messages", list(says("1")))
	tr.agent("b", 2, app, 10, 90, "gen_ai.input.messages", list(user("two")))
	tr.chat(3, 2, 20, 30, list(user("two")), list(says("2")))
	tr.chat(4, app, 40, 50, list(user("three")), list(says("3")))
	if tapes := tr.runs(t); len(tapes) != 3 {
		t.Errorf("%d runs %v, want 3", len(tapes), roots(tapes))
	}
}

func TestStepsWhoseRunSpanNeverCameAreOneRun(t *testing.T) {
	const missing = 99
	step := func(tr *trace, id, from int) {
		tr.in("traceloop", "step", id, missing, from, from+15, "openinference.span.kind", "CHAIN", "input.value", "step")
	}
	ask := asks(call("c1", "f", `{"x":1}`))
	build := func(second string) []*tape.Tape {
		tr := newTrace()
		step(tr, 1, 0)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("f", 3, 1, 11, 12, "c1", `{"x":1}`, "r")
		step(tr, 4, 20)
		tr.chat(5, 4, 21, 30, second, list(says("end")))
		return tr.runs(t)
	}
	wantEvents(t, the(t, build(list(user("q"), ask, shows("c1", "r")))), "model_call @2", "tool_call f @3 by 1 = r", "model_call @5")
	if tapes := build(list(user("something else"), ask)); len(tapes) != 2 {
		t.Errorf("%d runs, want 2: the second does not continue the first", len(tapes))
	}
}
