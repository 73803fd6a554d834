// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package langwatch_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

func TestLangWatchIsReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "langwatch/openai")
}

func TestLangWatchTextStaysText(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("langwatch", "f", "langwatch.span.type", "tool", "langwatch.input", `{"type":"json","value":{}}`, "langwatch.output", `{"type":"text","value":"12"}`)),
		"class: tool\ndialect: langwatch\nname: f\nkind: function\nargs: {}\nresult: \"12\"\n")
}

func TestLangWatchValuesAreDecodedOnce(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("langwatch", "f", "langwatch.span.type", "tool", "langwatch.input", `{"type":"json","value":{"a":1}}`, "langwatch.output", `{"type":"json","value":"{\"b\":2}"}`)),
		"class: tool\ndialect: langwatch\nname: f\nkind: function\nargs: {\"a\":1}\nresult: \"{\\\"b\\\":2}\"\n")
}

func TestLangWatchMessagesOfToolsAreTold(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("langwatch", "f", "langwatch.span.type", "tool", "langwatch.input", `{"type":"text","value":"{'a': 1}"}`, "langwatch.output", `{"type":"chat_messages","value":[{"role":"unknown","content":"4"}]}`)),
		"class: tool\ndialect: langwatch\nname: f\nkind: function\nargs: {\"a\":1}\nresult: \"4\"\n")
	genaitest.Says(t, genai.Read(genaitest.Span("langwatch", "llm", "langwatch.span.type", "llm", "langwatch.input", `{"type":"chat_messages","value":[{"role":"user","content":"hi"},{"role":"unknown","content":"4"}]}`)),
		"class: model\ndialect: langwatch\nrequest: user | text \"hi\"\nrequest: tool | result   \"4\"\n")
}

// The wrappers of OpenAI's clients write the vendor before the model; whoever names a span and its model means both.
func TestLangWatchTellsTheVendorFromTheModel(t *testing.T) {
	for name, want := range map[string]string{"llm": "gpt-4o-mini", "my call": "openai/gpt-4o-mini"} {
		if o := genai.Read(genaitest.Span("langwatch", name, "langwatch.span.type", "llm", "gen_ai.request.model", "openai/gpt-4o-mini")); o.Model != want {
			t.Errorf("%s: model %q, want %q", name, o.Model, want)
		}
	}
}

// The callback for LangChain writes a block of the content that it does not know as a text, and all that stands beside the content as function_call.
func TestLangWatchCallsOfLangChainAreTold(t *testing.T) {
	read := func(message string) string {
		return genaitest.Said(genai.Read(genaitest.Span("langwatch.instrumentation.langchain", "m", "langwatch.span.type", "llm", "langwatch.output", `{"type":"list","value":[{"type":"list","value":[{"type":"json","value":`+message+`}]}]}`)))
	}
	const want = "class: model\ndialect: langwatch\nresponse: assistant | call f t1 {\"x\":1}\n"
	for _, message := range []string{
		`{"role":"assistant","content":[{"type":"text","text":"{\"id\":\"t1\",\"input\":{\"x\":1},\"name\":\"f\",\"type\":\"tool_use\"}"}],"function_call":{"id":"msg_1"}}`,
		`{"role":"assistant","content":"","function_call":{"tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]}}`,
	} {
		if got := read(message); got != want {
			t.Errorf("%s: %s", message, got)
		}
	}
	if got := read(`{"role":"assistant","content":[{"type":"text","text":"{\"type\":\"tool\",\"name\":\"f\"}"}]}`); got == want {
		t.Error("an answer in JSON is a call")
	}
}
