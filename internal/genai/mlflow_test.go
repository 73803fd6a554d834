// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"slices"
	"testing"
)

func TestMLflowDecodesEveryValueOnce(t *testing.T) {
	says(t, Read(spanSource("", "get_weather_2", "mlflow.spanType", `"TOOL"`, "mlflow.spanFunctionName", `"get_weather"`, "mlflow.spanInputs", `{"city":"Oslo"}`, "mlflow.spanOutputs", `"{\"t\":3}"`)),
		"class: tool\ndialect: mlflow\nname: get_weather\nkind: function\nargs: {\"city\":\"Oslo\"}\nresult: \"{\\\"t\\\":3}\"\n")
	says(t, Read(spanSource("", "get_weather", "mlflow.spanType", `"TOOL"`, "mlflow.spanInputs", `{"city":"Oslo"}`, "mlflow.spanOutputs", `{"t":3}`)),
		"class: tool\ndialect: mlflow\nname: get_weather\nkind: function\nargs: {\"city\":\"Oslo\"}\nresult: {\"t\":3}\n")
}

func TestMLflowModelCallIsTheProvidersOwn(t *testing.T) {
	says(t, Read(spanSource("", "Completions", "mlflow.spanType", `"CHAT_MODEL"`, "mlflow.llm.provider", `"openai"`,
		"mlflow.spanInputs", `{"model":"gpt-4o","temperature":0,"messages":[{"role":"user","content":"q"}],"tools":[{"type":"function","function":{"name":"f"}}]}`,
		"mlflow.spanOutputs", `{"id":"chatcmpl-1","model":"gpt-4o-x","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"a"}}],"usage":{"prompt_tokens":4,"completion_tokens":2}}`,
		"mlflow.chat.tokenUsage", `{"input_tokens":4,"output_tokens":2,"total_tokens":6}`)),
		"class: model\ndialect: mlflow\nmodel: gpt-4o\nprovider: openai\nparam temperature: 0\nrequest: user | text \"q\"\nresponse: assistant | text \"a\" [stop]\noffers: f\nfinish: stop\nresponse id: chatcmpl-1\nresponse model: gpt-4o-x\ninput tokens: 4\noutput tokens: 2\n")
}

func TestTruLensIsReadAsRecorded(t *testing.T) { saysAsRecorded(t, Read, "trulens/rag") }

func TestWeaveMirrorsTheConventions(t *testing.T) {
	says(t, Read(spanSource("weave", "execute_tool f", "weave.operation.name", "execute_tool", "weave.tool.name", "f", "weave.tool.call.arguments", `{"a":1}`, "weave.tool.call.result", "r", "wandb.thread_id", "t1")),
		"class: tool\ndialect: weave\nconversation: t1\nname: f\nargs: {\"a\":1}\nresult: \"r\"\n")
}

func TestHandWrittenSpansAreRead(t *testing.T) {
	saysAsRecorded(t, Read, "generic/mixed")
	says(t, Read(spanSource("app", "tool call", "tool.name", "f", "tool.call_id", "c1", "input", `{"a":1}`, "output", "r")),
		"class: tool\ndialect: generic\nname: f\ncall: c1\nkind: function\nargs: {\"a\":1}\nresult: \"r\"\n")
	says(t, Read(spanSource("app", "tool", "tool.name", "f", "tool.parameters", `{"type":"object","properties":{"a":{}}}`)),
		"class: tool\ndialect: generic\nname: f\nkind: function\n")
}

func TestHandWrittenNamesAddNothingToOpenInference(t *testing.T) {
	o := Read(spanSource("app", "t", "openinference.span.kind", "TOOL", "tool.name", "f", "input.value", "{}"))
	if len(o.Dialects) == 0 || o.Dialects[0] != "openinference" || slices.Contains(o.Dialects, "generic") {
		t.Errorf("read by %v", o.Dialects)
	}
}

func TestBareNamesAloneAreNoEvidence(t *testing.T) {
	s := spanSource("app", "work", "input", "x", "output", "y")
	if IsEvidence(s.ScopeName, s.Span) {
		t.Error("a span with input and output alone is taken for a part of an agent run")
	}
}

func TestRequestsAndResponsesOfEveryProviderAreRead(t *testing.T) {
	for _, c := range []struct{ name, in, out, want string }{
		{
			"OpenAI Responses", `{"model":"m","instructions":"s","input":[{"role":"user","content":"q"},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"r"}],"tools":[{"type":"function","name":"f"}]}`,
			`{"id":"resp_1","model":"m-1","object":"response","output":[{"type":"function_call","call_id":"c2","name":"f","arguments":"{\"a\":1}"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]}],"usage":{"input_tokens":1,"output_tokens":2}}`,
			"system: | text \"s\"\nrequest: user | text \"q\"\nrequest: assistant | call f c1 {}\nrequest: tool | result  c1 \"r\"\nresponse: assistant | call f c2 {\"a\":1} | text \"x\"\noffers: f\nresponse id: resp_1\nresponse model: m-1\ninput tokens: 1\noutput tokens: 2\n",
		},
		{
			"Anthropic", `{"model":"m","system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t0","content":"r","is_error":true}]}]}`,
			`{"id":"msg_1","model":"m-1","role":"assistant","type":"message","content":[{"type":"tool_use","id":"t1","name":"f","input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}`,
			"system: | text \"s\"\nrequest: tool | result  t0 \"r\" failed\nresponse: assistant | call f t1 {\"a\":1}\nfinish: tool_use\nresponse id: msg_1\nresponse model: m-1\ninput tokens: 1\noutput tokens: 2\n",
		},
		{
			"Gemini", `{"model":"m","contents":[{"role":"user","parts":[{"text":"q"}]}],"config":{"systemInstruction":"s","tools":[{"functionDeclarations":[{"name":"f"}]}]}}`,
			`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":1}}}],"role":"model"},"finishReason":"STOP"}],"modelVersion":"m-1","responseId":"r1","usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2}}`,
			"system: | text \"s\"\nrequest: user | text \"q\"\nresponse: assistant | call f  {\"a\":1} [STOP]\noffers: f\nfinish: STOP\nresponse id: r1\nresponse model: m-1\ninput tokens: 1\noutput tokens: 2\n",
		},
		{
			"Bedrock", `{"modelId":"m","system":[{"text":"s"}],"messages":[{"role":"user","content":[{"text":"q"}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"f"}}]}}`,
			`{"output":{"message":{"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"f","input":{"a":1}}}]}},"stopReason":"tool_use","usage":{"inputTokens":1,"outputTokens":2}}`,
			"system: | text \"s\"\nrequest: user | text \"q\"\nresponse: assistant | call f t1 {\"a\":1}\noffers: f\nfinish: tool_use\ninput tokens: 1\noutput tokens: 2\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			says(t, Read(spanSource("", "x", "mlflow.spanType", `"LLM"`, "mlflow.spanInputs", c.in, "mlflow.spanOutputs", c.out)), "class: model\ndialect: mlflow\nmodel: m\n"+c.want)
		})
	}
}
