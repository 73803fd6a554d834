// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"fmt"
	"math/rand/v2"
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
// The steps that it takes are counted in TestPlacingOrphansWithinOrphansTakesABoundedNumberOfSteps.
func TestOrphansWithinOrphansAreAllOnATape(t *testing.T) {
	tr := newTrace()
	for i := range 5000 {
		tr.tool("f", i+1, 10_000+i, i, 10_000-i, "", fmt.Sprintf(`{"i":%d}`, i), "v")
	}
	calls := map[string]bool{}
	for _, tp := range tr.runs(t) {
		for _, e := range tp.Events {
			calls[e.Args.JSON()] = true
		}
	}
	if len(calls) != 5000 {
		t.Errorf("%d calls of 5000", len(calls))
	}
}

// A synthetic id such as call_0 comes back in every agent. A call made by the agent that another call runs is a call of its own.
func TestCallWithinADelegationIsNotTheDelegationThoughTheirIDsAreEqual(t *testing.T) {
	outer, inner := asks(call("call_0", "task", `{"do":"all"}`)), asks(call("call_0", "task", `{"do":"part"}`))
	tr := newTrace()
	tr.agent("boss", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 5, list(user("all")), list(outer))
	tr.tool("task", 3, 1, 10, 90, "call_0", `{"do":"all"}`, "whole")
	tr.agent("worker", 4, 3, 11, 89)
	tr.chat(5, 4, 12, 15, list(user("part")), list(inner))
	tr.tool("task", 6, 4, 20, 60, "call_0", `{"do":"part"}`, "half")
	tr.agent("helper", 7, 6, 21, 59)
	tr.chat(8, 7, 22, 25, list(user("x")), list(says("half")))
	tr.chat(9, 1, 91, 95, list(user("all"), outer, shows("call_0", "whole")), list(says("end")))
	wantEvents(t, the(t, tr.runs(t)),
		"model_call @2",
		"tool_call task @3 by 1 = whole",
		"agent_call worker @4 via 2",
		"model_call @5 in 3",
		"tool_call task @6 by 4 in 3 = half",
		"agent_call helper @7 in 3 via 5",
		"model_call @8 in 6",
		"model_call @9")
}

// The spans of this trace say that an agent lies in a call that the agent itself makes.
func TestCallThatIsSaidToRunItsOwnCallerKeepsEventsAfterWhatEnclosesThem(t *testing.T) {
	tr := newTrace()
	tr.tool("", 4, 4, 28, 50, "c1", "", "")
	tr.tool("transfer_to_b", 7, 17, 1, 1, "", "", "")
	tr.tool("", 11, 13, 28, 48, "c1", "", "")
	tr.in("ai", "ai.generateText", 13, 4, 27, 31)
	tr.in("ai", "ai.generateText", 17, 13, 17, 22)
	tr.runs(t)
}

// These invented runs say in a circle what caused what. The tape must leave out one of the claims, whichever it is.
func TestCircularCausesEndInATapeThatVerifies(t *testing.T) {
	for _, seed := range []uint64{4317, 11918, 21793} {
		r := rand.New(rand.NewPCG(seed, 99))
		data := make([]byte, 20+r.IntN(600))
		for i := range data {
			data[i] = byte(r.UintN(256))
		}
		holds(t, invented(data), seed)
	}
}
