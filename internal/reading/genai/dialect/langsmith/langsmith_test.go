// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package langsmith_test

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
)

func TestLangSmithWrappedOpenAIIsReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "langsmith/openai")
}

func TestLangSmithClaudeAgentIsReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "langsmith/claude-agent")
}

func TestLangSmithLangChainRunsAreRead(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("langsmith", "ChatOpenAI", "langsmith.span.kind", "llm", "gen_ai.operation.name", "chat", "langsmith.metadata.ls_model_name", "gpt-4o",
		"gen_ai.prompt", `{"messages":[[{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"hi"}}]]}`,
		"gen_ai.completion", `{"generations":[[{"text":"","message":{"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessage"],"kwargs":{"content":"","id":"run-1","tool_calls":[{"name":"f","args":{"a":1},"id":"c1"}],"usage_metadata":{"input_tokens":3,"output_tokens":2},"response_metadata":{"finish_reason":"tool_calls","model_name":"gpt-4o-x"}}}}]]}`)),
		"class: model\ndialect: langsmith\nmodel: gpt-4o\nrequest: user | text \"hi\"\nresponse: assistant | call f c1 {\"a\":1} [tool_calls]\nfinish: tool_calls\nresponse model: gpt-4o-x\ninput tokens: 3\noutput tokens: 2\n")
	genaitest.Says(t, genai.Read(genaitest.Span("langsmith", "f", "langsmith.span.kind", "tool", "gen_ai.operation.name", "execute_tool", "gen_ai.prompt", `{"input":"{'a': 1, 'b': None}"}`,
		"gen_ai.completion", `{"output":{"content":"1","type":"tool","name":"f","tool_call_id":"c1","status":"error"}}`)),
		"class: tool\ndialect: langsmith\nname: f\ncall: c1\nkind: function\nargs: {\"a\":1,\"b\":null} [langchain.input]\nresult: \"1\" [langchain.output langchain.tool_message]\nfailed: yes\n")
}

func TestLangSmithKeepsATextThatATracerWrapped(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("langsmith", "f", "langsmith.span.kind", "tool", "gen_ai.prompt", `{"input":"just text"}`, "gen_ai.completion", `{"output":"{\"a\":1}"}`)),
		"class: tool\ndialect: langsmith\nname: f\nkind: function\nargs: {\"input\":\"just text\"}\nresult: \"{\\\"a\\\":1}\" [langsmith.output]\n")
}

func TestLogfirePutsTheModelThatAnsweredOverTheOneAsked(t *testing.T) {
	span := func(asked string) string {
		return "class: model\ndialect: langsmith\nmodel: " + asked + "\nresponse: assistant | text \"hi\"\nresponse model: gpt-4o-2024-08-06\n"
	}
	for metadata, want := range map[string]string{"gpt-4o": "gpt-4o", "my-deployment": "gpt-4o-2024-08-06"} {
		genaitest.Says(t, genai.Read(genaitest.Span("langsmith", "ChatOpenAI", "langsmith.span.kind", "llm", "gen_ai.operation.name", "chat", "langsmith.metadata.ls_model_name", metadata,
			"gen_ai.request.model", "gpt-4o-2024-08-06", "gen_ai.response.model", "gpt-4o-2024-08-06", "gen_ai.completion", `{"messages":[{"role":"assistant","content":"hi"}]}`)), span(want))
	}
}

func TestLangSmithWritesValuesAsBytes(t *testing.T) {
	span := genaitest.Span("langsmith", "f", "langsmith.span.kind", "tool")
	span.Span.Attributes().PutEmptyBytes("gen_ai.prompt").FromRaw([]byte(`{"input":"{'a': 1}"}`))
	span.Span.Attributes().PutEmptyBytes("gen_ai.completion").FromRaw([]byte(`{"output":[1,2]}`))
	genaitest.Says(t, genai.Read(span), "class: tool\ndialect: langsmith\nname: f\nkind: function\nargs: {\"a\":1} [langchain.input]\nresult: [1,2] [langsmith.output]\n")
}

// The exporter writes {"output": null} for a function that threw, and for one that returned null.
func TestLangSmithToolThatThrewReturnedNothing(t *testing.T) {
	span := genaitest.Span("langsmith", "f", "langsmith.span.kind", "tool", "gen_ai.prompt", `{"a":1}`, "gen_ai.completion", `{"output":null}`)
	genaitest.Says(t, genai.Read(span), "class: tool\ndialect: langsmith\nname: f\nkind: function\nargs: {\"a\":1}\nresult: null [langsmith.output]\n")
	span.Span.Events().AppendEmpty().SetName("exception")
	genaitest.Says(t, genai.Read(span), "class: tool\ndialect: langsmith\nname: f\nkind: function\nargs: {\"a\":1}\nfailed: yes\n")
}

func TestLangSmithModelCallThatThrewWasNotAnswered(t *testing.T) {
	span := genaitest.Span("langsmith", "ChatOpenAI", "langsmith.span.kind", "llm", "gen_ai.operation.name", "chat", "gen_ai.completion", `{"output":null}`)
	span.Span.Events().AppendEmpty().SetName("exception")
	genaitest.Says(t, genai.Read(span), "class: model\ndialect: langsmith\nfailed: yes\n")
}

// The message of an exception is its repr() and its traceback in one.
func TestLangSmithExceptionSaysWhatItWasMadeWith(t *testing.T) {
	for text, want := range map[string]tape.Error{
		"ToolError('no invoice 2')Traceback (most recent call last):\n  File \"a.py\", line 3\n": {Type: "ToolError", Message: "no invoice 2"},
		`KeyError("it's", 3)Traceback (most recent call last):`:                                  {Type: "KeyError", Message: "it's"},
		"CancelledError()Traceback (most recent call last):":                                     {Type: "CancelledError"},
		"ToolError('no invoice 2')":                                                              {Type: "Exception", Message: "ToolError('no invoice 2')"},
		"Gone(<object at 0x7f>)Traceback (most recent call last):":                               {Type: "Exception", Message: "Gone(<object at 0x7f>)Traceback (most recent call last):"},
	} {
		s := genaitest.Span("langsmith", "f", "langsmith.span.kind", "tool", "gen_ai.prompt", "{}")
		e := s.Span.Events().AppendEmpty()
		e.SetName("exception")
		e.Attributes().PutStr("exception.type", "Exception")
		e.Attributes().PutStr("exception.message", text)
		if got := genai.Read(s).Error; got == nil || got.Type != want.Type || got.Message != want.Message {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestLangSmithFunctionThatReturnedJSONAnsweredIt(t *testing.T) {
	o := genai.Read(genaitest.Span("langsmith", "f", "langsmith.span.kind", "chain", "gen_ai.prompt", `{"input":"q"}`, "gen_ai.completion", `{"outputs":"{\"job\": 12}"}`))
	if len(o.Output) != 1 || len(o.Output[0].Parts) != 1 || o.Output[0].Parts[0].Text != `{"job": 12}` {
		t.Errorf("%+v", o.Output)
	}
}

// A function of an SDK is called with a request and with options; a batch is a list of requests.
func TestLangSmithRequestBesideItsOptionsIsRead(t *testing.T) {
	said := func(prompt string) string {
		return strings.Join(genaitest.Messages(genai.Read(genaitest.Span("langsmith", "ChatOpenAI", "langsmith.span.kind", "llm", "gen_ai.prompt", prompt)).Request), "; ")
	}
	const one, two = `{"model":"m","messages":[{"role":"system","content":"be terse"},{"role":"user","content":"q"}]}`, `{"messages":[{"role":"user","content":"r"}]}`
	want := said(one)
	for _, prompt := range []string{`{"args":[` + one + `,{"headers":{"User-Agent":"x"}}]}`, `[` + one + `,null]`, `{"args":[` + one + `]}`} {
		if got := said(prompt); got != want || got == "" {
			t.Errorf("%s: %q, want %q", prompt, got, want)
		}
	}
	for _, prompt := range []string{`[` + one + `,` + two + `]`, `{"args":[` + one + `,"x"]}`, `{"args":[{"headers":{}},` + one + `]}`} {
		if got := said(prompt); got == want {
			t.Errorf("%s is read as one request with options", prompt)
		}
	}
}

// The Claude Agent SDK hands over the instructions and the model beside the messages.
func TestLangSmithReadsTheOptionsOfTheClaudeAgentSDK(t *testing.T) {
	o := genai.Read(genaitest.Span("langsmith", "claude.conversation", "langsmith.span.kind", "chain", "gen_ai.prompt", `{"messages":[{"role":"user","content":"q"}],"options":{"model":"m1","systemPrompt":"Be brief."}}`))
	if o.Model != "m1" || len(o.System) != 1 || o.System[0].Text != "Be brief." || len(o.Input) != 1 {
		t.Errorf("model %q, instructions %v, input %v", o.Model, o.System, o.Input)
	}
}
