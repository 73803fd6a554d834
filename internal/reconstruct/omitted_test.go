// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"fmt"
	"slices"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/tape"
)

// Some producers number the messages of a request, and leave a message without content out, with the calls that it asks for.

// numbered writes messages one attribute each: role and content by turns. One without a role is left out.
func numbered(kind, prefix string, messages ...string) []any {
	attrs := []any{"gen_ai.span.kind", kind}
	for i := 0; i < len(messages); i += 2 {
		if messages[i] != "" {
			attrs = append(attrs, fmt.Sprintf("%s.%d.role", prefix, i/2), messages[i], fmt.Sprintf("%s.%d.content", prefix, i/2), messages[i+1])
		}
	}
	return attrs
}

func prompts(kind string, messages ...string) []any {
	return numbered(kind, "gen_ai.prompt", messages...)
}

func asked(content, calls string) string {
	return `{"role":"assistant","content":` + quote(content) + `,"tool_calls":[` + calls + `]}`
}

func function(id, name, args string) string {
	return `{"id":` + quote(id) + `,"type":"function","function":{"name":` + quote(name) + `,"arguments":` + quote(args) + `}}`
}

// omitting is a run with two turns that ask for a tool. The second turn and what follows hang below the span of that id, 0 for none.
func omitting(tools bool, below int) *trace {
	tr := newTrace()
	model := func(id, parent, start int, answer string, messages ...string) {
		tr.in("maker", "chat", id, parent, start, start+5, append(prompts("chatmodel", messages...), "gen_ai.request.model", "m1", "gen_ai.completion.0.content", answer)...)
	}
	tool := func(id, parent, start int, args, result string) {
		if tools {
			tr.in("maker", "look", id, parent, start, start+5, append(prompts("tool", "user", quote(args)), "gen_ai.completion.0.content", quote(result))...)
		}
	}
	tr.in("maker", "graph", 1, 0, 0, 100, prompts("workflow", "user", "look twice")...)
	model(2, 1, 10, `[`+asked("", function("call_one", "look", `{"n":1}`))+`]`, "user", "look twice")
	tool(3, 1, 20, `{"n":1}`, "first seen")
	model(4, below, 30, `[`+asked("", function("call_two", "look", `{"n":2}`))+`]`, "user", "look twice", "", "", "tool", "first seen")
	tool(5, below, 40, `{"n":2}`, "then seen")
	model(6, below, 50, `[{"role":"assistant","content":"seen"}]`, "user", "look twice", "", "", "tool", "first seen", "", "", "tool", "then seen")
	return tr
}

func TestMessageWhoseNumberIsMissingIsTheAnswerThatAskedForTheTools(t *testing.T) {
	tp := the(t, omitting(false, 1).runs(t))
	wantEvents(t, tp, "model_call @2", "tool_call look by 1 = first seen (recovered)",
		"model_call @4", "tool_call look by 3 = then seen (recovered)", "model_call @6")
	last := tp.Events[4]
	if n := len(last.Request.Messages); n != 5 {
		t.Errorf("%d messages of 5 in the last request", n)
	}
	if got, want := last.Request.Messages[3], tp.Events[2].Response.Message; got != want {
		t.Errorf("the fourth message is %s, the answer that stood there was %s", got, want)
	}
	if got := last.Provenance["request.messages"]; got != tape.Recovered {
		t.Errorf("the request is %q, want recovered", got)
	}
	if got := tp.Events[0].Provenance["request.messages"]; got != "" {
		t.Errorf("the request of the first call is %q, and was recorded whole", got)
	}
}

func TestTurnsBeyondAMissingMessageAreOneRunWithThoseBefore(t *testing.T) {
	wantEvents(t, the(t, omitting(true, 0).runs(t)), "model_call @2", "tool_call look @3 by 1 = first seen",
		"model_call @4", "tool_call look @5 by 3 = then seen", "model_call @6")
}

// Of an answer that only its place shows, and of which no other record is known, no message is made.
func TestMissingMessageThatNothingShowsIsNoMessage(t *testing.T) {
	tr := newTrace()
	tr.in("maker", "chat", 1, 0, 0, 5, append(prompts("chatmodel", "user", "q", "", "", "tool", "v"), "gen_ai.request.model", "m1", "gen_ai.completion.0.content", "end")...)
	tp := the(t, tr.runs(t))
	if n := len(tp.Events[0].Request.Messages); n != 2 {
		t.Errorf("%d messages of 2", n)
	}
}

// Two numbers in a row, or one before a message of the user, tell nothing of what stood there.
func TestOtherGapsInTheNumbersOfMessagesAreClosed(t *testing.T) {
	for name, request := range map[string][]string{
		"two in a row": {"user", "q", "", "", "", "", "tool", "v"}, "before a user message": {"user", "q", "", "", "user", "r"},
	} {
		tr := newTrace()
		tr.in("maker", "chat", 1, 0, 0, 5, append(prompts("chatmodel", "user", "q"), "gen_ai.request.model", "m1", "gen_ai.completion.0.content", `[`+asked("", function("c", "f", "{}"))+`]`)...)
		tr.in("maker", "chat", 2, 0, 10, 15, append(prompts("chatmodel", request...), "gen_ai.request.model", "m1", "gen_ai.completion.0.content", "end")...)
		for _, tp := range tr.runs(t) {
			if slices.ContainsFunc(tp.Events, func(e tape.Event) bool { return e.Provenance["request.messages"] != "" || !e.Result.IsAbsent() }) {
				t.Errorf("%s: %v", name, events(tp))
			}
		}
	}
}

// handing is a run whose answer was recorded without its calls, which the step that ran the tools was handed.
func handing(tool bool, step int) *trace {
	return handingAfter("I will look at both.", "tool_calls", tool, step)
}

// handingAfter says what was recorded of the answer's text and why it ended, nothing where reason is "".
func handingAfter(text, reason string, tool bool, step int) *trace {
	tr := newTrace()
	finish := func(reason string) []any {
		if reason == "" {
			return []any{"gen_ai.request.model", "m1"}
		}
		return []any{"gen_ai.request.model", "m1", "gen_ai.response.finish_reasons", []any{reason}}
	}
	chat := func(id, start int, answer, reason string, messages ...string) {
		tr.in("maker", "chat", id, 1, start, start+5, slices.Concat(prompts("chatmodel", messages...), numbered("chatmodel", "gen_ai.completion", "assistant", answer), finish(reason))...)
	}
	tr.in("maker", "graph", 1, 0, 0, 100, prompts("workflow", "user", "q")...)
	chat(2, 10, text, reason, "user", "q")
	given := asked("I will look at both.", function("call_one", "look", `{"n":1}`)+","+function("call_two", "look", `{"n":2}`))
	out := `[{"role":"tool","tool_call_id":"call_two","content":"second"},{"role":"tool","tool_call_id":"call_one","content":"first"}]`
	tr.in("maker", "tools", 3, step, 20, 40, append(prompts("toolsnode", "user", given), "gen_ai.completion.0.content", out)...)
	if tool {
		tr.in("maker", "look", 4, 3, 21, 30, append(prompts("tool", "user", `"{\"n\":1}"`), "gen_ai.completion.0.content", `"first"`)...)
	}
	chat(5, 50, "end", "stop", "user", "q", "assistant", "I will look at both.", "tool", "first", "tool", "second")
	return tr
}

func TestCallsThatOnlyTheStepAfterTheAnswerWasHandedAreThoseOfTheAnswer(t *testing.T) {
	for text, reason := range map[string]string{"I will look at both.": "tool_calls", "I will look at both. ": "", "": "tool_calls"} {
		tp := the(t, handingAfter(text, reason, false, 1).runs(t))
		wantEvents(t, tp, "model_call @2", "tool_call look by 1 = first (recovered)", "tool_call look by 1 = second (recovered)", "model_call @5")
		if got := tp.Events[0].Provenance["response.message"]; got != tape.Recovered {
			t.Errorf("%q, %q: the answer is %q, want recovered", text, reason, got)
		}
	}
}

func TestToolBelowAStepOfAnotherTraceBelongsToTheAnswerThatTheStepWasHanded(t *testing.T) {
	tr := handing(true, 0)
	for _, s := range tr.scopes["maker"].Spans().All() {
		if id := s.SpanID(); id == spanID(3) || id == spanID(4) {
			s.SetTraceID(pcommon.TraceID{9})
		}
	}
	set := evidence.NewSet()
	set.AddTraces(tr.td)
	joined := reconstruct.Join(set.Split(), options)
	if len(joined) != 1 {
		t.Fatalf("%d runs were joined, want 1", len(joined))
	}
	sound(t, []*tape.Tape{joined[0].Tape})
	if got := events(joined[0].Tape); len(got) != 3 || got[1] != "tool_call look @4 = first" {
		t.Errorf("events %q", got)
	}
}

// Of equal tool calls below parents that never came, nothing but the rest of the trace says whether they were reported twice.
func TestToolCallsBelowLostParentsThatCameTwiceWithAllElseAreOne(t *testing.T) {
	for name, twins := range map[string]int{"everything came twice": 2, "the tool call alone": 1} {
		tr := newTrace()
		span := func(times int, add func(id int) ptrace.Span) {
			for i := range times {
				add(100 * i)
			}
		}
		ask := asks(call("", "dice", `{}`))
		span(twins, func(i int) ptrace.Span { return tr.agent("a", i+1, 0, 0, 100) })
		span(twins, func(i int) ptrace.Span { return tr.chat(i+2, i+1, 1, 10, list(user("q")), list(ask)) })
		span(2, func(i int) ptrace.Span { return tr.tool("dice", i+3, 90, 20, 25, "", `{}`, "six") })
		span(twins, func(i int) ptrace.Span {
			return tr.chat(i+4, i+1, 40, 50, list(user("q"), ask, shows("", "six")), list(says("end")))
		})
		calls := 0
		for _, tp := range tr.runs(t) {
			calls += int(tp.Usage.ToolCalls)
		}
		if want := 3 - twins; calls != want {
			t.Errorf("%s: %d tool calls, want %d", name, calls, want)
		}
	}
}

// What may stand in an envelope by chance does not stand in those of two calls by chance.
func TestEnvelopeAroundSmallValuesIsProvedByTwoOfThem(t *testing.T) {
	wrapped := func(v string) string { return `{"state":"delivered","payload":` + v + `}` }
	for name, c := range map[string]struct {
		second string
		want   []string
	}{
		"two values": {`true`, []string{"17", "true"}},
		"one value":  {`17`, []string{quote(wrapped("17")), quote(wrapped("17"))}},
	} {
		tr := newTrace()
		ask := asks(call("c1", "f", `{}`), call("c2", "g", `{}`))
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("f", 3, 1, 20, 30, "c1", `{}`, wrapped("17"))
		tr.tool("g", 4, 1, 30, 40, "c2", `{}`, wrapped(c.second))
		tr.chat(5, 1, 50, 60, list(user("q"), ask, shows("c1", "17"), shows("c2", c.second)), list(says("end")))
		tp := the(t, tr.runs(t))
		if got := []string{tp.Events[1].Result.JSON(), tp.Events[2].Result.JSON()}; !slices.Equal(got, c.want) {
			t.Errorf("%s: results %q, want %q", name, got, c.want)
		}
	}
}

// OpenLIT in JavaScript: the span of a tool holds the name of a class, and no later request shows what the tool returned.
func TestResultThatNoRequestShowsIsFoundInTheStateOfAStep(t *testing.T) {
	const key = "gen_ai.workflow."
	state := func(id, content string) string {
		return `{"messages":[{"lc":1,"type":"constructor","id":["langchain_core","messages","ToolMessage"],"kwargs":{"content":` + quote(content) + `,"tool_call_id":"` + id + `"}}]}`
	}
	build := func(side, id string) *tape.Tape {
		tr := newTrace()
		step := func(name string, span, start, end int, attrs ...any) ptrace.Span {
			return tr.in("@openlit/instrumentation-langchain", name, span, 1, start, end, append([]any{"gen_ai.operation.name", "invoke_agent"}, attrs...)...)
		}
		tr.in("@openlit/instrumentation-langchain", "invoke_workflow graph", 1, 0, 0, 100, "gen_ai.operation.name", "invoke_workflow")
		tr.chat(2, 1, 1, 10, list(user("q")), list(asks(call("c1", "look", `{"n":1}`))), "gen_ai.request.model", "ChatOllama")
		tr.tool("look", 3, 1, 11, 12, "c1", `{"n":1}`, "[object ToolMessage]")
		step("invoke_agent write", 4, 13, 14, key+side, state(id, "seven"))
		return the(t, tr.runs(t))
	}
	for _, side := range []string{"output", "input"} {
		wantEvents(t, build(side, "c1"), "model_call @2", "tool_call look @3 by 1 = seven (recovered)")
		wantEvents(t, build(side, "c2"), "model_call @2", "tool_call look @3 by 1 (missing)")
	}
	if tp := build("output", "c1"); tp.Config.Model != "" || tp.Events[0].Model != "" {
		t.Errorf("the model is %q, %q: that is a class", tp.Config.Model, tp.Events[0].Model)
	}
}

func TestModelThatOnlyTheStateOfAStepNamesIsTheOneThatOllamaWasAskedFor(t *testing.T) {
	build := func(models ...string) *tape.Tape {
		tr := newTrace()
		tr.in("@openlit/instrumentation-langchain", "invoke_workflow graph", 1, 0, 0, 100, "gen_ai.operation.name", "invoke_workflow")
		for i, m := range models {
			at := 20 * i
			tr.chat(10+i, 1, at+1, at+10, list(user("q")), list(says("a")), "gen_ai.request.model", "ChatOllama")
			tr.in("@openlit/instrumentation-langchain", "invoke_agent write", 30+i, 1, at+11, at+12, "gen_ai.operation.name", "invoke_agent", "gen_ai.workflow.output",
				`{"messages":[{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":{"content":"a","response_metadata":{"model":"`+m+`","done_reason":"stop","total_duration":9}}}]}`)
		}
		return the(t, tr.runs(t))
	}
	if tp := build("llama3.2"); tp.Config.Model != "llama3.2" || tp.Config.Provenance["model"] != tape.Recovered {
		t.Errorf("the model is %q (%s)", tp.Config.Model, tp.Config.Provenance["model"])
	}
	if tp := build("llama3.2", "qwen3"); tp.Config.Model != "" {
		t.Errorf("of two models the model is %q", tp.Config.Model)
	}
}
