// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package openinference_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/genai/genaitest"
)

func TestHaystackReplyNamesTheModelThatAnswered(t *testing.T) {
	for name, want := range map[string]string{"gpt-4o-mini-2024-07-18": "", "gpt-4o-mini": "gpt-4o-mini"} {
		o := genai.Read(genaitest.Span("openinference.instrumentation.haystack", "OpenAIChatGenerator.run", "openinference.span.kind", "LLM", "llm.model_name", name,
			"output.value", `{"replies": ["ChatMessage(_role=<ChatRole.ASSISTANT: 'assistant'>, _content=[TextContent(text='hi')], _name=None, _meta={'model': '`+name+`'})"]}`))
		if o.Model != want {
			t.Errorf("%s: asked %q, want %q", name, o.Model, want)
		}
	}
}
