// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// The program appends to the list that it handed to the client, and the list is written down when the call is done, or the run.
func TestRequestThatHoldsItsOwnAnswerWasRecordedLater(t *testing.T) {
	const id = "call_X4ULTEFGUM44M4GLT6TT7S"
	ask := asks(call(id, "pick", `{"genre":"fantasy"}`))
	build := func(request string) *tape.Tape {
		tr := newTrace()
		tr.chat(1, 0, 0, 10, request, list(ask))
		return the(t, tr.runs(t))
	}
	tp := build(list(user("a story"), ask, shows(id, "Ada"), says("Ada opened the door.")))
	wantEvents(t, tp, "model_call @1", "tool_call pick by 1 = Ada (recovered)", "model_call")
	if n := len(tp.Events[0].Request.Messages); n != 1 || tp.Output.Text == nil || *tp.Output.Text != "Ada opened the door." || tp.Run.Status != tape.StatusOK {
		t.Errorf("%d messages, answered %v, %s", n, tp.Output.Text, tp.Run.Status)
	}
	tp = build(list(user("a story"), says("One moment."), ask, shows(id, "Ada"))) // its text stood before it, as of an earlier turn
	wantEvents(t, tp, "model_call @1", "tool_call pick by 1 = Ada (recovered)")
	if n := len(tp.Events[0].Request.Messages); n != 2 {
		t.Errorf("%d messages, want those of another turn kept", n)
	}
}

// Some packages number the calls of each answer anew, or make ids of names: a request that holds such an id is one turn of many.
func TestRequestWithAnIDThatComesBackIsKept(t *testing.T) {
	for _, id := range []string{"call_0", "call_1234567890_pick"} {
		tr := newTrace()
		ask := asks(call(id, "pick", `{}`))
		tr.chat(1, 0, 0, 10, list(user("a story"), ask, shows(id, "Ada")), list(ask))
		if e := the(t, tr.runs(t)).Events[0]; len(e.Request.Messages) != 3 {
			t.Errorf("%s: %d messages, want 3", id, len(e.Request.Messages))
		}
	}
}

// The steps of a graph return what they add, and no span tells a model call.
func TestStepsThatReturnWhatTheyAddHoldTheConversation(t *testing.T) {
	message := func(class, fields string) string {
		return `{"lc":1,"type":"constructor","id":["langchain_core","messages","` + class + `"],"kwargs":{` + fields + `}}`
	}
	q, end := message("HumanMessage", `"content":"q"`), message("AIMessage", `"content":"end"`)
	ask := message("AIMessage", `"content":"","tool_calls":[{"id":"c1","name":"f","args":{"x":1}}]`)
	told := message("ToolMessage", `"content":"r","tool_call_id":"c1","name":"f"`)
	tr := newTrace()
	step := func(id, start int, given, adds string) {
		tr.in("@traceloop/instrumentation-langchain", "RunnableSequence.task", id, 1, start, start+9, "traceloop.span.kind", "task",
			"traceloop.entity.input", `{"args":[{"messages":[`+given+`]},{"tags":[]}]}`, "traceloop.entity.output", `{"messages":[`+adds+`]}`)
	}
	tr.in("lmnr.tracer", "chat", 1, 0, 0, 100, "lmnr.span.path", []any{"chat"}, "lmnr.span.input", "q", "lmnr.span.output", `"end"`)
	step(2, 10, q, ask)
	step(3, 30, q+","+ask, told)
	step(4, 50, q+","+ask+","+told, end)
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call", "tool_call f by 1 = r (recovered)", "model_call")
	if tp.Output.Text == nil || *tp.Output.Text != "end" {
		t.Errorf("answered %v", tp.Output.Text)
	}
}

// The framework names the model that it asks, the client's SDK also the one that answered. A call that failed took no tokens.
func TestClientsSpanInATraceOfItsOwnIsTheCallThatAskedTheSameModel(t *testing.T) {
	build := func(model string, failed bool) []*tape.Tape {
		framework, sdk := newTrace(), newTrace()
		framework.agent("a", 1, 0, 0, 100)
		client := []any{"gen_ai.operation.name", "chat", "gen_ai.request.model", model}
		if failed {
			framework.chat(2, 1, 10, 30, list(user("q")), "").Status().SetCode(ptrace.StatusCodeError)
		} else {
			usage := []any{"gen_ai.usage.input_tokens", 40, "gen_ai.usage.output_tokens", 12}
			framework.chat(2, 1, 10, 30, list(user("q")), list(says("end")), usage...)
			client = append(append(client, "gen_ai.response.model", "m1-2026-01-01"), usage...)
		}
		span := sdk.in("com.anthropic.sdk.typescript", "anthropic.messages.create", 5, 0, 11, 29, client...)
		if failed {
			span.Status().SetCode(ptrace.StatusCodeError)
		}
		return all(t, framework.numbered(1), sdk.numbered(2))
	}
	for _, failed := range []bool{false, true} {
		if tp := the(t, build("m1", failed)); tp.Usage.ModelCalls != 1 {
			t.Errorf("failed %v: %v", failed, events(tp))
		}
		if tapes := build("m2", failed); len(tapes) != 2 {
			t.Errorf("failed %v: %d runs of two models", failed, len(tapes))
		}
	}
}

// A framework makes the span of a tool the current one, and none of the agent's in it: the client's spans hang beside that agent.
func TestClientsSpanBelowAnAncestorOfTheCallIsTheSameCall(t *testing.T) {
	usage := []any{"gen_ai.usage.input_tokens", 40, "gen_ai.usage.output_tokens", 12}
	build := func(parent int) int {
		tr := newTrace()
		tr.agent("main", 1, 0, 0, 100)
		tr.tool("ask_billing", 2, 1, 10, 90, "c1", `{}`, "end")
		tr.agent("billing", 3, 2, 11, 89)
		tr.agent("other", 6, 1, 91, 99)
		tr.chat(4, 3, 12, 30, list(user("q")), list(says("end")), usage...)
		tr.in("client", "create", 5, parent, 13, 29, append([]any{"gen_ai.operation.name", "chat", "gen_ai.request.model", "m1"}, usage...)...)
		return the(t, tr.runs(t)).Usage.ModelCalls
	}
	if n := build(2); n != 1 {
		t.Errorf("%d model calls, want 1", n)
	}
	if n := build(6); n != 2 {
		t.Errorf("%d model calls, want 2: the client's lies below another agent", n)
	}
}

// An instrumentation leaves the calls out of answers, and the messages that asked for them out of requests: a result goes on with what asked for tools.
func TestResultGoesOnWithAnAnswerThatLacksItsCalls(t *testing.T) {
	tool := `{"role":"tool","parts":[{"type":"text","content":"sunny"}]}`
	for reason, runs := range map[string]int{"tool_calls": 1, "stop": 2} {
		first, second := newTrace(), newTrace()
		first.chat(1, 0, 0, 10, list(user("q")), `[{"role":"assistant","parts":[]}]`, "gen_ai.response.finish_reasons", []any{reason})
		second.chat(2, 0, 20, 30, list(user("q"), tool), list(says("end")))
		if tapes := all(t, first.numbered(1), second.numbered(2)); len(tapes) != runs {
			t.Errorf("%s: %d runs, want %d", reason, len(tapes), runs)
		}
	}
}

// Neither the answer nor the request shows the call, and no reason says that there was one: the request tells what the tool in another trace returned.
func TestToolWhoseCallNothingShowsIsOfTheRunThatWasToldItsResult(t *testing.T) {
	for told, runs := range map[string]int{"it is sunny in Quito": 1, "it rains in Quito": 2} {
		first, tool, second := newTrace(), newTrace(), newTrace()
		empty := `{"role":"assistant","parts":[{"type":"text","content":""}]}`
		first.chat(1, 0, 0, 10, list(user("q")), list(empty))
		tool.tool("get_weather", 2, 0, 12, 18, "", `{"city":"Quito"}`, "it is sunny in Quito")
		second.chat(3, 0, 20, 30, list(user("q"), empty, shows("", told)), list(says("end")))
		if tapes := all(t, first.numbered(1), tool.numbered(2), second.numbered(3)); len(tapes) != runs {
			t.Errorf("%s: %d runs, want %d", told, len(tapes), runs)
		}
	}
}

// A call that failed tells nothing of what was sent: it is that of the one run that waits for an answer.
func TestFailedCallWithoutContentEndsTheRunThatWaits(t *testing.T) {
	ask := asks(call("call_1", "f", `{}`))
	build := func(waiting int, after int, model string) []*tape.Tape {
		var traces []*trace
		for i := range waiting {
			tr := newTrace()
			tr.chat(1+i, 0, i, 10+i, list(user(fmt.Sprint("q", i))), list(ask))
			traces = append(traces, tr.numbered(byte(1+i)))
		}
		failed := newTrace()
		failed.in("test", "chat", 9, 0, after, after+10, "gen_ai.operation.name", "chat", "gen_ai.request.model", model, "error.type", "SDKError").Status().SetCode(ptrace.StatusCodeError)
		return all(t, append(traces, failed.numbered(9))...)
	}
	if tp := the(t, build(1, 20, "m1")); tp.Run.Status != tape.StatusError || tp.Usage.ModelCalls != 2 {
		t.Errorf("%s %v", tp.Run.Status, events(tp))
	}
	for why, tapes := range map[string][]*tape.Tape{"of another model": build(1, 20, "m2"), "before": build(1, 5, "m1"), "an hour later": build(1, 3_600_000, "m1")} {
		if len(tapes) != 2 {
			t.Errorf("%s: %d runs, want 2", why, len(tapes))
		}
	}
	if tapes := build(2, 20, "m1"); len(tapes) != 3 {
		t.Errorf("%d runs, want 3: which of two that wait failed is not known", len(tapes))
	}
}

// Another instrumentation reads the stream to its end, in a trace of its own: the whole request tells that it is the same call.
func TestCallWithoutAnAnswerIsTheOneThatAnotherInstrumentationReportsWithIt(t *testing.T) {
	build := func(request string, others int) []*tape.Tape {
		framework, client := newTrace(), newTrace()
		framework.agent("a", 1, 0, 0, 100)
		for i := range 1 + others {
			framework.chat(2+i, 1, 10-i, 30, list(user("q")), "")
		}
		client.in("client", "chat", 8, 0, 11, 29, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1", "gen_ai.input.messages", request, "gen_ai.output.messages", list(says("end")))
		return all(t, framework.numbered(1), client.numbered(2))
	}
	tp := the(t, build(list(user("q")), 0))
	if tp.Usage.ModelCalls != 1 || tp.Output.Text == nil || *tp.Output.Text != "end" {
		t.Errorf("%v, answered %v", events(tp), tp.Output.Text)
	}
	for why, tapes := range map[string][]*tape.Tape{"another request": build(list(user("r")), 0), "two calls": build(list(user("q")), 1)} {
		if len(tapes) != 2 {
			t.Errorf("%s: %d runs, want 2", why, len(tapes))
		}
	}
}

// An instrumentation that loses the context of a stream keeps the span of the first call alone; the tools have spans.
func TestCallsThatNoSpanReportsStandBeforeTheToolsThatTheyAskedFor(t *testing.T) {
	const one, two = "call_X4ULTEFGUM44M4GLT6TT7S", "call_Y4ULTEFGUM44M4GLT6TT7S"
	first, second := asks(call(one, "poll", `{"job":7}`)), asks(call(two, "poll", `{"job":7}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q"), first, shows(one, "queued"), second, shows(two, "done"), says("It is done.")), list(first))
	tr.tool("poll", 3, 1, 20, 30, "", `{"job":7}`, "queued")
	tr.tool("poll", 4, 1, 50, 60, "", `{"job":7}`, "done")
	wantEvents(t, the(t, tr.runs(t)), "model_call @2", "tool_call poll @3 by 1 = queued", "model_call", "tool_call poll @4 by 3 = done", "model_call")

	tr = newTrace() // no span fits
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q"), first, shows(one, "queued"), second, shows(two, "done"), says("It is done.")), list(first))
	tr.tool("ping", 3, 1, 20, 30, "", `{}`, "pong")
	wantEvents(t, the(t, tr.runs(t)), "model_call @2", "tool_call poll by 1 = queued (recovered)", "model_call", "tool_call poll by 3 = done (recovered)", "tool_call ping @3 = pong", "model_call")
}

// A span that was lost, or that an instrumentation wrote over, is a model call all the same where a later request tells what it asked for and what came of it.
func TestCallBetweenAnAnswerAndTheNextRequestWasAModels(t *testing.T) {
	const one, two = "call_X4ULTEFGUM44M4GLT6TT7S", "call_Y4ULTEFGUM44M4GLT6TT7S"
	build := func(before []string, between ...string) []string {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		first := asks(call(one, "poll", `{"job":7}`))
		asked := append(before, user("q"))
		tr.chat(2, 1, 1, 10, list(asked...), list(first))
		all := append(append(asked, first, shows(one, "queued")), between...)
		tr.chat(5, 1, 60, 70, list(all...), list(says("It is done.")))
		return events(the(t, tr.runs(t)))
	}
	second := asks(call(two, "look", `{"at":1}`))
	for name, c := range map[string]struct {
		got  []string
		want int // model calls
	}{
		"a call and its result":       {build(nil, second, shows(two, "here")), 3},
		"no result":                   {build(nil, second), 2},
		"an id that comes back":       {build(nil, asks(call("call_0", "look", `{}`)), shows("call_0", "here")), 2},
		"a text":                      {build(nil, says("one moment")), 2},
		"a call of before the answer": {build([]string{second, shows(two, "here")}), 2},
		"the first once more":         {build(nil, asks(call(one, "poll", `{"job":7}`)), shows(one, "queued")), 2},
	} {
		models := 0
		for _, e := range c.got {
			if strings.HasPrefix(e, "model_call") {
				models++
			}
		}
		if models != c.want {
			t.Errorf("%s: %v, want %d model calls", name, c.got, c.want)
		}
	}
	wantedOrder := []string{"model_call @2", "tool_call poll by 1 = queued (recovered)", "model_call", "tool_call look by 3 = here (recovered)", "model_call @5"}
	if got := build(nil, second, shows(two, "here")); !slices.Equal(got, wantedOrder) {
		t.Errorf("%v", got)
	}
}

// Spans behind the first call of a loop were lost. The state that the step around it ended with tells what was asked for and answered then.
func TestStateOfAStepTellsWhatFollowedTheLastSpan(t *testing.T) {
	const one, two = "call_X4ULTEFGUM44M4GLT6TT7S", "call_Y4ULTEFGUM44M4GLT6TT7S"
	first, second := asks(call(one, "poll", `{"job":7}`)), asks(call(two, "look", `{"at":1}`))
	build := func(end int, state ...string) []string {
		tr := newTrace()
		tr.in("graph", "graph", 1, 0, 0, end, "openinference.span.kind", "CHAIN", "input.value", `{"messages":`+list(user("q"))+`}`, "output.value", `{"messages":`+list(state...)+`}`)
		tr.chat(2, 1, 1, 10, list(user("q")), list(first))
		return events(the(t, tr.runs(t)))
	}
	for name, c := range map[string]struct {
		got  []string
		want []string
	}{
		"a call, and an answer": {build(100, user("q"), first, shows(one, "queued"), second, shows(two, "here"), says("Done.")),
			[]string{"model_call @2", "tool_call poll by 1 = queued (recovered)", "model_call", "tool_call look by 3 = here (recovered)", "model_call"}},
		"an answer":             {build(100, user("q"), first, shows(one, "queued"), says("Done.")), []string{"model_call @2", "tool_call poll by 1 = queued (recovered)", "model_call"}},
		"no result before it":   {build(100, user("q"), first, says("Done.")), []string{"model_call @2", "tool_call poll by 1 failed (missing)"}},
		"an id that comes back": {build(100, user("q"), first, shows(one, "queued"), asks(call("call_0", "look", `{}`)), shows("call_0", "here")), []string{"model_call @2", "tool_call poll by 1 = queued (recovered)"}},
		"another conversation":  {build(100, user("q"), second, shows(two, "here"), says("Done.")), []string{"model_call @2", "tool_call poll by 1 failed (missing)"}},
		"a step that ended":     {build(5, user("q"), first, shows(one, "queued"), says("Done.")), []string{"model_call @2", "tool_call poll by 1 = queued (recovered)"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %q, want %q", name, c.got, c.want)
		}
	}
}

// A program may keep the calls of one answer in messages of their own, each before its result. Where no answer is on record, no model was asked between them; where one is, and has other calls, one was.
func TestCallsOfOneAnswerInMessagesOfTheirOwn(t *testing.T) {
	const one, two = "call_X4ULTEFGUM44M4GLT6TT7S", "call_Y4ULTEFGUM44M4GLT6TT7S"
	for name, c := range map[string]struct {
		answer string
		second string
		want   int
	}{
		"no answer on record":    {"", asks(call(two, "look", `{"at":1}`)), 2},
		"the first one's answer": {list(asks(call(one, "poll", `{"job":7}`))), asks(call(two, "look", `{"at":1}`)), 3},
		"ids that come back":     {"", asks(call("call_1", "look", `{"at":1}`)), 2},
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), c.answer)
		id := two
		if strings.Contains(c.second, "call_1") {
			id = "call_1"
		}
		tr.chat(5, 1, 60, 70, list(user("q"), asks(call(one, "poll", `{"job":7}`)), shows(one, "queued"), c.second, shows(id, "here")), list(says("It is done.")))
		models, asked := 0, 0
		for _, e := range events(the(t, tr.runs(t))) {
			if strings.HasPrefix(e, "model_call") {
				models++
			}
			if strings.HasPrefix(e, "tool_call") && strings.Contains(e, " by 1 ") {
				asked++
			}
		}
		if models != c.want || c.want == 2 && id == two && asked != 2 {
			t.Errorf("%s: %v", name, events(the(t, tr.runs(t))))
		}
	}
}

// Results without ids behind an answer of which no record tells calls are those of the tools that ran then, in their order, where there is only one.
func TestResultsBehindAnAnswerWithoutCalls(t *testing.T) {
	result := func(text string) string {
		return `{"role":"tool","parts":[{"type":"text","content":` + quote(text) + `}]}`
	}
	for name, c := range map[string]struct {
		second int // when the second tool ends
		shown  []string
		want   string
	}{
		"in their order": {50, []string{result("r1"), result("r2")}, "r1 r2"},
		"one is missing": {50, []string{result("r1")}, " "},
		"they crossed":   {25, []string{result("r1"), result("r2")}, " "},
		"an id is there": {50, []string{shows("call_other", "r1"), result("r2")}, " "},
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), "")
		tr.tool("f", 3, 1, 20, 40, "call_X4ULTEFGUM44M4GLT6TT7S", `{"x":1}`, "")
		tr.tool("g", 4, 1, 22, c.second, "call_Y4ULTEFGUM44M4GLT6TT7S", `{"x":2}`, "")
		tr.chat(5, 1, 60, 70, list(append([]string{user("q")}, c.shown...)...), list(says("Done.")))
		var got []string
		for _, e := range the(t, tr.runs(t)).Events {
			if e.Type == tape.EventToolCall {
				got = append(got, e.Result.Str())
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A tool that is an agent asks a model itself. What the caller's model is shown then, under an id that no record tells, is of that tool, whose span tells none either.
func TestResultBehindAnAnswerWithoutCallsIsOfTheToolAroundAnotherModelCall(t *testing.T) {
	for name, c := range map[string]struct{ id, called, beside, want string }{
		"an id that nobody knows": {"call_Z4ULTEFGUM44M4GLT6TT7S", "", "", "r1"},
		"no id":                   {"", "", "", "r1"},
		"the tool has another":    {"call_Z4ULTEFGUM44M4GLT6TT7S", "call_X4ULTEFGUM44M4GLT6TT7S", "", ""},
		"another tool has it":     {"call_Z4ULTEFGUM44M4GLT6TT7S", "", "call_Z4ULTEFGUM44M4GLT6TT7S", ""},
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), "")
		tr.tool("ask", 3, 1, 20, 50, c.called, `{"question":"x"}`, "")
		tr.chat(4, 3, 25, 40, list(user("x")), list(says("r1")))
		if c.beside != "" {
			tr.tool("g", 6, 3, 41, 45, c.beside, `{}`, "r1")
		}
		tr.chat(5, 1, 60, 70, list(user("q"), `{"role":"assistant","parts":[]}`, `{"role":"tool","parts":[{"type":"tool_call_response","id":`+quote(c.id)+`,"response":"r1"}]}`), list(says("Done.")))
		for _, e := range the(t, tr.runs(t)).Events {
			if e.Type == tape.EventToolCall && e.Name == "ask" && e.Result.Str() != c.want {
				t.Errorf("%s: %q", name, e.Result.Str())
			}
		}
	}
}

// A step of a graph may hold messages and no word of what it is. The call of a model in it is the only one, and tells whose the tool is that ran in another step.
func TestStepWithMessagesAroundAModelCallIsNone(t *testing.T) {
	const id = "call_X4ULTEFGUM44M4GLT6TT7S"
	tr := newTrace() // the span around both steps is no evidence
	tr.in("test", "model", 2, 1, 1, 30, "gen_ai.input.messages", list(user("q")))
	tr.chat(3, 2, 10, 20, list(user("q")), list(asks(call(id, "f", `{}`))))
	tr.tool("f", 5, 4, 40, 50, id, `{}`, "r")
	tr.in("test", "model", 6, 1, 60, 90, "gen_ai.input.messages", list(user("q")))
	tr.chat(7, 6, 70, 80, list(user("q"), asks(call(id, "f", `{}`)), shows(id, "r")), list(says("Done.")))
	wantEvents(t, the(t, tr.runs(t)), "model_call @3", "tool_call f @5 by 1 = r", "model_call @7")

	tr = newTrace() // no call in it
	tr.in("test", "model", 2, 0, 1, 50, "gen_ai.input.messages", list(user("q")))
	if got := events(the(t, tr.runs(t))); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// What a model said since the user did is written down as its answer: the calls of the answers before are asked for once.
func TestAnswersThatHoldThoseBeforeThem(t *testing.T) {
	const first, second = "call_X4ULTEFGUM44M4GLT6TT7S", "call_Q32JSEKI7K5TMDQDB3QZ2F"
	for _, last := range []string{says("done"), ""} {
		ask, again := asks(call(first, "pick", `{"n":1}`)), asks(call(second, "pick", `{"n":2}`))
		tr := newTrace()
		tr.agent("main", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("pick", 3, 1, 11, 19, first, `{"n":1}`, "Ada")
		tr.chat(4, 1, 20, 30, list(user("q")), list(ask, again))
		tr.tool("pick", 5, 1, 31, 39, second, `{"n":2}`, "Bob")
		said := []string{ask, again}
		if last != "" {
			said = append(said, last)
		}
		tr.chat(6, 1, 40, 50, list(user("q")), list(said...))
		wantEvents(t, the(t, tr.runs(t)), "model_call @2", "tool_call pick @3 by 1 = Ada", "model_call @4", "tool_call pick @5 by 3 = Bob", "model_call @6")
	}
	for _, failed := range []bool{false, true} {
		tr := newTrace()
		tr.agent("main", 1, 0, 0, 100)
		ask := list(asks(call(first, "pick", `{"n":1}`)))
		tr.chat(2, 1, 1, 10, list(user("q")), ask)
		tr.tool("pick", 3, 1, 11, 19, first, `{"n":1}`, "Ada")
		again := tr.chat(4, 1, 21, 30, list(user("q")), ask)
		want := []string{"model_call @2", "tool_call pick @3 by 1 = Ada", "model_call @4 failed"}
		if failed {
			again.Status().SetCode(ptrace.StatusCodeError)
		} else { // an answer from a cache, which is asked for again
			tr.tool("pick", 5, 1, 31, 39, first, `{"n":1}`, "Ada")
			want = []string{"model_call @2", "tool_call pick @3 by 1 = Ada", "model_call @4", "tool_call pick @5 by 3 = Ada"}
		}
		wantEvents(t, the(t, tr.runs(t)), want...)
	}
}

// The span of the first model call never came; the run was asked the text behind which the next request shows what that answered.
func TestFirstCallThatNoSpanReportsIsReadFromTheNextRequest(t *testing.T) {
	conversation := func(text string) string {
		return list(user("Before."), says("It was."), user(text), asks(call("call_0001abcdefghij", "find", `{"n":1}`)), shows("call_0001abcdefghij", "r"))
	}
	put := []string{"model_call", "tool_call find by 1 = r", "model_call @3"}
	for _, c := range []struct {
		input, request string
		want           []string
	}{
		{list(user("q")), conversation("q"), put},
		{list(user("Before."), says("It was."), user("q"), asks(call("call_0001abcdefghij", "find", `{"n":1}`))), conversation("q"), put[2:]}, // it was handed over with the question
		{list(user("Go on.")), conversation("q"), put[2:]},
		{"", conversation("q"), put[2:]},
	} {
		tr := newTrace()
		attrs := []any{}
		if c.input != "" {
			attrs = append(attrs, "gen_ai.input.messages", c.input)
		}
		tr.agent("assistant", 1, 0, 0, 100, attrs...)
		tr.chat(3, 1, 31, 40, c.request, list(says("The end of it.")))
		tp := the(t, tr.runs(t))
		if got := events(tp); len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", c.input, got, c.want)
		}
	}
}

// Google's client calls functions by itself: one span holds what the model said in all turns, and the tools ran below it. Where they ran beside it the text was said with the calls.
func TestTextBehindCallsThatRanWithinTheSpanIsTheAnswerOfTheLoop(t *testing.T) {
	for parent, want := range map[int][]string{
		2: {"model_call @2", "tool_call find @3 by 1 = r", "model_call"},
		1: {"model_call @2", "tool_call find @3 by 1 = r"},
	} {
		tr := newTrace()
		tr.agent("assistant", 1, 0, 0, 100)
		said := `{"role":"assistant","parts":[` + call("", "find", `{"n":1}`) + `,{"type":"text","content":"The end of it."}]}`
		end := map[int]int{1: 10, 2: 90}[parent]
		tr.chat(2, 1, 1, end, list(user("q")), list(said))
		tr.tool("find", 3, parent, 20, 30, "", `{"n":1}`, "r")
		tp := the(t, tr.runs(t))
		wantEvents(t, tp, want...)
		if answered := tp.Output.Text != nil && *tp.Output.Text == "The end of it."; answered != (parent == 2) {
			t.Errorf("below %d: answered %v", parent, tp.Output.Text)
		}
	}
}
