// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package litellm_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

func TestLiteLLMSpansOfTheProxyAreNoise(t *testing.T) {
	for name, want := range map[string]dialect.Class{
		"Received Proxy Server Request": dialect.Entry, "raw_gen_ai_request": dialect.Structure, "litellm_request": dialect.Model, "redis": dialect.Noise, "auth /chat/completions": dialect.Noise,
	} {
		if got := genai.Read(genaitest.Span("litellm", name)).Class; got != want {
			t.Errorf("%s: class %s, want %s", name, genaitest.ClassNames[got], genaitest.ClassNames[want])
		}
	}
}

func TestLiteLLMEmbeddingsAreNoise(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("litellm", "litellm_request", "gen_ai.operation.name", "aembedding", "gen_ai.request.model", "e")), "class: noise\ndialect: litellm\nnoise: embedding\n")
}

func TestLiteLLMPrefersMessagesToFlattenedCompletions(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("litellm", "litellm_request", "gen_ai.request.model", "gpt-4o", "gen_ai.system", "openai",
		"gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"q"}]},{"role":"assistant","parts":[],"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},{"role":"tool","parts":[{"type":"text","content":"r"}],"tool_call_id":"c1"}]`,
		"gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"a"}],"finish_reason":"stop"}]`,
		"gen_ai.completion.0.role", "assistant", "gen_ai.completion.0.content", "a", "llm.is_streaming", "False")),
		"class: model\ndialect: litellm\nmodel: gpt-4o\nprovider: openai\nrequest: user | text \"q\"\nrequest: assistant | call f c1 {\"a\":1}\nrequest: tool | result  c1 \"r\" [content_blocks]\nresponse: assistant | text \"a\" [stop]\n")
}

// The message of a stream that asks for tools holds its text and why it ended.
func TestLiteLLMCallsOfAStreamStandBesideItsMessage(t *testing.T) {
	span := func(answer string, beside ...string) *dialect.Source {
		return genaitest.Span("litellm", "litellm_request", append([]string{"gen_ai.request.model", "gpt-4o", "gen_ai.output.messages", answer}, beside...)...)
	}
	two := []string{"gen_ai.completion.0.function_call.name", "f", "gen_ai.completion.0.function_call.arguments", `{"a":1}`, "gen_ai.completion.1.function_call.name", "g", "gen_ai.completion.1.function_call.arguments", `{}`}
	genaitest.Says(t, genai.Read(span(`[{"role":"assistant","parts":[{"type":"text","content":"a"}],"finish_reason":"tool_calls"}]`, two...)),
		"class: model\ndialect: litellm\nmodel: gpt-4o\nresponse: assistant | text \"a\" | call f  {\"a\":1} | call g  {} [tool_calls]\n")
	genaitest.Says(t, genai.Read(span(`[{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"f","arguments":{"a":1}}],"finish_reason":"tool_calls"}]`, two...)),
		"class: model\ndialect: litellm\nmodel: gpt-4o\nresponse: assistant | call f c1 {\"a\":1} [tool_calls]\n")
	genaitest.Says(t, genai.Read(span(`[{"role":"assistant","parts":[{"type":"text","content":"a"}],"finish_reason":"stop"}]`, "gen_ai.completion.0.role", "assistant", "gen_ai.completion.0.content", "a")),
		"class: model\ndialect: litellm\nmodel: gpt-4o\nresponse: assistant | text \"a\" [stop]\n")
}

// A span of the caller's own holds the last call alone; each call is whole on the span of the provider's side.
func TestRawRequestsAreReadInTheProvidersWords(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("litellm", "raw_gen_ai_request",
		"llm.openai.messages", `[{'role': 'user', 'content': "it's q"}]`, "llm.openai.tools", `[{'type': 'function', 'function': {'name': 'f', 'parameters': {}}}]`,
		"llm.openai.temperature", "0.5", "llm.openai.id", "chatcmpl-1", "llm.openai.model", "gpt-4o-2024", "llm.openai.object", "chat.completion",
		"llm.openai.choices", `[{'finish_reason': 'tool_calls', 'index': 0, 'message': {'content': None, 'role': 'assistant', 'tool_calls': [{'id': 'c1', 'type': 'function', 'function': {'name': 'f', 'arguments': '{"a":1}'}}]}}]`,
		"llm.openai.usage", `{'completion_tokens': 2, 'prompt_tokens': 3, 'total_tokens': 5}`)),
		"class: model\ndialect: litellm\nprovider: openai\nparam temperature: 0.5\nrequest: user | text \"it's q\"\nresponse: assistant | call f c1 {\"a\":1} [tool_calls]\n"+
			"offers: f\nfinish: tool_calls\nresponse id: chatcmpl-1\nresponse model: gpt-4o-2024\ninput tokens: 3\noutput tokens: 2\n")
	genaitest.Says(t, genai.Read(genaitest.Span("litellm", "raw_gen_ai_request", "llm.openai.input", "['q']", "llm.openai.data", "[{'embedding': [0.1]}]")),
		"class: structure\ndialect: litellm\n")
}
