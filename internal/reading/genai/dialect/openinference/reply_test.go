// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package openinference_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
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

// From 0.2 on, the response that the Agents SDK for JavaScript makes of a stream has the id of its chunks.
func TestResponseThatTheAgentsSDKMadeOfChunksNamesTheModel(t *testing.T) {
	const chunks, api = `"id":"chatcmpl-1","created":1,"model":"gpt-4o-mini","object":"chat.completion"`, `"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"gpt-4o-mini"`
	const dated = `"id":"chatcmpl-1","created":1,"model":"gpt-4o-mini-2024-07-18","object":"chat.completion"`
	for _, c := range []struct{ members, name, want string }{
		{chunks, "", "gpt-4o-mini"},
		{api, "", ""},
		{chunks, "gpt-4o-mini", "gpt-4o-mini"}, // the package of 2026 names the model that was asked
		{api, "gpt-4o-mini", ""},
		{dated, "gpt-4o-mini-2024-07-18", ""},
	} {
		members, want := c.members, c.want
		attrs := []string{"openinference.span.kind", "LLM"}
		if c.name != "" {
			attrs = append(attrs, "llm.model_name", c.name)
		}
		o := genai.Read(genaitest.Span("@arizeai/openinference-instrumentation-openai-agents", "generation", append(attrs,
			"output.value", `[{`+members+`,"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}],"usage":{}}]`)...))
		if o.Model != want || o.ResponseID != "chatcmpl-1" || len(o.Response) != 1 {
			t.Errorf("%s: model %q, id %q, said %v", members, o.Model, o.ResponseID, o.Response)
		}
	}
}

// The Agents SDK for JavaScript makes a response of a stream of chunks, which holds nothing but the model that was asked.
func TestResponseThatTheAgentsSDKMadeOfAStreamNamesTheModel(t *testing.T) {
	read := func(id, choices string) *genai.Report {
		return genai.Read(genaitest.Span("@arizeai/openinference-instrumentation-openai-agents", "generation", "openinference.span.kind", "LLM",
			"output.value", `[{"id":"`+id+`","model":"gpt-4o-mini","object":"chat.completion","choices":[`+choices+`],"usage":{}}]`))
	}
	if o := read("FAKE_ID", ""); o.Model != "gpt-4o-mini" || o.ResponseID != "" || o.ResponseLabel != tape.Missing {
		t.Errorf("model %q, id %q, label %q", o.Model, o.ResponseID, o.ResponseLabel)
	}
	if o := read("chatcmpl-1", `{"index":0,"message":{"role":"assistant","content":"hi"}}`); o.Model != "" || o.ResponseModel != "gpt-4o-mini" || o.ResponseID != "chatcmpl-1" || o.ResponseLabel != "" {
		t.Errorf("model %q, answered by %q, id %q, label %q", o.Model, o.ResponseModel, o.ResponseID, o.ResponseLabel)
	}
}

// What the client was set to stands in the metadata of a call: the model that was asked for, also where the span names the one that answered or none, and instructions that no message holds.
func TestSettingsOfTheClientStandInTheMetadata(t *testing.T) {
	for name, c := range map[string]struct{ model, metadata, asked, answered, system string }{
		"no model is known":       {"unknown", `{"model":"gpt-4o","system_instruction":"Be brief."}`, "gpt-4o", "", "Be brief."},
		"the model that answered": {"gpt-4o-2024-08-06", `{"model":"gpt-4o","system_instruction":"NOT"}`, "gpt-4o", "gpt-4o-2024-08-06", "NOT"},
		"another model":           {"gpt-4o", `{"model":"of a car"}`, "gpt-4o", "", ""},
		"nothing of it":           {"gpt-4o", `{"tenant":"a"}`, "gpt-4o", "", ""},
	} {
		o := genai.Read(genaitest.Span("openinference.instrumentation.pipecat", "llm", "openinference.span.kind", "LLM", "llm.model_name", c.model, "metadata", c.metadata,
			"llm.input_messages.0.message.role", "user", "llm.input_messages.0.message.content", "q"))
		system := ""
		for _, p := range o.System {
			system += p.Text
		}
		if o.Model != c.asked || o.ResponseModel != c.answered || system != c.system {
			t.Errorf("%s: asked %q, answered %q, system %q", name, o.Model, o.ResponseModel, system)
		}
	}
}
