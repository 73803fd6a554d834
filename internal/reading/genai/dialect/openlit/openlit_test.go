// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package openlit_test

import (
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
)

func TestOpenLITIsReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "openlit/events")
	genaitest.SaysAsRecorded(t, genai.Read, "openlit/openai")
}

func TestOpenLITPromptLinesAreLossyWhenThereAreSeveral(t *testing.T) {
	messages := decode.PromptLines("system: be brief\nuser: first line\nsecond line")
	if len(messages) != 2 || messages[1].Parts[0].Text != "first line\nsecond line" || messages[0].Parts[0].Label != "lossy" {
		t.Errorf("got %+v", messages)
	}
}

// The results of a prompt of lines are results, and what Python prints for a message of calls alone is no text. Where somebody else than the model speaks behind a result, that may be
// a line of the result itself.
func TestOpenLITPromptLinesHoldResults(t *testing.T) {
	for text, want := range map[string]string{
		"user: q\nassistant: None\ntool: {'a': 1}\nassistant: done": "{'a': 1}",
		"user: q\nassistant: None\ntool: a chat\nuser: hello":       "a chat lossy",
	} {
		m := decode.PromptLines(text)
		if len(m) != 4 || len(m[1].Parts) != 0 || m[2].Parts[0].Type != tape.PartToolResult || strings.TrimSpace(m[2].Parts[0].Result.Str()+" "+string(m[2].Parts[0].Label)) != want {
			t.Errorf("%q: %+v", text, m)
		}
	}
	if m := decode.PromptLines("user: q\nassistant: None\nuser: why?"); len(m) != 3 || len(m[1].Parts) != 1 || m[1].Parts[0].Text != "None" {
		t.Errorf("an answer of this one word: %+v", m)
	}
}

// The text of an answer that asks for tools stands in an event beside the calls.
func TestOpenLITTextBesideCalls(t *testing.T) {
	for text, want := range map[string]int{"I will look.": 2, "None": 1} {
		s := genaitest.Span("openlit.otel.tracing", "chat g", "gen_ai.operation.name", "chat", "gen_ai.response.tool_calls", `[{'id': 'c1', 'function': {'arguments': '{"a": 1}', 'name': 'f'}}]`)
		e := s.Span.Events().AppendEmpty()
		e.SetName("gen_ai.content.completion")
		e.Attributes().PutStr("gen_ai.completion", text)
		if o := genai.Read(s); len(o.Response) != 1 || len(o.Response[0].Parts) != want {
			t.Errorf("%s: %+v", text, o.Response)
		}
	}
}

func TestOpenLITStateOfAGraphIsReadWhereItIsWhole(t *testing.T) {
	state := `{"messages":[{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":{"content":"end"}}]}`
	for out, want := range map[string]int{state: 1, state[:len(state)-9]: 0} {
		o := genai.Read(genaitest.Span("@openlit/instrumentation-langchain", "invoke_workflow a", "gen_ai.operation.name", "invoke_workflow", "gen_ai.workflow.output", out))
		if len(o.Output) != want {
			t.Errorf("%d bytes: %d messages, want %d", len(out), len(o.Output), want)
		}
	}
}

func TestSpansOfFunctionsAreNoModelCalls(t *testing.T) {
	inner := func(args, kwargs string) string {
		s := genaitest.Span("openlit", "f", "function.args", args, "function.kwargs", kwargs, "gen_ai.output.messages", "r")
		s.Span.SetParentSpanID(pcommon.SpanID{1})
		return genaitest.Said(genai.Read(s))
	}
	if got, want := inner("()", "{'a': 1}"), "class: tool\ndialect: openlit\nname: f\nkind: function\nargs: {\"a\":1}\nresult: \"r\"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if o := genai.Read(genaitest.Span("openlit", "main", "function.args", "('q',)", "function.kwargs", "{}", "gen_ai.output.messages", "r")); !o.RunSpan || len(o.Output) != 1 {
		t.Errorf("the outermost function is %+v", o)
	}
}

func TestOneTextThatAFunctionWasHandedIsWhatWasAsked(t *testing.T) {
	for args, want := range map[[2]string]string{
		{"('q',)", "{}"}: "q", {"()", "{'question': 'q'}"}: "q",
		{"('q', 'r')", "{}"}: "", {"('q',)", "{'user': 'u'}"}: "", {"(<app.Request object at 0x7f20b5>,)", "{}"}: "", {"(7,)", "{}"}: "", {"()", "{}"}: "",
	} {
		o := genai.Read(genaitest.Span("openlit", "main", "function.args", args[0], "function.kwargs", args[1], "gen_ai.completion", `{"state": "done"}`))
		if got := o.InputData.Value.Str(); got != want {
			t.Errorf("%v: asked %q, want %q", args, got, want)
		}
		if len(o.Output) != 1 || o.Output[0].Parts[0].Text != `{"state": "done"}` {
			t.Errorf("%v: answered %+v", args, o.Output)
		}
	}
}

func TestSpanOfTheAISDKMayStandForALoop(t *testing.T) {
	said := func(scope string, attributes ...string) bool {
		o := genai.Read(genaitest.Span(scope, "chat m1", append([]string{"gen_ai.operation.name", "chat", "gen_ai.request.model", "m1"}, attributes...)...))
		return slices.ContainsFunc(o.Notes, func(n genai.Note) bool { return n.Code == tape.CodeModelCallHidden && n.Field == "response" })
	}
	const ai, input, tools = "@openlit/instrumentation-vercel-ai", "gen_ai.input.messages", "gen_ai.tool.definitions"
	question := `[{"role":"user","parts":[{"type":"text","content":"q"}]}]`
	if !said(ai, input, question, tools, `[{"type":"function","name":"f"}]`) || !said(ai, "error.type", "ToolExecutionError") {
		t.Error("nothing says that calls are not recorded")
	}
	if said(ai, input, question) || said("@openlit/instrumentation-openai", input, question, tools, `[{"type":"function","name":"f"}]`) {
		t.Error("a call without tools, or of a provider's client, is no loop")
	}
}

func TestCallsThatHoldTheirIDsAloneAreNamedBesideTheAnswer(t *testing.T) {
	answer := `[{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"","arguments":{}},{"type":"tool_call","id":"c2","name":"","arguments":{}}]}]`
	for beside, want := range map[[3]string]string{
		{"c1, c2", "f, g", `{"a": "x, y"}, {"b": 2}`}: "f",
		{"c2, c1", "f, g", `{"a": 1}, {"b": 2}`}:      "", // another order
		{"c1, c2", "f", `{"a": 1}, {"b": 2}`}:         "", // fewer names than calls
		{"c1, c2", "f, g", `{"a": 1}, {"b`}:           "", // cut
	} {
		o := genai.Read(genaitest.Span("openlit.otel.tracing", "chat m", "gen_ai.operation.name", "chat", "gen_ai.output.messages", answer,
			"gen_ai.tool.call.id", beside[0], "gen_ai.tool.name", beside[1], "gen_ai.tool.args", beside[2]))
		if p := o.Response[0].Parts[0]; p.Name != want || want != "" && p.Args.Get("a").Str() != "x, y" {
			t.Errorf("%q: named %q with %s", beside, p.Name, p.Args.JSON())
		}
	}
}

func TestStepsOfAGraphAreNoModelCalls(t *testing.T) {
	for _, c := range []struct {
		operation, key string
		want           dialect.Class
	}{
		{"workflow", "x", dialect.Structure}, // the building of the graph
		{"workflow", "gen_ai.workflow.input", dialect.Agent},
		{"graph_execution", "gen_ai.output.messages", dialect.Agent},
		{"chat", "gen_ai.output.messages", dialect.Model},
	} {
		o := genai.Read(genaitest.Span("openlit.otel.tracing", "s", "gen_ai.operation.name", c.operation, "gen_ai.request.model", "unknown", c.key, "{}"))
		if o.Class != c.want {
			t.Errorf("%s with %s: %v, want %v", c.operation, c.key, o.Class, c.want)
		}
	}
}

// The decorator writes an empty text for 0, False, None and everything empty.
func TestEmptyTextOfAFunctionIsNoResult(t *testing.T) {
	for returned, present := range map[string]bool{"": false, "0.5": true} {
		s := genaitest.Span("openlit", "f", "function.args", "()", "function.kwargs", "{'a': 1}", "gen_ai.output.messages", returned)
		s.Span.SetParentSpanID(pcommon.SpanID{1})
		if o := genai.Read(s); o.Result.Present() != present || present == slices.ContainsFunc(o.Notes, func(n genai.Note) bool { return n.Code == tape.CodeContentAbsent }) {
			t.Errorf("%q: %+v", returned, o)
		}
	}
}

func TestCallsBesideATextAreReadWhereTheyAreWhole(t *testing.T) {
	for beside, want := range map[[4]string]int{
		{"", "c1, c2", "f, g", `{"a": 1}, {"b": 2}`}: 2,
		{"None", "None", "f", `{'a': 1}`}:            1, // Gemini has no ids
		{"so", "c1", "f", `{"a": 1}`}:                2,
		{"so", "c1", "f, g", `{"a": 1}`}:             1, // the text alone
	} {
		o := genai.Read(genaitest.Span("openlit.otel.tracing", "chat m", "gen_ai.operation.name", "chat", "gen_ai.prompt", "user: q", "gen_ai.completion", beside[0],
			"gen_ai.tool.call.id", beside[1], "gen_ai.tool.name", beside[2], "gen_ai.tool.args", beside[3]))
		if len(o.Response) != 1 || len(o.Response[0].Parts) != want {
			t.Errorf("%q: %+v", beside, o.Response)
		}
	}
}

// What a tool of agno failed with stands where its type should, and the status says the same of every failure.
func TestOpenLITSentenceForATypeIsWhatTheToolFailedWith(t *testing.T) {
	for said, want := range map[string]string{"no invoice INV-2": "no invoice INV-2", "ValueError": "Tool execution failed"} {
		s := genaitest.Span("openlit.instrumentation.agno", "execute_tool f", "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "f", "error.type", said)
		s.Span.Status().SetCode(ptrace.StatusCodeError)
		s.Span.Status().SetMessage("Tool execution failed")
		if got := genai.Read(s).Error; got == nil || got.Message != want {
			t.Errorf("%q: the error is %+v", said, got)
		}
	}
}

// AG2's agents send and receive what they say to each other: the operation of these spans is that of models, their names tell what they are.
func TestSpanNamedAfterAStepIsNoModelCall(t *testing.T) {
	for name, want := range map[string]dialect.Class{"execute_task user": dialect.Structure, "create_agent a": dialect.Structure, "chat m1": dialect.Model, "openai.chat.completions": dialect.Model} {
		o := genai.Read(genaitest.Span("openlit.instrumentation.ag2", name, "gen_ai.operation.name", "chat", "gen_ai.request.model", "unknown", "gen_ai.input.messages", "user"))
		if o.Class != want {
			t.Errorf("%s: %v, want %v", name, o.Class, want)
		}
	}
}

func TestSentenceInPlaceOfCallsIsNoAnswer(t *testing.T) {
	for text, want := range map[string]bool{"Function called with tools": true, "Function called with tools, as asked.": false} {
		o := genai.Read(genaitest.Span("openlit.otel.tracing", "openai.chat.completions", "gen_ai.operation.name", "chat", "gen_ai.completion", text))
		said := slices.ContainsFunc(o.Notes, func(n genai.Note) bool { return n.Field == "response.message.tool_calls" })
		if said != want || slices.Contains(o.FinishReasons, "tool_calls") != want {
			t.Errorf("%q: said %v, ended by %v", text, said, o.FinishReasons)
		}
	}
}

// Of a function that threw, the decorator writes its name and the exception. Other instrumentations of OpenLIT have scopes of their own, and say more.
func TestFunctionThatThrewIsThatOfATool(t *testing.T) {
	for name, c := range map[string]struct {
		scope   string
		beside  []string
		outmost bool
		want    dialect.Class
	}{
		"below another":            {scope: "openlit", want: dialect.Tool},
		"the outermost":            {scope: "openlit", outmost: true},
		"a query of a database":    {scope: "openlit.otel.tracing", beside: []string{"db.system", "chroma"}},
		"a call of a model":        {scope: "openlit", beside: []string{"gen_ai.operation.name", "chat"}, want: dialect.Model},
		"a function that returned": {scope: "openlit", beside: []string{"function.args", "('q',)", "function.kwargs", "{}"}, want: dialect.Structure},
	} {
		s := genaitest.Span(c.scope, "f", c.beside...)
		s.Span.Status().SetCode(ptrace.StatusCodeError)
		s.Span.Events().AppendEmpty().SetName("exception")
		if !c.outmost {
			s.Span.SetParentSpanID(pcommon.SpanID{1})
		}
		if o := genai.Read(s); (o.Class == dialect.Tool) != (c.want == dialect.Tool) || c.want != dialect.Unclassified && o.Class != c.want {
			t.Errorf("%s is read as %s", name, genaitest.ClassNames[o.Class])
		}
	}
}

// In 1.35 the name of the span stands in place of the operation.
func TestOperationInTheWordsOfTheSpanIsItsFirstWord(t *testing.T) {
	for _, f := range []struct {
		name, operation string
		want            dialect.Class
	}{
		{"workflow RunnableSequence", "workflow RunnableSequence", dialect.Structure},
		{"tool search", "tool search", dialect.Tool},
		{"chat m1", "chat m1", dialect.Model},
		{"m1", "workflow RunnableSequence", dialect.Model}, // an operation of its own, of a span that names a model
	} {
		if o := genai.Read(genaitest.Span("openlit.otel.tracing", f.name, "gen_ai.operation.name", f.operation, "gen_ai.request.model", "unknown")); o.Class != f.want {
			t.Errorf("%s: class %v, want %v", f.name, o.Class, f.want)
		}
	}
}

// What an agent answered stands under the key of a model's answer in 1.35, cut at 2000 characters without a mark.
func TestAnswerOfAnAgentIsReadUnderTheKeyOfAModels(t *testing.T) {
	for text, want := range map[string]tape.Label{"hello": "", strings.Repeat("é", 2000): tape.Truncated, strings.Repeat("x", 1999): ""} {
		o := genai.Read(genaitest.Span("openlit.otel.tracing", "agent a", "gen_ai.operation.name", "invoke_agent", "gen_ai.system", "agno", "gen_ai.completion", text))
		if len(o.Output) != 1 || o.Output[0].Parts[0].Text != text || o.Output[0].Parts[0].Label != want {
			t.Errorf("%d bytes: %+v", len(text), o.Output)
		}
	}
	o := genai.Read(genaitest.Span("openlit.otel.tracing", "agent a", "gen_ai.operation.name", "invoke_agent", "gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"whole"}]}]`, "gen_ai.completion", "other"))
	if len(o.Output) != 1 || o.Output[0].Parts[0].Text != "whole" {
		t.Errorf("beside messages: %+v", o.Output)
	}
}

// The outermost function that threw is the run, one within is a call.
func TestOutermostFunctionThatThrewIsTheRun(t *testing.T) {
	threw := func(scope string, parent byte) *dialect.Report {
		s := genaitest.Span(scope, "answer")
		s.Span.SetParentSpanID(pcommon.SpanID{parent})
		s.Span.Status().SetCode(ptrace.StatusCodeError)
		s.Span.Events().AppendEmpty().SetName("exception")
		return genai.Read(s)
	}
	if o := threw("openlit", 0); o.Class != dialect.Agent || !o.RunSpan || !o.StatusError || o.Agent.Name != "answer" {
		t.Errorf("the outermost is %+v", o)
	}
	if o := threw("openlit", 1); o.Class != dialect.Tool {
		t.Errorf("one within is of class %v", o.Class)
	}
	if o := threw("app", 0); o.Class == dialect.Agent {
		t.Error("a span of somebody else is a run")
	}
}

// For LangChain it writes the name of a model where it finds none, and that a call failed beside a status that is well.
func TestCallOfLangChainThatFailedNamesNoModel(t *testing.T) {
	const scope = "openlit.otel.tracing"
	for _, c := range []struct {
		scope, model string
		more         []string
		want         string
		failed       bool
	}{
		{scope, "gpt-3.5-turbo", []string{"gen_ai.system", "langchain", "gen_ai.framework.error.type", "BadRequestError", "gen_ai.framework.error.message", "refused"}, "", true},
		{scope, "gpt-3.5-turbo", []string{"gen_ai.system", "langchain"}, "", false},
		{scope, "gpt-4o", []string{"gen_ai.system", "langchain"}, "gpt-4o", false},
		{scope, "gpt-3.5-turbo", []string{"gen_ai.system", "langchain", "gen_ai.response.model", "gpt-3.5-turbo-0125"}, "gpt-3.5-turbo", false},
		{scope, "gpt-3.5-turbo", []string{"gen_ai.system", "openai"}, "gpt-3.5-turbo", false},
		{"acme", "gpt-3.5-turbo", []string{"gen_ai.system", "langchain"}, "gpt-3.5-turbo", false},
	} {
		o := genai.Read(genaitest.Span(c.scope, "chat "+c.model, append([]string{"gen_ai.operation.name", "chat", "gen_ai.request.model", c.model}, c.more...)...))
		if o.Model != c.want || o.Failed != c.failed || c.failed && (o.Error == nil || o.Error.Type != "BadRequestError" || o.Error.Message != "refused") {
			t.Errorf("%+v: %q, failed %v, %+v", c, o.Model, o.Failed, o.Error)
		}
	}
}
