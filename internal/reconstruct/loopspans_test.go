// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// streamed is a model span that ends when all that it streamed has come: it stands for a loop of two calls, holds the answer of the last, and the call of the
// tool and the last call of the model hang below it.
func streamed(tool, parents bool) *trace {
	up := func(id int) int {
		if parents {
			return id
		}
		return 0
	}
	tr := newTrace()
	ask := asks(call("c1", "f", `{}`))
	tr.agent("a", 1, 0, 0, 100, "gen_ai.input.messages", list(user("q")))
	tr.in("test", "step", 2, up(1), 1, 102, "gen_ai.operation.name", "plan") // ends after the agent
	tr.chat(3, up(2), 2, 90, list(user("q")), list(says("end")), "gen_ai.response.id", "r1")
	if tool {
		tr.tool("f", 4, up(3), 20, 30, "c1", `{}`, "v")
	}
	tr.chat(5, up(3), 40, 89, list(user("q"), ask, shows("c1", "v")), list(says("end")), "gen_ai.response.id", "r1")
	return tr
}

func TestModelSpanThatEndsWithItsLoopIsTheFirstCallOfTheLoop(t *testing.T) {
	for name, c := range map[string]struct {
		tool, parents bool
		want          string
	}{
		"tool span":               {true, true, "tool_call f @4 by 1 = v"},
		"no tool span":            {false, true, "tool_call f by 1 = v (recovered)"},
		"tool span, no parents":   {true, false, "tool_call f @4 by 1 = v"},
		"no parents and no tools": {false, false, "tool_call f by 1 = v (recovered)"},
	} {
		t.Run(name, func(t *testing.T) {
			tp := the(t, streamed(c.tool, c.parents).runs(t))
			wantEvents(t, tp, "model_call @3", c.want, "model_call @5")
			if first := tp.Events[0].Response; first == nil || first.ID != "" || first.Message == tp.Events[2].Response.Message {
				t.Errorf("the first call was answered %+v, which is what the last one was", first)
			}
			if !slices.Contains(codes(tp), string(tape.CodeModelCallHidden)+"@1") {
				t.Errorf("findings %v, none says that the span stands for a loop", codes(tp))
			}
		})
	}
}

// Two spans one in the other with one request are one call, as before.
func TestModelSpansWithOneRequestAreNoLoop(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 50, list(user("q")), list(says("end")), "gen_ai.response.id", "r1")
	tr.chat(3, 2, 2, 49, list(user("q")), list(says("end")), "gen_ai.response.id", "r1")
	wantEvents(t, the(t, tr.runs(t)), "model_call @2+3")
}

// With another agent in the trace nothing says whose the call is that lies in the time of an agent and of a step.
func TestStepThatOutlastsAnAgentKeepsItsCallsWhereThereAreTwoAgents(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100, "gen_ai.input.messages", list(user("one")))
	tr.agent("b", 2, 0, 300, 400, "gen_ai.input.messages", list(user("two")))
	tr.in("test", "step", 3, 0, 1, 102, "gen_ai.operation.name", "plan")
	tr.tool("f", 4, 0, 20, 30, "", `{}`, "v")
	for _, tp := range tr.runs(t) {
		if tp.Run.Agent.Name != "" && tp.Usage.ToolCalls > 0 {
			t.Errorf("the call is one of agent %s", tp.Run.Agent.Name)
		}
	}
}

func TestEqualCallsAtTheSameTimeStandInTheOrderOfTheAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		starts, ends [2]int // of the call that was asked for second, and of the first
		want         []string
	}{
		"at the same time":     {[2]int{20, 21}, [2]int{30, 31}, []string{"tool_call dice @4 by 1 = four", "tool_call dice @3 by 1 = six"}},
		"one after the other":  {[2]int{20, 31}, [2]int{30, 40}, []string{"tool_call dice @3 by 1 = six", "tool_call dice @4 by 1 = four"}},
		"the first came first": {[2]int{21, 20}, [2]int{30, 31}, []string{"tool_call dice @4 by 1 = four", "tool_call dice @3 by 1 = six"}},
	} {
		tr := newTrace()
		ask := asks(call("c1", "dice", `{}`), call("c2", "dice", `{}`))
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("dice", 3, 1, c.starts[0], c.ends[0], "", `{}`, "six")
		tr.tool("dice", 4, 1, c.starts[1], c.ends[1], "", `{}`, "four")
		tr.chat(5, 1, 50, 60, list(user("q"), ask, shows("c2", "six"), shows("c1", "four")), list(says("end")))
		got := events(the(t, tr.runs(t)))[1:3]
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %s, want %s", name, strings.Join(got, "; "), strings.Join(c.want, "; "))
		}
	}
}

// A package leaves the calls out of its answers everywhere; the state of a step holds them. Results are shown without ids.
func TestResultsBehindAnAnswerThatIsResentWithoutItsCallsAreShown(t *testing.T) {
	tr := newTrace()
	bare := says("one moment")
	state := `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"one moment","tool_calls":[` + function("c1", "f", `{"x":1}`) + `]}]}`
	tr.agent("a", 1, 0, 0, 100)
	tr.in("traceloop", "step", 2, 1, 1, 15, "traceloop.span.kind", "task", "traceloop.entity.name", "model", "traceloop.entity.input", `{}`, "traceloop.entity.output", state)
	tr.chat(3, 1, 2, 10, list(user("q")), list(bare), "gen_ai.response.finish_reasons", []any{"tool_calls"})
	tr.chat(4, 1, 50, 60, list(user("q"), bare, shows("", "v")), list(says("end")))
	wantEvents(t, the(t, tr.runs(t)), "model_call @3", "tool_call f by 1 = v (recovered)", "model_call @4")
}

func TestSpanThatPreparesACallIsNoCallWhenAnotherOneReportsItToo(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.in("gateway", "prepare", 2, 1, 1, 6, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1")
	tr.in("test", "prepare", 3, 2, 2, 5, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1")
	tr.in("gateway", "chat", 4, 1, 9, 21, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1")
	tr.chat(5, 4, 10, 20, list(user("q")), list(says("end")))
	wantEvents(t, the(t, tr.runs(t)), "model_call @4+5")
}

// Without any content, one instrumentation that reports one answer in two spans of one name, one in the other, tells of a loop: what it asked for is not known.
func TestNestedSpansOfOneInstrumentationWithOneAnswerClaimNoTools(t *testing.T) {
	for scope, want := range map[string][]string{"test": {"model_call @2", "model_call @3"}, "client": {"model_call @2+3"}} {
		tr := newTrace()
		attrs := []any{"gen_ai.operation.name", "chat", "gen_ai.request.model", "m1", "gen_ai.response.id", "r1", "gen_ai.response.finish_reasons", []any{"stop"}}
		tr.agent("a", 1, 0, 0, 100, "gen_ai.input.messages", list(user("q")), "gen_ai.output.messages", list(says("end")))
		tr.in("test", "chat", 2, 1, 1, 50, attrs...)
		tr.in(scope, "chat", 3, 2, 30, 49, attrs...)
		tp := the(t, tr.runs(t))
		wantEvents(t, tp, want...)
		if scope == "test" && tp.Fidelity.Replayable.Tools {
			t.Error("tools are claimed")
		}
	}
}

// A span around the model calls of a loop holds the conversation, and its own calls hold nothing but tokens.
func TestContentOfASpanAroundAllCallsOfALoopIsThatOfTheCalls(t *testing.T) {
	tr := newTrace()
	tr.chat(1, 0, 0, 100, list(user("q"), asks(call("c1", "f", `{}`)), shows("c1", "v")), list(says("end")))
	tr.chat(2, 1, 1, 10, "", "", "gen_ai.usage.output_tokens", 7)
	tr.tool("f", 3, 1, 20, 30, "c1", `{}`, "v")
	tr.chat(4, 1, 40, 50, "", "", "gen_ai.usage.output_tokens", 7)
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call @2", "tool_call f @3 by 1 = v", "model_call @4")
	if tp.Input.UserMessage == nil || *tp.Input.UserMessage != "q" || tp.Output.Text == nil || *tp.Output.Text != "end" {
		t.Errorf("asked %v, answered %v", tp.Input.UserMessage, tp.Output.Text)
	}
}

// A model call that an agent without a span of its own made inside a tool began after that around the tool, whose answer ends the run.
func TestAnswerInsideAToolIsNotThatOfTheRun(t *testing.T) {
	tr := newTrace()
	tr.chat(1, 0, 0, 100, list(user("q"), asks(call("c1", "f", `{}`)), shows("c1", "inner")), list(says("outer")))
	tr.tool("f", 2, 1, 10, 90, "c1", `{}`, "inner")
	tr.chat(3, 2, 20, 80, list(user("q2")), list(says("inner")))
	tp := the(t, tr.runs(t))
	if tp.Output.Text == nil || *tp.Output.Text != "outer" {
		t.Errorf("answered %v", tp.Output.Text)
	}
}

// A span around a loop tells why the first answer of it ended, and what the last one said.
func TestReasonOfAnEarlierAnswerIsNotThatOfTheLastOne(t *testing.T) {
	build := func(second string) *tape.Tape {
		tr := newTrace()
		tr.chat(1, 0, 0, 100, list(user("q"), asks(call("c1", "f", `{}`)), shows("c1", "v")), list(says("end")), "gen_ai.response.finish_reasons", `["tool-calls"]`)
		tr.tool("f", 2, 1, 20, 30, "c1", `{}`, "v")
		if second != "" {
			tr.tool("f", 3, 1, 40, 50, second, `{}`, "w")
		}
		return the(t, tr.runs(t))
	}
	if tp := build(""); tp.Run.Status != tape.StatusOK || tp.Output.Text == nil || *tp.Output.Text != "end" {
		t.Errorf("%s, answered %v", tp.Run.Status, tp.Output.Text)
	}
	if tp := build("c2"); tp.Run.Status != tape.StatusIncomplete {
		t.Errorf("%s, and what the last tool returned was never read", tp.Run.Status)
	}
}

// A loop that was cut off leaves no answer to the last results: the conversation on the span around it ends with what it asked last.
func TestConversationOfASpanAroundALoopMayHoldItsLastAnswer(t *testing.T) {
	tr := newTrace()
	tr.chat(1, 0, 0, 100, list(user("q"), asks(call("c1", "f", `{}`)), shows("c1", "v"), asks(call("c2", "g", `{}`)), shows("c2", "w")), "")
	tr.chat(2, 1, 1, 10, "", "", "gen_ai.usage.output_tokens", 7)
	tr.tool("f", 3, 1, 20, 30, "c1", `{}`, "v")
	tr.chat(4, 1, 40, 50, "", "", "gen_ai.usage.output_tokens", 7)
	tr.tool("g", 5, 1, 60, 70, "c2", `{}`, "w")
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call @2", "tool_call f @3 by 1 = v", "model_call @4", "tool_call g @5 by 3 = w")
	if tp.Input.UserMessage == nil || *tp.Input.UserMessage != "q" || tp.Run.Status != tape.StatusIncomplete {
		t.Errorf("asked %v, %s", tp.Input.UserMessage, tp.Run.Status)
	}
}

// Some instrumentations write spans for the chunks of a stream and call them model calls too.
func TestChunksOfAStreamAreNoModelCalls(t *testing.T) {
	tr := newTrace()
	ask := asks(call("c1", "f", `{}`))
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 40, list(user("q")), list(ask), "gen_ai.request.model", "m1")
	tr.in("test", "chunk", 3, 2, 5, 6, "gen_ai.operation.name", "chat", "gen_ai.output.messages", list(ask))
	tr.tool("f", 4, 2, 10, 20, "c1", `{}`, "v")
	tr.in("test", "chunk", 5, 2, 30, 31, "gen_ai.operation.name", "chat", "gen_ai.output.messages", list(ask))
	tr.in("test", "chunk", 7, 2, 32, 33, "gen_ai.operation.name", "chat")
	tr.chat(6, 1, 50, 60, list(user("q"), ask, shows("c1", "v")), list(says("end")), "gen_ai.request.model", "m1")
	wantEvents(t, the(t, tr.runs(t)), "model_call @2", "tool_call f @4 by 1 = v", "model_call @6")
}

// The span between a model call and its chunks may be no part of the evidence: then their parent never comes.
func TestStrayChunksOfAStreamAreNoModelCalls(t *testing.T) {
	const id = "call_0123456789abcdef"
	ask := asks(call(id, "find", `{}`))
	for name, c := range map[string]struct {
		at     int
		scope  string
		answer string
		models int
	}{
		"the call again":                {5, "test", list(ask), 2},
		"the call in other words":       {5, "test", list(says(`{"toolCallId":"` + id + `","toolInput":{}}`)), 2},
		"nothing":                       {5, "test", "", 2},
		"something else":                {5, "test", list(says("something else")), 3},
		"of another instrumentation":    {5, "other", list(ask), 3},
		"at a time that no call was on": {42, "test", list(ask), 3},
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 40, list(user("q")), list(ask), "gen_ai.request.model", "m1")
		tr.tool("find", 4, 1, 45, 47, id, `{}`, "v")
		tr.in(c.scope, "chunk", 3, 99, c.at, c.at, "gen_ai.operation.name", "chat", "gen_ai.output.messages", c.answer)
		tr.chat(6, 1, 50, 60, list(user("q"), ask, shows(id, "v")), list(says("end")), "gen_ai.request.model", "m1")
		if tp := the(t, tr.runs(t)); tp.Usage.ModelCalls != c.models {
			t.Errorf("%s: %v", name, events(tp))
		}
	}
}

// OpenLIT's spans of decorated functions do not say which functions are tools.
func TestFunctionThatNobodyAskedForIsNoCall(t *testing.T) {
	run := func(answer string) *trace {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(answer), "gen_ai.request.model", "m1")
		for i, name := range []string{"f", "load_settings"} {
			tr.in("openlit", name, 3+i, 1, 11+i, 12+i, "function.args", "()", "function.kwargs", "{'x': 1}", "gen_ai.output.messages", "v")
		}
		return tr
	}
	if tp := the(t, run(asks(call("c1", "f", `{"x":1}`))).runs(t)); tp.Usage.ToolCalls != 1 || tp.Events[1].Name != "f" {
		t.Errorf("events %v", events(tp))
	}
	if tp := the(t, run(says("ok")).runs(t)); tp.Usage.ToolCalls != 2 { // nothing says which of them are tools
		t.Errorf("events %v", events(tp))
	}
}

// A model span lies around two calls, of which the second failed. One that goes on with the answer of the first is a call of a loop; one that asks the
// same again is an attempt of the one call.
func TestModelSpanAroundACallThatGoesOnAndFailsIsOfALoop(t *testing.T) {
	failing := func(second string, before bool) []string {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100, "gen_ai.input.messages", list(user("q")))
		tr.chat(2, 1, 1, 99, list(user("q")), "").Status().SetCode(ptrace.StatusCodeError)
		answered, failed := 3, 40
		if before {
			answered, failed = 40, 3
		}
		tr.chat(3, 2, answered, answered+20, list(user("q")), list(asks(call("c1", "f", `{}`))), "gen_ai.response.id", "r1")
		tr.tool("RunnableTool", 4, 2, 61, 62, "c1", `{}`, "v")
		tr.chat(5, 2, failed, failed+20, second, "").Status().SetCode(ptrace.StatusCodeError)
		return events(the(t, tr.runs(t)))
	}
	on := list(user("q"), asks(call("c1", "f", `{}`)), shows("c1", "v"))
	if diff := cmp.Diff([]string{"model_call @3", "tool_call f @4 by 1 = v", "model_call @5 failed"}, failing(on, false)); diff != "" {
		t.Error(diff)
	}
	if got := failing(list(user("q")), true); len(got) != 2 {
		t.Errorf("an attempt that failed is a call of its own: %v", got)
	}
}

// The only span without a parent calls itself a call of a model, and the spans between it and what lies below it are no evidence. What has a parent hangs
// below it all the same; in a trace with a second span without one, nothing says below which.
func TestOrphansHangBelowTheOnlySpanWithoutAParent(t *testing.T) {
	build := func() *trace {
		tr := newTrace()
		ask := asks(call("c1", "f", `{}`))
		tr.chat(1, 0, 0, 100, list(user("q")), list(says("end")))
		tr.chat(3, 90, 1, 10, list(user("q")), list(ask))
		tr.tool("f", 4, 90, 20, 30, "c1", `{}`, "v")
		tr.chat(5, 91, 40, 50, list(shows("c1", "v")), list(says("end")))
		return tr
	}
	wantEvents(t, the(t, build().runs(t)), "model_call @3", "tool_call f @4 by 1 = v", "model_call @5")
	tr := build()
	tr.chat(6, 0, 0, 100, list(user("another")), list(says("no")))
	if got := tr.runs(t); len(got) < 2 {
		t.Errorf("a trace with two tops is one run: %v", events(got[0]))
	}
}

// A framework's span tells what is new since the last call, the one of the client in it the conversation.
func TestSpanInsideTellsTheConversationThatResultsEnd(t *testing.T) {
	build := func(inner string) *trace {
		tr := newTrace()
		tr.chat(1, 0, 50, 60, list(shows("c1", "v")), list(says("end")))
		tr.chat(2, 1, 51, 59, inner, list(says("end")))
		return tr
	}
	tp := the(t, build(list(user("q"), asks(call("c1", "f", `{}`)), shows("c1", "v"))).runs(t))
	wantEvents(t, tp, "model_call @1+2")
	if tp.Input.UserMessage == nil || *tp.Input.UserMessage != "q" {
		t.Error("the user's message is not on the tape")
	}
	if tp = the(t, build(list(user("q"), user("r"))).runs(t)); tp.Input.UserMessage != nil && *tp.Input.UserMessage == "r" {
		t.Error("a request that does not end with results took the place of the results")
	}
}

// The span inside that of a model call holds the request with its own answer behind it, which the program has put into the same list: one call. A request that goes on with
// another answer is a loop.
func TestRequestThatHoldsItsOwnAnswerIsNoLoop(t *testing.T) {
	const own, other = "call_AAAAAAAAAAAAAAAAAAAA", "call_BBBBBBBBBBBBBBBBBBBB"
	for name, c := range map[string]struct {
		inner  []string
		events int
	}{
		"its own answer":              {[]string{asks(call(own, "f", `{}`))}, 3},
		"its own answer and a result": {[]string{asks(call(own, "f", `{}`)), shows(own, "v")}, 3},
		"another answer":              {[]string{asks(call(other, "f", `{}`)), shows(other, "v")}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.agent("a", 1, 0, 0, 100)
			tr.chat(2, 1, 1, 20, list(user("q")), list(asks(call(own, "f", `{}`))), "gen_ai.response.id", "r1")
			tr.chat(3, 2, 2, 19, list(append([]string{user("q")}, c.inner...)...), "", "gen_ai.response.id", "r1")
			tr.tool("f", 4, 1, 30, 40, own, `{}`, "v")
			tr.chat(5, 1, 50, 60, list(user("q"), asks(call(own, "f", `{}`)), shows(own, "v")), list(says("end")))
			if tp := the(t, tr.runs(t)); len(tp.Events) != c.events {
				t.Errorf("%d events", len(tp.Events))
			}
		})
	}
}
