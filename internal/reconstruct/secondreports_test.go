// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// The framework of this run numbers calls in its messages by their place and gives its tool spans ids of its own.
func TestIDsThatNeverMeetAreNoFurtherCalls(t *testing.T) {
	first, second := asks(call("poll_1", "poll", `{"job":7}`)), asks(call("poll_1", "poll", `{"job":7}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(first))
	tr.tool("poll", 3, 1, 11, 12, "uuid-a", `{"job":7}`, "queued")
	tr.chat(4, 1, 20, 30, list(user("q"), first, shows("poll_0", "queued")), list(second))
	tr.tool("poll", 5, 1, 31, 32, "uuid-b", `{"job":7}`, "done")
	tr.chat(6, 1, 40, 50, list(user("q"), first, shows("poll_0", "queued"), second, shows("poll_0", "done")), list(says("end")))
	wantEvents(t, the(t, tr.runs(t)), "model_call @2", "tool_call poll @3 by 1 = queued", "model_call @4", "tool_call poll @5 by 3 = done", "model_call @6")
}

func TestOneIDThatMeetsMakesAllTell(t *testing.T) {
	ask := asks(call("c1", "f", `{"x":1}`), call("c2", "f", `{"x":1}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
	tr.tool("f", 3, 1, 11, 12, "c1", `{"x":1}`, "one")
	tr.tool("f", 4, 1, 13, 14, "c9", `{"x":1}`, "nine")
	tr.chat(5, 1, 20, 30, list(user("q"), ask, shows("c1", "one"), shows("c2", "two")), list(says("end")))
	wantEvents(t, the(t, tr.runs(t)), "model_call @2", "tool_call f @3 by 1 = one", "tool_call f by 1 = two (recovered)", "tool_call f @4 = nine", "model_call @5")
}

// Both reports have the id with which the model asked; what one of them wrote around the arguments makes no second call of it. Other arguments do.
func TestReportWithTheSameIDAndAnEnvelopeOfItsOwnIsNoFurtherCall(t *testing.T) {
	ask := asks(call("c1", "f", `{"x":1}`))
	for args, want := range map[string]int{`{"x":1}`: 1, `{"x":2}`: 2} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("f", 3, 1, 11, 15, "c1", `{"acme":{"payload":{"x":1}}}`, "r")
		tr.in("@traceloop/instrumentation-x", "execute_tool f", 4, 3, 12, 14, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "f", "gen_ai.tool.call.id", "c1",
			"gen_ai.tool.call.arguments", args, "gen_ai.tool.call.result", "r")
		tr.chat(5, 1, 20, 30, list(user("q"), ask, shows("c1", "r")), list(says("end")))
		if tp := the(t, tr.runs(t)); tp.Usage.ToolCalls != want {
			t.Errorf("%s: %v", args, events(tp))
		}
	}
}

func TestReportOfAnotherInstrumentationIsNoFurtherCall(t *testing.T) {
	const other = "@traceloop/instrumentation-x"
	ask := asks(call("c1", "f", `{"x":1}`), call("c2", "f", `{"x":2}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
	tr.tool("f", 3, 1, 11, 15, "c1", "", "")
	tr.tool("f", 4, 1, 11, 15, "c2", "", "")
	for id, args := range map[int]string{5: `{"x":1}`, 6: `{"x":2}`, 7: `{"x":3}`} {
		tr.in(other, "execute_tool f", id, 1, 12, 14, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "f", "gen_ai.tool.call.arguments", args, "gen_ai.tool.call.result", "r"+args)
	}
	tr.chat(8, 1, 20, 30, list(user("q"), ask), list(says("end")))
	tp := the(t, tr.runs(t))
	calls, extra := 0, 0
	for _, e := range tp.Events {
		if e.Type != tape.EventToolCall {
			continue
		}
		calls++
		if want := "r" + e.Args.JSON(); e.Result.Str() != want {
			t.Errorf("the call of %s returned %s", e.Args.JSON(), e.Result.JSON())
		}
		if e.RequestedBy == 0 {
			extra++
		}
	}
	if calls != 3 || extra != 1 { // nobody asked for {"x":3}, so it is a call of its own
		t.Errorf("%d calls, %d that nobody asked for; want 3 and 1", calls, extra)
	}
}

// Some instrumentations write a span for what happens inside a call, its failure for one, and call that a tool as well.
func TestSpanInsideACallThatBringsTheSameIsNoFurtherCall(t *testing.T) {
	ask := asks(call("c1", "f", `{"x":1}`))
	for _, c := range []struct {
		parent             int
		name, args, result string
		calls              int
	}{
		{3, "error", `{"x":1}`, "it broke", 1},
		{3, "inner", `{"x":1}`, "another", 2},  // what the outer call made of it
		{3, "inner", `{"x":2}`, "it broke", 2}, // asked for something else
		{1, "error", `{"x":1}`, "it broke", 2}, // beside it, by the same instrumentation: once more
		{3, "f", `{"x":1}`, "it broke", 1},
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("f", 3, 1, 11, 15, "", `{"x":1}`, "it broke (f)").Status().SetCode(ptrace.StatusCodeError)
		tr.tool(c.name, 4, c.parent, 12, 14, "", c.args, c.result).Status().SetCode(ptrace.StatusCodeError)
		tr.chat(8, 1, 20, 30, list(user("q"), ask, shows("c1", "it broke")), list(says("end")))
		calls := 0
		for _, e := range the(t, tr.runs(t)).Events {
			if e.Type == tape.EventToolCall {
				calls++
			}
		}
		if calls != c.calls {
			t.Errorf("%+v: %d calls", c, calls)
		}
	}
}

func TestNameThatNobodyAskedForIsTheToolWithTheseArguments(t *testing.T) {
	ask := asks(call("c1", "fetch_record", `{"id":"R-4"}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
	tr.tool("StructuredTool", 3, 1, 11, 12, "", `{"call":{"input":["{\"id\":\"R-4\"}"]},"config":{"tags":[]}}`, "found")
	tr.chat(4, 1, 20, 30, list(user("q"), ask, shows("c1", "found")), list(says("end")))
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call @2", "tool_call fetch_record @3 by 1 = found", "model_call @4")
	if got := tp.Events[1].Args.JSON(); got != `{"id":"R-4"}` {
		t.Errorf("arguments %s are still in the envelope that nobody asked for", got)
	}
}

func TestStepThatPreparesAModelCallIsNone(t *testing.T) {
	build := func(model string) []string {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.in("test", "prepare", 2, 1, 1, 2, "gen_ai.operation.name", "chat", "gen_ai.request.model", model)
		tr.chat(3, 1, 3, 10, list(user("q")), list(says("end")), "gen_ai.usage.output_tokens", 7)
		return events(the(t, tr.runs(t)))
	}
	if got := build("m1"); len(got) != 1 {
		t.Errorf("events %v, want the call alone", got)
	}
	if got := build("m2"); len(got) != 2 {
		t.Errorf("events %v: a call of another model was left out", got)
	}
}

// A span of another reporter around the step changes nothing.
func TestWrappedStepThatPreparesAModelCallIsNone(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.in("gateway", "prepare", 4, 1, 1, 2, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1")
	tr.in("test", "prepare", 2, 4, 1, 2, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1")
	tr.in("gateway", "chat", 5, 1, 3, 10, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1", "gen_ai.input.messages", list(user("q")), "gen_ai.output.messages", list(says("end")), "gen_ai.usage.output_tokens", 7)
	tr.chat(3, 5, 3, 10, list(user("q")), list(says("end")), "gen_ai.usage.output_tokens", 7)
	if got := events(the(t, tr.runs(t))); len(got) != 1 {
		t.Errorf("events %v, want the call alone", got)
	}
}

func TestAnswerIsNoRepresentationOfAnObject(t *testing.T) {
	for output, want := range map[string]string{
		"StopEvent(result=AgentOutput(response=ChatMessage(role=<Mess...": "it's 7",
		`{'answer': 'it\'s 7', 'error': None}`:                            "it's 7",
		`{"answer":"it's 7","steps":2}`:                                   "it's 7",
		`{"answer":"it's 8","steps":2}`:                                   `{"answer":"it's 8","steps":2}`,
		"The tools say: it's 7":                                           "The tools say: it's 7",
		"{'rows': 12}":                                                    "{'rows': 12}",
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100, "gen_ai.output.messages", list(says(output)))
		tr.chat(2, 1, 1, 10, list(user("q")), list(says("it's 7")))
		if got := the(t, tr.runs(t)).Output.Text; got == nil || *got != want {
			t.Errorf("root says %q: final answer %v, want %q", output, got, want)
		}
	}
}

func TestQuestionIsAMemberOfWhatTheRunWasStartedWith(t *testing.T) {
	for input, want := range map[string]string{
		`{"question":"how high?","history":[]}`:      "how high?",
		`{"question":"how wide?","history":[]}`:      `{"question":"how wide?","history":[]}`,
		`{"for":{"question":"how high?"},"limit":1}`: `{"for":{"question":"how high?"},"limit":1}`,
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100, "gen_ai.input.messages", list(user(input)))
		tr.chat(2, 1, 1, 10, list(user("how high?")), list(says("7")))
		if got := the(t, tr.runs(t)).Input.UserMessage; got == nil || *got != want {
			t.Errorf("the run was started with %s: asked %v, want %s", input, got, want)
		}
	}
}

func TestAgentThatTakesOverHasItsOwnInstructions(t *testing.T) {
	system := func(text string) string {
		return `{"role":"system","parts":[{"type":"text","content":` + quote(text) + `}]}`
	}
	handed := asks(`{"type":"text","content":"Handing over."}`, call("c1", "transfer_to_b", `{}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(system("one"), user("q")), list(says("Handing over.")))
	tr.agent("b", 3, 1, 20, 90)
	tr.chat(4, 3, 30, 40, list(system("two"), user("q"), handed, shows("c1", "ok")), list(says("end")))
	tp := the(t, tr.runs(t))
	if tp.Events[0].Provenance["response.message"] != tape.Recovered || tp.Output.Text == nil || *tp.Output.Text != "end" {
		t.Errorf("the call that hands over was not completed from the next request: %v", events(tp))
	}
}

func TestTaskIsToldFromThePromptAroundIt(t *testing.T) {
	for in, want := range map[string]string{
		`{"task":"find it","stream":false}`:            "find it",
		`{"args":[{"description":"find it"}]}`:         "find it",
		`{"task":"something that nobody sent"}`:        "Task: find it\nAnswer in one word.",
		`{"options":{"format":"Answer in one word."}}`: "Task: find it\nAnswer in one word.",
	} {
		tr := newTrace()
		tr.in("crew", "kickoff", 1, 0, 0, 100, "openinference.span.kind", "CHAIN", "input.value", in)
		tr.chat(2, 1, 1, 10, list(user("Task: find it\nAnswer in one word.")), list(says("end")))
		if got := the(t, tr.runs(t)).Input.UserMessage; got == nil || *got != want {
			t.Errorf("%s: user message %v, want %q", in, got, want)
		}
	}
}

// A text that the model was told of a failure may be the framework's own: it stays a text, where a tool's other literals are values.
func TestLiteralOfAFailureStaysTheTextThatWasShown(t *testing.T) {
	for shown, want := range map[string]string{
		`{'error': "Error executing tool 'f': no such order"}`: `"{'error': \"Error executing tool 'f': no such order\"}"`,
		`{'error': 5}`:                `{"error":5}`,
		`{'order': 5, 'error': 'no'}`: `{"order":5,"error":"no"}`,
	} {
		ask := asks(call("call_0000001", "f", `{"x":1}`))
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.chat(3, 1, 20, 30, list(user("q"), ask, shows("call_0000001", shown)), list(says("end")))
		if got := the(t, tr.runs(t)).Events[1].Result.JSON(); got != want {
			t.Errorf("%s: result %s, want %s", shown, got, want)
		}
	}
}

// A call that was given up may have gone on.
func TestCallThatWasGivenUpHasAnUnknownResult(t *testing.T) {
	for thrown, want := range map[string]tape.Label{"asyncio.exceptions.CancelledError": tape.Missing, "CancelledError": tape.Missing, "TimeoutError": "", "OrderCancelledErrorBase": ""} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(asks(call("c1", "f", `{"x":1}`))))
		tr.tool("f", 3, 1, 11, 12, "c1", `{"x":1}`, "", "error.type", thrown).Status().SetCode(ptrace.StatusCodeError)
		if e := the(t, tr.runs(t)).Events[1]; e.Provenance["result"] != want || e.Status != tape.EventError {
			t.Errorf("%s: %s, labelled %q, want %q", thrown, e.Status, e.Provenance["result"], want)
		}
	}
}

// Gemini's API takes objects alone as results: what a tool returned that is none comes out of the object, whoever recorded it, if the API's form or the
// provider says that it went there.
func TestValueThatGeminisAPITakesAsAnObject(t *testing.T) {
	const asked = `{"role":"model","parts":[{"functionCall":{"id":"c1","name":"f","args":{"x":1}}}]}`
	const told = `{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","response":{"result":17}}]}`
	for _, c := range []struct{ ask, shown, provider, result, want string }{
		{asked, `{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"f","response":{"result":17}}}]}`, "", `{"result":17}`, "17"},
		{asked, `{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"f","response":{"result":{"a":1}}}}]}`, "", `{"result":{"a":1}}`, `"{\"result\":{\"a\":1}}"`},
		{asks(call("c1", "f", `{"x":1}`)), told, "gcp.gemini", `{"result":17}`, "17"},
		{asks(call("c1", "f", `{"x":1}`)), told, "openai", `{"result":17}`, `"{\"result\":17}"`},
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(c.ask), "gen_ai.provider.name", c.provider)
		tr.tool("f", 3, 1, 11, 12, "c1", `{"x":1}`, c.result)
		tr.chat(4, 1, 20, 30, list(user("q"), c.ask, c.shown), list(says("end")), "gen_ai.provider.name", c.provider)
		if tp := the(t, tr.runs(t)); tp.Events[1].Result.JSON() != c.want || !tp.Fidelity.Replayable.Tools {
			t.Errorf("%s shown by %q: result %s, want %s; tools claimed: %v", c.shown, c.provider, tp.Events[1].Result.JSON(), c.want, tp.Fidelity.Replayable.Tools)
		}
	}
}

// A response that was recorded without its text and without ids is found where it is resent.
func TestResultIsFoundBelowAResponseThatWasRecordedInPart(t *testing.T) {
	whole := strings.Replace(asks(call("c1", "f", `{"x":1}`)), `"parts":[`, `"parts":[{"type":"text","content":"One moment…"},`, 1)
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(asks(call("", "f", `{"x":1}`))))
	tr.tool("f", 3, 1, 11, 12, "", `{"x":1}`, `{"acme":{"payload":{"roll":3}}}`)
	tr.chat(4, 1, 20, 30, list(user("q"), whole, shows("c1", `{"roll":3}`)), list(says("end")))
	if e := the(t, tr.runs(t)).Events[1]; e.Result.JSON() != `{"roll":3}` || fmt.Sprint(e.Envelope) != "[acme.payload]" {
		t.Errorf("result %s in %v", e.Result.JSON(), e.Envelope)
	}
}

// Where a program has a span of its own around several calls, LiteLLM writes the attributes of each over those of the one before.
func TestSpanAroundSeveralModelCallsIsNoneOfThem(t *testing.T) {
	ask := asks(call("c1", "f", `{"x":1}`))
	tr := newTrace()
	tr.in("app", "handle", 1, 0, 0, 100, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1", "gen_ai.output.messages", list(says("end")))
	for i, one := range []struct{ request, response string }{{list(user("q")), list(ask)}, {list(user("q"), ask, shows("c1", "r")), list(says("end"))}} {
		tr.in("litellm", "raw", 2+i, 1, 10+20*i, 20+20*i, "gen_ai.operation.name", "chat", "gen_ai.input.messages", one.request, "gen_ai.output.messages", one.response)
	}
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call @2", "tool_call f by 1 = r (recovered)", "model_call @3")
	if tp.Config.Model != "m1" { // what was asked for stands on the span around them alone
		t.Errorf("model %q", tp.Config.Model)
	}
}

// A framework may number failed calls in its own way, and only those.
func TestFailureUnderANumberOfItsOwnIsTheCallThatWasAskedFor(t *testing.T) {
	first, second := asks(call("call-one", "f", `{"x":1}`)), asks(call("call-two", "f", `{"x":1}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(first))
	failed := tr.tool("f", 3, 1, 11, 12, "run-9", `{"x":1}`, "")
	failed.Status().SetCode(ptrace.StatusCodeError)
	tr.chat(4, 1, 20, 30, list(user("q"), first, shows("call-one", "Error: no")), list(second))
	tr.tool("f", 5, 1, 31, 32, "call-two", `{"x":1}`, "yes")
	tr.chat(6, 1, 40, 50, list(user("q"), first, shows("call-one", "Error: no"), second, shows("call-two", "yes")), list(says("end")))
	tp := the(t, tr.runs(t))
	if got := events(tp); len(got) != 5 || tp.Events[1].RequestedBy != 1 || !tp.Events[1].IsError {
		t.Errorf("events %v", got)
	}
}

// Records of calls are written when these end, a moment later than their spans say.
func TestRecordWithoutAnIDBelongsToTheSpanThatEndedWithIt(t *testing.T) {
	const other = "records"
	ask := asks(call("c1", "f", `{"x":1}`), call("c2", "f", `{"x":2}`), call("c3", "f", `{"x":3}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
	tr.tool("f", 3, 1, 11, 60, "own-1", "", "")
	tr.tool("f", 4, 1, 12, 40, "own-2", "", "")
	tr.tool("f", 5, 1, 13, 20, "own-3", "", "")
	for x, end := range map[int]int{1: 61, 2: 41, 3: 21} {
		args := fmt.Sprintf(`{"x":%d}`, x)
		tr.in(other, "execute_tool f", 5+x, 1, end, end, "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "f", "gen_ai.tool.call.arguments", args, "gen_ai.tool.call.result", "r"+args)
	}
	tr.chat(9, 1, 70, 80, list(user("q"), ask), list(says("end")))
	tp := the(t, tr.runs(t))
	if tp.Usage.ToolCalls != 3 {
		t.Errorf("events %v, want three calls of tools", events(tp))
	}
}

// The next model call began within the rounding of clocks, and ended before the last of the calls that this one asked for.
func TestCallsUnderAGenericNameBelongToTheTurnBeforeThem(t *testing.T) {
	const us = 1000
	ask := asks(call("c1", "f", `{}`), call("c2", "f", `{}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
	for i, result := range []string{"one", "two"} {
		span := tr.tool("RunnableTool", 3+i, 1, 20, 20, "", `{}`, result)
		span.SetStartTimestamp(at(20) + pcommon.Timestamp(i*10*us))
		span.SetEndTimestamp(span.StartTimestamp() + 5*us)
	}
	last := tr.chat(5, 1, 20, 20, list(user("q"), ask, shows("c1", "one"), shows("c2", "two")), list(says("end")))
	last.SetStartTimestamp(at(20) + 50*us)
	last.SetEndTimestamp(at(20) + 700*us)
	wantEvents(t, the(t, tr.runs(t)), "model_call @2", "tool_call f @3 by 1 = one", "tool_call f @4 by 1 = two", "model_call @5")
}

// LangChain's tools are spans under the name of their class. What they return names the tool; those that failed return nothing.
func TestAToolThatFailedIsNotCalledByItsClass(t *testing.T) {
	const scope = "@traceloop/instrumentation-langchain"
	for _, c := range []struct {
		why, args, other, want string
	}{
		{"one tool of the class has such arguments", `{"id":2}`, "", "look"},
		{"another tool has other arguments", `{"id":2}`, `{"city":"Oslo"}`, "look"},
		{"two tools have such arguments", `{"id":2}`, `{"id":3}`, "StructuredTool"},
		{"no tool has such arguments", `{"key":2}`, "", "StructuredTool"},
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(says("end")))
		tool := func(id int, args string, more ...any) {
			encoded := exactjson.ArrayValue(exactjson.StringValue(args)).JSON()
			tr.in(scope, "execute_tool StructuredTool", id, 1, 10+2*id, 11+2*id, append([]any{"traceloop.span.kind", "task", "gen_ai.operation.name", "execute_tool", "traceloop.entity.name", "StructuredTool",
				"traceloop.entity.input", `{"args":` + encoded + `}`}, more...)...)
		}
		returned := func(name string) []any {
			return []any{"traceloop.entity.output", `{"lc":1,"type":"constructor","id":["langchain_core","messages","ToolMessage"],"kwargs":{"status":"success","content":"x","tool_call_id":"c1","name":"` + name + `"}}`}
		}
		tool(3, `{"id":1}`, returned("look")...)
		tool(4, c.args)
		if c.other != "" {
			tool(5, c.other, returned("other")...)
		}
		tp, said := the(t, tr.runs(t)), false
		for _, f := range tp.Fidelity.Findings {
			said = said || f.Field == "name" && f.Code == tape.CodeContentAbsent
		}
		for _, e := range tp.Events {
			if e.Type == tape.EventToolCall && e.Result.IsAbsent() && (e.Name != c.want || (e.Provenance["name"] == tape.Missing) != (c.want == "StructuredTool")) {
				t.Errorf("%s: the call that failed is one of %s, %s", c.why, e.Name, e.Provenance["name"])
			}
		}
		if !said {
			t.Errorf("%s: no finding says that the name was not recorded", c.why)
		}
	}
}

// The class of a tool is not what the model asks for: nothing could be served by it. Where a response asked for the call, its name is known.
func TestAToolThatIsNamedByItsClassAloneHasNoName(t *testing.T) {
	for name, asked := range map[string]bool{"nobody shows what was asked": false, "the response shows it": true} {
		tr := newTrace()
		tr.agent("main", 1, 0, 0, 200, "gen_ai.output.messages", list(says("end")))
		if asked {
			tr.chat(4, 1, 1, 5, list(user("go")), list(asks(call("c1", "look", `{"id":7}`))))
		}
		tr.in("mlflow", "LookTool.__call__", 2, 1, 10, 20, "mlflow.spanType", `"TOOL"`, "mlflow.spanInputs", `{"id":7}`, "mlflow.spanOutputs", `"found"`)
		tp := the(t, tr.runs(t))
		for _, e := range tp.Events {
			if e.Type == tape.EventToolCall && (e.Provenance["name"] == tape.Missing) == asked {
				t.Errorf("%s: %q is labelled %q", name, e.Name, e.Provenance["name"])
			}
		}
		if tp.Fidelity.Replayable.Tools != asked {
			t.Errorf("%s: the tape claims %t", name, tp.Fidelity.Replayable.Tools)
		}
	}
}

// The handler of a framework's callbacks does not make its spans the current ones: what the program writes of a tool's function hangs below the span around the run.
func TestFunctionOfAToolThatHangsElsewhereIsNoFurtherCall(t *testing.T) {
	ask := asks(call("c1", "f", `{"x":1}`))
	for name, c := range map[string]struct {
		parent, start, end int
		args, result       string
		calls              int
	}{
		"the same":            {1, 12, 14, `{"x":1}`, "r", 1},
		"the same, around it": {1, 10, 16, `{"x":1}`, "r", 1},
		"beside it":           {3, 12, 14, `{"x":1}`, "r", 2}, // two calls at the same time, one of which was not recorded as asked for
		"another result":      {1, 12, 14, `{"x":1}`, "s", 2},
		"other arguments":     {1, 12, 14, `{"x":2}`, "r", 2},
		"later":               {1, 16, 18, `{"x":1}`, "r", 2},
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.in("somebody", "tools", 3, 1, 10, 19)
		tr.chat(2, 1, 1, 9, list(user("q")), list(ask))
		tr.tool("f", 4, 3, 11, 15, "c1", `{"x":1}`, "r")
		tr.tool("f", 5, c.parent, c.start, c.end, "", c.args, c.result)
		tr.chat(8, 1, 20, 30, list(user("q"), ask, shows("c1", "r")), list(says("end")))
		calls := 0
		for _, e := range the(t, tr.runs(t)).Events {
			if e.Type == tape.EventToolCall {
				calls++
			}
		}
		if calls != c.calls {
			t.Errorf("%s: %d calls, want %d", name, calls, c.calls)
		}
	}
}

// Where no answer on record asks for a call, what a program writes of a function in the time of the framework's own span of the same call, which has the id, reports it once more.
func TestFunctionInTheTimeOfTheFrameworksSpanOfItIsNoOtherCall(t *testing.T) {
	const id = "call_12345678901"
	for name, c := range map[string]struct {
		scope, args, result string
		start, end, want    int
	}{
		"the same":          {"office", `{"n":1}`, "r", 11, 19, 1},
		"other arguments":   {"office", `{"n":2}`, "r", 11, 19, 2},
		"another result":    {"office", `{"n":1}`, "s", 11, 19, 2},
		"before":            {"office", `{"n":1}`, "r", 2, 9, 2},
		"of the same scope": {"app", `{"n":1}`, "r", 11, 19, 2},
	} {
		tool := func(tr *trace, scope, name string, id, parent, start, end int, args, result, callID string) {
			a := []any{"gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", name, "gen_ai.tool.call.arguments", args, "gen_ai.tool.call.result", result}
			if callID != "" {
				a = append(a, "gen_ai.tool.call.id", callID)
			}
			tr.in(scope, "execute_tool "+name, id, parent, start, end, a...)
		}
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 30, list(user("q")), "")
		tool(tr, "app", "f", 3, 2, 10, 20, `{"n":1}`, "r", id)
		tool(tr, c.scope, "f", 4, 1, c.start, c.end, c.args, c.result, "")
		tr.chat(5, 1, 40, 50, list(user("q")), list(says("end")))
		if tp := the(t, tr.runs(t)); tp.Usage.ToolCalls != c.want {
			t.Errorf("%s: %q", name, events(tp))
		}
	}
}
