// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

func wantRoots(t *testing.T, tapes []*tape.Tape, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, roots(tapes)); diff != "" {
		t.Errorf("roots of the runs (-want +got):\n%s", diff)
	}
}

func wantEvents(t *testing.T, tp *tape.Tape, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, events(tp)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func wantCodes(t *testing.T, tp *tape.Tape, want ...string) {
	t.Helper()
	for _, code := range want {
		if !slices.Contains(codes(tp), code) {
			t.Errorf("no finding %s, only %v", code, codes(tp))
		}
	}
}

func withoutCodes(t *testing.T, tp *tape.Tape, unwanted ...string) {
	t.Helper()
	for _, code := range unwanted {
		if slices.Contains(codes(tp), code) {
			t.Errorf("unexpected finding %s", code)
		}
	}
}

func TestIndependentRunsOfOneTraceAreSeveralTapes(t *testing.T) {
	tr := newTrace()
	tr.in("test", "batch job", 9, 0, 0, 100, "gen_ai.agent.version", "1") // marked, says nothing
	tr.agent("a", 1, 9, 0, 40)
	tr.chat(2, 1, 1, 10, list(user("one")), list(says("1")))
	tr.agent("b", 3, 9, 50, 90)
	tr.chat(4, 3, 51, 60, list(user("two")), list(says("2")))
	tr.agent("a", 5, 0, 200, 240)
	tr.chat(6, 5, 201, 210, list(user("three")), list(says("3")))
	tapes := tr.runs(t)
	wantRoots(t, tapes, "1", "3", "5")
	for i, want := range []string{"1", "2", "3"} {
		if got := tapes[i].Output.Text; got == nil || *got != want {
			t.Errorf("run %d answers %v, want %s", i, got, want)
		}
	}
}

func TestNestedAgentsStayInsideOneRun(t *testing.T) {
	tr := newTrace()
	tr.agent("boss", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("plan")), list(asks(call("c1", "delegate", `{"to":"worker"}`))))
	tr.tool("delegate", 3, 1, 11, 60, "c1", `{"to":"worker"}`, "done")
	tr.agent("worker", 4, 3, 12, 55)
	tr.chat(5, 4, 13, 20, list(user("work")), list(asks(call("c2", "dig", `{}`))))
	tr.tool("dig", 6, 4, 21, 30, "c2", `{}`, "gold")
	tr.chat(7, 4, 31, 40, list(user("work"), asks(call("c2", "dig", `{}`)), shows("c2", "gold")), list(says("dug")))
	tr.chat(8, 1, 61, 70, list(user("plan"), asks(call("c1", "delegate", `{"to":"worker"}`)), shows("c1", "done")), list(says("all done")))
	tp := the(t, tr.runs(t))
	wantEvents(t, tp,
		"model_call @2",
		"tool_call delegate @3 by 1 = done",
		"agent_call worker @4 via 2",
		"model_call @5 in 3",
		"tool_call dig @6 by 4 in 3 = gold",
		"model_call @7 in 3",
		"model_call @8",
	)
	if got := tp.Events[4].Caller; got != "boss/worker" {
		t.Errorf("the inner tool is called by %q", got)
	}
	if tp.Events[1].ToolKind != tape.ToolAgent {
		t.Errorf("the delegating call is of kind %s", tp.Events[1].ToolKind)
	}
	if tp.Fidelity.Grade != tape.GradeOffline {
		t.Errorf("grade %s: %v", tp.Fidelity.Grade, codes(tp))
	}
}

func TestWrapperWithoutContentIsNotTheRun(t *testing.T) {
	tr := newTrace()
	tr.in("test", "invoke_agent", 1, 0, 0, 100, "gen_ai.operation.name", "invoke_agent")
	tr.agent("real", 2, 1, 5, 95)
	tr.chat(3, 2, 10, 20, list(user("q")), list(says("a")))
	tp := the(t, tr.runs(t))
	wantRoots(t, []*tape.Tape{tp}, "2")
	wantEvents(t, tp, "model_call @3")
	if tp.Run.Agent.Name != "real" {
		t.Errorf("the run's agent is %q", tp.Run.Agent.Name)
	}
}

func TestWrapperAroundTwoAgentsIsTheRun(t *testing.T) {
	tr := newTrace()
	tr.in("test", "invoke_workflow", 1, 0, 0, 100, "gen_ai.operation.name", "invoke_workflow")
	tr.agent("a", 2, 1, 5, 45)
	tr.chat(3, 2, 10, 20, list(user("q")), list(says("x")))
	tr.agent("b", 4, 1, 50, 95)
	tr.chat(5, 4, 55, 60, list(user("q2")), list(says("y")))
	tp := the(t, tr.runs(t))
	wantRoots(t, []*tape.Tape{tp}, "1")
}

func TestOrphanIsPlacedInTheOnlyCallAroundIt(t *testing.T) {
	tr := newTrace()
	tr.agent("boss", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(asks(call("c1", "ask_expert", `{}`))))
	tr.tool("ask_expert", 3, 1, 20, 60, "c1", `{}`, "42")
	tr.chat(4, 77, 30, 40, list(user("inner")), list(says("42")))
	tp := the(t, tr.runs(t))
	wantRoots(t, []*tape.Tape{tp}, "1")
	wantEvents(t, tp, "model_call @2", "tool_call ask_expert @3 by 1 = 42", "model_call @4")
	wantCodes(t, tp, "span_gap")
}

func TestOrphanInTwoParallelCallsBelongsToWhatTheyShare(t *testing.T) {
	tr := newTrace()
	tr.agent("boss", 1, 0, 0, 100)
	tr.tool("left", 2, 1, 10, 60, "", `{}`, "l")
	tr.tool("right", 3, 1, 10, 60, "", `{}`, "r")
	tr.agent("expert", 4, 77, 20, 50)
	tr.chat(5, 4, 25, 40, list(user("inner")), list(says("42")))
	tp := the(t, tr.runs(t))
	wantRoots(t, []*tape.Tape{tp}, "1")
	for _, e := range tp.Events {
		if e.Type == tape.EventAgentCall && e.Via != 0 {
			t.Errorf("the sub-agent hangs below call %d, which is a guess", e.Via)
		}
	}
}

func TestSiblingsThatMissTheSameParentAreNotInEachOther(t *testing.T) {
	tr := newTrace()
	tr.tool("outer", 1, 77, 0, 100, "", `{"n":1}`, "1")
	tr.tool("inner", 2, 77, 10, 20, "", `{"n":2}`, "2")
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "tool_call outer @1 = 1", "tool_call inner @2 = 2")
	withoutCodes(t, tp, "span_gap")
	if want := "000000000000004d"; tp.Run.RootSpanID != want {
		t.Errorf("root %s, want the parent that both miss, %s", tp.Run.RootSpanID, want)
	}
}

func TestBrokenParentsStillEndInATape(t *testing.T) {
	for name, link := range map[string][3]int{ // parents of spans 1, 2 and 3
		"self":                     {1, 2, 3},
		"cycle of two":             {2, 1, 1},
		"cycle of three":           {2, 3, 1},
		"cycle beside a tree":      {0, 3, 2},
		"cycle with a tail":        {2, 3, 2},
		"all below a missing span": {99, 99, 99},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.chat(1, link[0], 0, 10, list(user("q")), list(asks(call("c", "f", `{}`))))
			tr.tool("f", 2, link[1], 11, 12, "c", `{}`, "v")
			tr.chat(3, link[2], 13, 20, list(user("q"), asks(call("c", "f", `{}`)), shows("c", "v")), list(says("end")))
			seen := map[string]bool{}
			for _, tp := range tr.runs(t) {
				for _, e := range tp.Events {
					for _, id := range e.SpanIDs {
						if seen[id] {
							t.Errorf("span %s is in two events", id)
						}
						seen[id] = true
					}
				}
			}
			if len(seen) != 3 {
				t.Errorf("%d of 3 spans are in events: %v", len(seen), seen)
			}
		})
	}
}

func TestMissingRootMakesOnlyRootedDialectsIncomplete(t *testing.T) {
	forge := newTrace()
	forge.in("github.com/initializ/forge", "llm.completion", 2, 77, 0, 10, "gen_ai.request.model", "m", "gen_ai.input.messages", `[{"role":"user","content":"q"}]`, "gen_ai.output.messages", `[{"role":"assistant","content":"a"}]`)
	tp := the(t, forge.runs(t))
	if tp.Run.Status != tape.StatusIncomplete {
		t.Errorf("Forge without its root is %s", tp.Run.Status)
	}
	wantCodes(t, tp, "root_missing")

	bare := newTrace()
	bare.chat(2, 77, 0, 10, list(user("q")), list(says("a")))
	tp = the(t, bare.runs(t))
	if tp.Run.Status != tape.StatusOK {
		t.Errorf("a bare model call is %s", tp.Run.Status)
	}
	wantCodes(t, tp, "no_root")
	withoutCodes(t, tp, "root_missing")
}

func TestLooseRunThatWaitsForItsToolsIsIncomplete(t *testing.T) {
	tr := newTrace()
	tr.chat(1, 0, 0, 10, list(user("q")), list(asks(call("c", "f", `{}`))))
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call @1", "tool_call f by 1 failed (missing)")
	wantCodes(t, tp, "unanswered_tool_call@2")
	if tp.Run.Status != tape.StatusIncomplete {
		t.Errorf("status %s", tp.Run.Status)
	}
}

func TestLooseCallsWithoutIDsJoinWhenTheyContinueEachOther(t *testing.T) {
	ask := asks(call("c", "f", `{"x":1}`))
	tr := newTrace()
	tr.chat(1, 0, 0, 10, list(user("q")), list(ask))
	tr.chat(2, 0, 20, 30, list(user("q"), ask, shows("c", "v")), list(says("a")))
	tr.chat(3, 0, 40, 50, list(user("q"), ask, shows("c", "v"), says("a"), user("more")), list(says("b")))
	tapes := tr.runs(t)
	wantRoots(t, tapes, "1", "3")
	wantEvents(t, tapes[0], "model_call @1", "tool_call f by 1 = v (recovered)", "model_call @2")
}

func TestLooseCallsOfOneConversationAreOneRun(t *testing.T) {
	tr := newTrace()
	tr.chat(1, 0, 0, 10, "", list(says("a")), "gen_ai.conversation.id", "k")
	tr.tool("f", 2, 0, 11, 12, "", `{}`, "v", "gen_ai.conversation.id", "k")
	tr.chat(3, 0, 20, 30, "", list(says("b")), "gen_ai.conversation.id", "other")
	tapes := tr.runs(t)
	wantRoots(t, tapes, "1", "3")
	if got := tapes[0].Run.ConversationID; got != "k" {
		t.Errorf("conversation %q", got)
	}
}

func TestTraceWithoutAgentWorkIsNoRunAndSaysWhy(t *testing.T) {
	tr := newTrace()
	tr.in("test", "embeddings m", 1, 0, 0, 10, "gen_ai.operation.name", "embeddings")
	tr.agent("idle", 2, 0, 20, 30)
	tapes, reason := tr.derive(t)
	if len(tapes) != 0 || reason != "neither model calls nor tool calls nor user input" {
		t.Errorf("%d tapes, reason %q", len(tapes), reason)
	}
}

func TestSpanAroundALoopThatCallsItselfAModelCallIsNone(t *testing.T) {
	build := func(asked string, failed bool, beside bool) *tape.Tape {
		tr := newTrace()
		outer := tr.chat(1, 0, 0, 100, asked, map[bool]string{false: list(says("end"))}[failed])
		tr.agent("", 2, 1, 1, 99, "gen_ai.input.messages", list(user("q")), "gen_ai.output.messages", list(says("end")))
		ask := asks(call("c1", "look", `{"n":1}`))
		tr.chat(3, 2, 2, 10, list(user("q")), list(ask))
		tr.tool("look", 4, 2, 11, 12, "c1", `{"n":1}`, "r")
		if failed {
			outer.Status().SetCode(ptrace.StatusCodeError)
		} else {
			tr.chat(5, 2, 21, 30, list(user("q"), ask, shows("c1", "r")), list(says("end")))
		}
		if beside {
			tr.tool("look", 6, 1, 31, 32, "c2", `{"n":2}`, "r")
		}
		return the(t, tr.runs(t))
	}
	wantEvents(t, build(list(user("q")), false, false), "model_call @3", "tool_call look @4 by 1 = r", "model_call @5")
	wantEvents(t, build("", true, false), "model_call @3", "tool_call look @4 by 1 = r")
	for name, tp := range map[string]*tape.Tape{"it was asked something else": build(list(user("another")), false, false), "a call lies beside the agent": build(list(user("q")), false, true)} {
		if len(tp.Events) == 0 || tp.Events[0].Type != tape.EventModelCall || !slices.Contains(tp.Events[0].SpanIDs, "0000000000000001") {
			t.Errorf("%s: %v", name, events(tp))
		}
	}
}

func TestModelThatAgentsNameIsTakenWhereNoCallIsRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		inner, other, called, want string
	}{
		"one name":             {"m1", "m1", "", "m1"},
		"two names":            {"m1", "m2", "", ""},
		"a call names another": {"m1", "m1", "m9", "m9"},
		"nobody names one":     {"", "", "", ""},
	} {
		tr := newTrace()
		tr.in("gcp.vertex.agent", "invocation", 1, 0, 0, 100)
		for i, model := range []string{c.inner, c.other} {
			attrs := []any{"gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "a", "input.value", "q"}
			if model != "" {
				attrs = append(attrs, "gen_ai.request.model", model)
			}
			tr.in("gcp.vertex.agent", "invoke_agent a", 2+i, 1, 1+10*i, 9+10*i, attrs...)
		}
		tr.tool("f", 5, 2, 2, 3, "c1", `{}`, "v")
		if c.called != "" {
			tr.chat(6, 2, 4, 5, list(user("q")), list(says("a")), "gen_ai.request.model", c.called)
		}
		if tapes := tr.runs(t); len(tapes) != 1 || tapes[0].Config.Model != c.want {
			t.Errorf("%s: %d tapes, model %q, want %q", name, len(tapes), tapes[0].Config.Model, c.want)
		}
	}
}

// The span of a run may begin when the first answer has come, and say that it lies below that.
func TestAnAgentThatGoesOnAfterACallLiesAroundIt(t *testing.T) {
	for name, c := range map[string]struct {
		end   int
		asked string
		whole bool
	}{
		"it goes on":                  {100, "q", true},
		"it ends within the call":     {9, "q", false}, // what a tool of the provider's ran
		"it was asked something else": {100, "look it up", false},
	} {
		tr := newTrace()
		tr.chat(2, 0, 0, 10, list(user("q")), list(says("done")))
		tr.agent("main", 1, 2, 1, c.end, "gen_ai.input.messages", list(user(c.asked)), "gen_ai.output.messages", list(says("done")))
		if whole := the(t, tr.runs(t)).Run.RootSpanID == spanID(1).String(); whole != c.whole {
			t.Errorf("%s: the agent is the run: %v", name, whole)
		}
	}
}
