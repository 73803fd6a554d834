// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package mlflow_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

func TestMLflowDecodesEveryValueOnce(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("", "get_weather_2", "mlflow.spanType", `"TOOL"`, "mlflow.spanFunctionName", `"get_weather"`, "mlflow.spanInputs", `{"city":"Oslo"}`, "mlflow.spanOutputs", `"{\"t\":3}"`)),
		"class: tool\ndialect: mlflow\nname: get_weather\nkind: function\nargs: {\"city\":\"Oslo\"}\nresult: \"{\\\"t\\\":3}\"\n")
	genaitest.Says(t, genai.Read(genaitest.Span("", "get_weather", "mlflow.spanType", `"TOOL"`, "mlflow.spanInputs", `{"city":"Oslo"}`, "mlflow.spanOutputs", `{"t":3}`)),
		"class: tool\ndialect: mlflow\nname: get_weather\nkind: function\nargs: {\"city\":\"Oslo\"}\nresult: {\"t\":3}\n")
}

func TestMLflowModelCallIsTheProvidersOwn(t *testing.T) {
	genaitest.Says(t, genai.Read(genaitest.Span("", "Completions", "mlflow.spanType", `"CHAT_MODEL"`, "mlflow.llm.provider", `"openai"`,
		"mlflow.spanInputs", `{"model":"gpt-4o","temperature":0,"messages":[{"role":"user","content":"q"}],"tools":[{"type":"function","function":{"name":"f"}}]}`,
		"mlflow.spanOutputs", `{"id":"chatcmpl-1","model":"gpt-4o-x","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"a"}}],"usage":{"prompt_tokens":4,"completion_tokens":2}}`,
		"mlflow.chat.tokenUsage", `{"input_tokens":4,"output_tokens":2,"total_tokens":6}`)),
		"class: model\ndialect: mlflow\nmodel: gpt-4o\nprovider: openai\nparam temperature: 0\nrequest: user | text \"q\"\nresponse: assistant | text \"a\" [stop]\noffers: f\nfinish: stop\nresponse id: chatcmpl-1\nresponse model: gpt-4o-x\ninput tokens: 4\noutput tokens: 2\n")
}

// The settings of a request stand on the span one by one, too: a limit cuts what went in before them.
func TestMLflowNamesTheModelBesideARequestThatWasCut(t *testing.T) {
	o := genai.Read(genaitest.Span("", "Completions", "mlflow.spanType", `"CHAT_MODEL"`, "mlflow.spanInputs", `{"messages":[{"role":"user","content":"q`, "model", `"gpt-4o"`, "mlflow.llm.model", `"gpt-4o-x"`))
	if o.Model != "gpt-4o" {
		t.Errorf("model %q", o.Model)
	}
	o = genai.Read(genaitest.Span("", "Completions", "mlflow.spanType", `"CHAT_MODEL"`, "mlflow.spanInputs", `{"messages":[{"role":"user","content":"q"}],"model":"gpt-5"}`, "model", `"gpt-4o"`))
	if o.Model != "gpt-5" {
		t.Errorf("model %q, and the request names another", o.Model)
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
			genaitest.Says(t, genai.Read(genaitest.Span("", "x", "mlflow.spanType", `"LLM"`, "mlflow.spanInputs", c.in, "mlflow.spanOutputs", c.out)), "class: model\ndialect: mlflow\nmodel: m\n"+c.want)
		})
	}
}

func TestAgentOfSmolagentsIsReadFromItsMembers(t *testing.T) {
	span := func(kind, in, out string, more ...string) *dialect.Source {
		return genaitest.Span("mlflow.tracing.provider", "run", append([]string{"mlflow.spanType", `"` + kind + `"`, "mlflow.spanInputs", in, "mlflow.spanOutputs", out}, more...)...)
	}
	o := genai.Read(span("AGENT", `{"task":"count the days"}`, `{"_value":"done"}`, "instructions", `"Be brief."`))
	if len(o.Input) != 1 || o.Input[0].Parts[0].Text != "count the days" || len(o.Output) != 1 || o.Output[0].Parts[0].Text != "done" || len(o.System) != 1 || o.System[0].Text != "Be brief." {
		t.Errorf("input %v, output %v, system %v", o.Input, o.Output, o.System)
	}
	if o := genai.Read(span("AGENT", `{"type":"job","task":"t1"}`, `{"_value":"done","_kind":1}`, "instructions", `"None"`)); len(o.Input) > 0 || len(o.Output) > 0 || len(o.System) > 0 {
		t.Errorf("input %v, output %v, system %v", o.Input, o.Output, o.System)
	}
	o = genai.Read(span("TOOL", `{"sanitize_inputs_outputs":true,"kwargs":{"x":1}}`, `{"y":2}`))
	if o.Args.Value.JSON() != `{"x":1}` {
		t.Errorf("arguments %s", o.Args.Value.JSON())
	}
	if o := genai.Read(span("TOOL", `{"depth":1,"kwargs":{"x":1}}`, `{"y":2}`)); o.Args.Value.Len() != 2 {
		t.Errorf("arguments %s", o.Args.Value.JSON())
	}
}

// DSPy's predictor fills a signature by a call of the model below it, whose answers are a list of texts.
func TestMLflowOfDSPy(t *testing.T) {
	for signature, want := range map[string]dialect.Class{`"question -> answer"`: dialect.Structure, `"HMAC"`: dialect.Model} {
		if got := genai.Read(genaitest.Span("", "Predict.forward", "mlflow.spanType", `"LLM"`, "signature", signature, "mlflow.spanInputs", `{"question":"q"}`)).Class; got != want {
			t.Errorf("signature %s: class %s", signature, genaitest.ClassNames[got])
		}
	}
	genaitest.Says(t, genai.Read(genaitest.Span("", "LM.__call__", "mlflow.spanType", `"CHAT_MODEL"`, "mlflow.message.format", `"dspy"`, "model", `"openai/gpt-4o"`,
		"mlflow.spanInputs", `{"messages":[{"role":"user","content":"q"}]}`, "mlflow.spanOutputs", `["[[ ## answer ## ]]\na","another"]`)),
		"class: model\ndialect: mlflow\nmodel: gpt-4o\nprovider: openai\nrequest: user | text \"q\"\nresponse: assistant | text \"[[ ## answer ## ]]\\na\"\n")
}
