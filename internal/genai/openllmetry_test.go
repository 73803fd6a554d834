// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import "testing"

func TestOpenLLMetryIsReadAsRecorded(t *testing.T) {
	for _, name := range []string{"langchain", "langchain-js", "together", "mcp", "anthropic-stream"} {
		t.Run(name, func(t *testing.T) { saysAsRecorded(t, Read, "openllmetry/"+name) })
	}
}

func TestOpenLLMetryLangChainToolIsTakenOutOfItsWrappers(t *testing.T) {
	says(t, Read(spanSource("opentelemetry.instrumentation.langchain", "search.tool", "traceloop.span.kind", "tool", "traceloop.entity.name", "search",
		"traceloop.entity.input", `{"input_str":"{'q': \"it's\", 'n': None}","tags":[],"metadata":{},"inputs":null,"kwargs":{}}`,
		"traceloop.entity.output", `{"output":{"lc":1,"type":"constructor","id":["langchain","schema","messages","ToolMessage"],"kwargs":{"content":"found","tool_call_id":"call_1","status":"success"}},"kwargs":{"tags":[]}}`)),
		"class: tool\ndialect: openllmetry\nname: search\ncall: call_1\nkind: function\nargs: {\"q\":\"it's\",\"n\":null} [langchain.input]\nresult: \"found\" [langchain.output langchain.tool_message]\n")
}

func TestOpenLLMetryClassesFollowTheKind(t *testing.T) {
	for _, c := range []struct {
		name, kind, operation string
		want                  Class
	}{
		{"CrewAI.workflow", "workflow", "invoke_agent", Agent},
		{"Researcher.agent", "agent", "invoke_agent", Agent},
		{"write a text.task", "task", "invoke_agent", Structure},
		{"execute_tool f", "task", "execute_tool", Tool},
		{"a → b.handoff", "handoff", "", Tool},
		{"mcp.client.session", "session", "", Structure},
	} {
		s := spanSource("opentelemetry.instrumentation.crewai", c.name, "traceloop.span.kind", c.kind)
		if c.operation != "" {
			s.Span.Attributes().PutStr("gen_ai.operation.name", c.operation)
		}
		if got := Read(s).Class; got != c.want {
			t.Errorf("%s: class %s, want %s", c.name, classNames[got], classNames[c.want])
		}
	}
	for _, part := range []string{"RunnableLambda", "RunnableAssign<a>", "prompt", "ChannelWrite<...>", "Branch<a,b>"} {
		if got := Read(spanSource("x", part, "traceloop.span.kind", "workflow", "traceloop.entity.name", part)).Class; got != Structure {
			t.Errorf("%s: class %s, want structure", part, classNames[got])
		}
	}
}

func TestOpenLLMetryArgumentsThatAreNotJSONStayText(t *testing.T) {
	says(t, Read(spanSource("opentelemetry.instrumentation.openai_agents", "f.tool", "traceloop.span.kind", "tool", "gen_ai.tool.name", "f", "gen_ai.tool.call.arguments", `{"_raw":"{broken"}`, "gen_ai.tool.call.result", "7")),
		"class: tool\ndialect: openllmetry\nname: f\nkind: function\nargs: \"{broken\" [openllmetry.raw]\nresult: \"7\"\n")
}

func TestLiteLLMSpansOfTheProxyAreNoise(t *testing.T) {
	for name, want := range map[string]Class{
		"Received Proxy Server Request": Entry, "raw_gen_ai_request": Structure, "litellm_request": Model, "redis": Noise, "auth /chat/completions": Noise,
	} {
		if got := Read(spanSource("litellm", name)).Class; got != want {
			t.Errorf("%s: class %s, want %s", name, classNames[got], classNames[want])
		}
	}
}

func TestLiteLLMEmbeddingsAreNoise(t *testing.T) {
	says(t, Read(spanSource("litellm", "litellm_request", "gen_ai.operation.name", "aembedding", "gen_ai.request.model", "e")), "class: noise\ndialect: litellm\nnoise: embedding\n")
}

func TestLiteLLMPrefersMessagesToFlattenedCompletions(t *testing.T) {
	says(t, Read(spanSource("litellm", "litellm_request", "gen_ai.request.model", "gpt-4o", "gen_ai.system", "openai",
		"gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"q"}]},{"role":"assistant","parts":[],"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},{"role":"tool","parts":[{"type":"text","content":"r"}],"tool_call_id":"c1"}]`,
		"gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"a"}],"finish_reason":"stop"}]`,
		"gen_ai.completion.0.role", "assistant", "gen_ai.completion.0.content", "a", "llm.is_streaming", "False")),
		"class: model\ndialect: litellm\nmodel: gpt-4o\nprovider: openai\nrequest: user | text \"q\"\nrequest: assistant | call f c1 {\"a\":1}\nrequest: tool | result  c1 \"r\" [content_blocks]\nresponse: assistant | text \"a\" [stop]\n")
}

func TestOpenLITIsReadAsRecorded(t *testing.T) {
	saysAsRecorded(t, Read, "openlit/events")
	saysAsRecorded(t, Read, "openlit/openai")
}

func TestOpenLITPromptLinesAreLossyWhenThereAreSeveral(t *testing.T) {
	messages := promptLines("system: be brief\nuser: first line\nsecond line")
	if len(messages) != 2 || messages[1].Parts[0].Text != "first line\nsecond line" || messages[0].Parts[0].Label != "lossy" {
		t.Errorf("got %+v", messages)
	}
}
