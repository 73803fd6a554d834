// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package litellm_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/genai/genaitest"
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
