// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"slices"
	"testing"
)

func TestMLflowDecodesEveryValueOnce(t *testing.T) {
	says(t, spanSource("", "get_weather_2", "mlflow.spanType", `"TOOL"`, "mlflow.spanFunctionName", `"get_weather"`, "mlflow.spanInputs", `{"city":"Oslo"}`, "mlflow.spanOutputs", `"{\"t\":3}"`),
		"class: tool\ndialect: mlflow\nname: get_weather\nkind: function\nargs: {\"city\":\"Oslo\"}\nresult: \"{\\\"t\\\":3}\"\n")
	says(t, spanSource("", "get_weather", "mlflow.spanType", `"TOOL"`, "mlflow.spanInputs", `{"city":"Oslo"}`, "mlflow.spanOutputs", `{"t":3}`),
		"class: tool\ndialect: mlflow\nname: get_weather\nkind: function\nargs: {\"city\":\"Oslo\"}\nresult: {\"t\":3}\n")
}

func TestMLflowModelCallIsTheProvidersOwn(t *testing.T) {
	says(t, spanSource("", "Completions", "mlflow.spanType", `"CHAT_MODEL"`, "mlflow.llm.provider", `"openai"`,
		"mlflow.spanInputs", `{"model":"gpt-4o","temperature":0,"messages":[{"role":"user","content":"q"}],"tools":[{"type":"function","function":{"name":"f"}}]}`,
		"mlflow.spanOutputs", `{"id":"chatcmpl-1","model":"gpt-4o-x","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"a"}}],"usage":{"prompt_tokens":4,"completion_tokens":2}}`,
		"mlflow.chat.tokenUsage", `{"input_tokens":4,"output_tokens":2,"total_tokens":6}`),
		"class: model\ndialect: mlflow\nmodel: gpt-4o\nprovider: openai\nparam temperature: 0\nrequest: user | text \"q\"\nresponse: assistant | text \"a\" [stop]\noffers: f\nfinish: stop\nresponse id: chatcmpl-1\nresponse model: gpt-4o-x\ninput tokens: 4\noutput tokens: 2\n")
}

func TestTruLensIsReadAsRecorded(t *testing.T) { saysAsRecorded(t, "trulens/rag") }

func TestWeaveMirrorsTheConventions(t *testing.T) {
	says(t, spanSource("weave", "execute_tool f", "weave.operation.name", "execute_tool", "weave.tool.name", "f", "weave.tool.call.arguments", `{"a":1}`, "weave.tool.call.result", "r", "wandb.thread_id", "t1"),
		"class: tool\ndialect: weave\nconversation: t1\nname: f\nargs: {\"a\":1}\nresult: \"r\"\n")
}

func TestHandWrittenSpansAreRead(t *testing.T) {
	saysAsRecorded(t, "generic/mixed")
	says(t, spanSource("app", "tool call", "tool.name", "f", "tool.call_id", "c1", "input", `{"a":1}`, "output", "r"),
		"class: tool\ndialect: generic\nname: f\ncall: c1\nkind: function\nargs: {\"a\":1}\nresult: \"r\"\n")
	says(t, spanSource("app", "tool", "tool.name", "f", "tool.parameters", `{"type":"object","properties":{"a":{}}}`),
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
