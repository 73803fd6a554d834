// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package google_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
)

func TestADKForTypeScriptIsReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "adk/typescript")
}

func TestADKForGoIsReadAsRecorded(t *testing.T) { genaitest.SaysAsRecorded(t, genai.Read, "adk/go") }

func TestADKUnderKagentIsReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "adk/kagent")
}

// ADK for Go makes an object of whatever has members; Python's puts {"result": X} around objects of classes too.
func TestADKForGoWrapsNoObjects(t *testing.T) {
	for _, c := range []struct{ language, response, want string }{
		{"go", `{"result":{}}`, `{"result":{}}`},
		{"go", `{"result":{"result":1}}`, `{"result":{"result":1}}`},
		{"go", `{"result":[1]}`, `[1]`},
		{"go", `{"result":"v"}`, `"v"`},
		{"python", `{"result": {"a": 1}}`, `{"a":1}`},
		{"", `{"result": {"a": 1}}`, `{"a":1}`},
	} {
		source := genaitest.Span("gcp.vertex.agent", "execute_tool f", "gen_ai.tool.name", "f", "gcp.vertex.agent.tool_call_args", `{"a":1}`, "gcp.vertex.agent.tool_response", c.response)
		if c.language != "" {
			source.Resource.PutStr("telemetry.sdk.language", c.language)
		}
		if o := genai.Read(source); o.Result.Value.JSON() != c.want {
			t.Errorf("%s: %s is %s, want %s", c.language, c.response, o.Result.Value.JSON(), c.want)
		}
	}
}

func TestADKReadsEveryGenerationOfSpans(t *testing.T) {
	const scope = "gcp.vertex.agent"
	for _, c := range []struct {
		name   string
		source *dialect.Source
		want   string
	}{
		{"content off: both empty", genaitest.Span(scope, "execute_tool f", "gen_ai.tool.name", "f", "gcp.vertex.agent.tool_call_args", "{}", "gcp.vertex.agent.tool_response", "{}"),
			"class: tool\ndialect: google-adk\nname: f\nkind: function\n"},
		{"a call without arguments", genaitest.Span(scope, "execute_tool f", "gcp.vertex.agent.tool_call_args", "{}", "gcp.vertex.agent.tool_response", `{"result": 1}`),
			"class: tool\ndialect: google-adk\nname: f\nkind: function\nargs: {}\nresult: 1 [adk.result]\n"},
		{"the whole event as response", genaitest.Span(scope, "execute_tool f", "gcp.vertex.agent.tool_call_args", `{"a": 1}`,
			"gcp.vertex.agent.tool_response", `{"content": {"parts": [{"function_response": {"id": "adk-1", "name": "f", "response": {"b": 2}}}]}}`),
			"class: tool\ndialect: google-adk\nname: f\ncall: adk-1\nkind: function\nargs: {\"a\":1}\nresult: {\"b\":2}\n"},
		{"a list in TypeScript, with a text that holds JSON of Python's", genaitest.Span(scope, "execute_tool f", "gen_ai.tool.type", "FunctionTool", "gcp.vertex.agent.tool_call_args", `{"a":1}`,
			"gcp.vertex.agent.tool_response", `{"results":["{\"b\": 2}"]}`),
			"class: tool\ndialect: google-adk\nname: f\nkind: function\nargs: {\"a\":1}\nresult: [\"{\\\"b\\\": 2}\"] [adk.results]\n"},
		{"a list named results in Python", genaitest.Span(scope, "execute_tool f", "gen_ai.tool.type", "FunctionTool", "gcp.vertex.agent.tool_call_args", `{"a": 1}`,
			"gcp.vertex.agent.tool_response", `{"results": [1, 2]}`),
			"class: tool\ndialect: google-adk\nname: f\nkind: function\nargs: {\"a\":1}\nresult: {\"results\":[1,2]}\n"},
		{"a run that broke off while the tool ran, in Java", genaitest.Span(scope, "execute_tool f", "gen_ai.tool.type", "F", "gcp.vertex.agent.tool_call_args", `{"a": 1}`,
			"gcp.vertex.agent.tool_response", "{}", "gen_ai.tool_call.id", "<not specified>"),
			"class: tool\ndialect: google-adk\nname: f\nkind: function\nargs: {\"a\":1}\n"},
		{"an empty object that the tool returned, in Java", genaitest.Span(scope, "execute_tool f", "gen_ai.tool.type", "F", "gcp.vertex.agent.tool_call_args", `{"a": 1}`,
			"gcp.vertex.agent.tool_response", "{}", "gen_ai.tool_call.id", "adk-1"),
			"class: tool\ndialect: google-adk\nname: f\nkind: function\nargs: {\"a\":1}\nresult: {}\n"},
		{"what has no JSON form", genaitest.Span(scope, "execute_tool f", "gcp.vertex.agent.tool_call_args", `{"a": "<not serializable>"}`, "gcp.vertex.agent.tool_response", "<not specified>"),
			"class: tool\ndialect: google-adk\nname: f\nkind: function\nargs: {\"a\":\"<not serializable>\"} [lossy]\n"},
		{"a failure that the program answered for, in 1.24", genaitest.Span(scope, "execute_tool f", "gcp.vertex.agent.tool_call_args", `{"a": 1}`, "gcp.vertex.agent.tool_response", `{"error": "timeout"}`),
			"class: tool\ndialect: google-adk\nname: f\nkind: function\nargs: {\"a\":1}\nresult: {\"error\":\"timeout\"}\nfailed: yes\n"},
		{"an error that is no text", genaitest.Span(scope, "execute_tool f", "gcp.vertex.agent.tool_call_args", `{"a": 1}`, "gcp.vertex.agent.tool_response", `{"error": [1]}`),
			"class: tool\ndialect: google-adk\nname: f\nkind: function\nargs: {\"a\":1}\nresult: {\"error\":[1]}\n"},
		{"early names", genaitest.Span(scope, "tool_call [f]", "gcp.vertex.agent.tool_call_args", `{"a": 1}`),
			"class: tool\ndialect: google-adk\nname: f\nkind: function\nargs: {\"a\":1}\n"},
		{"early agent", genaitest.Span(scope, "agent_run [root]", "gen_ai.system", "gcp.vertex.agent"),
			"class: agent\ndialect: google-adk\nrun span: yes\nagent: root\n"},
		{"the keys of the conventions", genaitest.Span(scope, "execute_tool f", "gen_ai.tool.call.arguments", `{"a": 1}`, "gen_ai.tool.call.result", `{"result": [1, null]}`),
			"class: tool\ndialect: google-adk\nname: f\nkind: function\nargs: {\"a\":1}\nresult: [1,null] [adk.result]\n"},
		{"ids that are names and places", genaitest.Span(scope, "generate_content g", "gen_ai.input.messages",
			`[{"role":"assistant","parts":[{"type":"text","content":"so"},{"type":"tool_call","id":"f_1","name":"f","arguments":{}},{"type":"tool_call","id":"call_1","name":"f","arguments":{}}]},`+
				`{"role":"user","parts":[{"type":"tool_call_response","id":"f_0","response":{"result":1}},{"type":"tool_call_response","id":"g_1","response":{"result":2}}]}]`),
			"class: model\ndialect: google-adk\nrequest: assistant | text \"so\" | call f  {} | call f call_1 {}\nrequest: tool | result f  1 [adk.result] | result  g_1 2 [adk.result]\n"},
		{"messages under the keys of the conventions", genaitest.Span(scope, "generate_content g", "gen_ai.input.messages",
			`[{"role":"user","parts":[{"type":"tool_call_response","id":"c1","response":{"result":null}},{"type":"tool_call_response","id":"c2","response":{"result":"v"}}]}]`),
			"class: model\ndialect: google-adk\nrequest: tool | result  c1 null [adk.result] | result  c2 \"v\" [adk.result]\n"},
		{"a cut request", genaitest.Span(scope, "call_llm", "gcp.vertex.agent.llm_request", `{"model": "g", "contents": [{"role": "us`, "gcp.vertex.agent.llm_response", "{}"),
			"class: model\ndialect: google-adk\nrequest label: truncated\n"},
		{"Go before 1.0", genaitest.Span(scope, "call_llm", "gcp.vertex.agent.llm_request", `{"model":"g","content":[{"parts":[{"text":"hi"}],"role":"user"}]}`, "gcp.vertex.agent.llm_response",
			`{"Content":{"parts":[{"functionCall":{"id":"adk-1","name":"f","args":{"a":1}}}],"role":"model"},"UsageMetadata":{"promptTokenCount":4},"Partial":false,"ErrorCode":"","ErrorMessage":"","FinishReason":"STOP"}`),
			"class: model\ndialect: google-adk\nmodel: g\nrequest: user | text \"hi\"\nresponse: assistant | call f adk-1 {\"a\":1} [STOP]\nfinish: STOP\ninput tokens: 4\n"},
		{"Go before 1.0 ends the span of a stream at its first chunk", genaitest.Span(scope, "call_llm", "gcp.vertex.agent.llm_response", `{"Content":{"parts":[{"text":"One m"}],"role":"model"},"Partial":true}`),
			"class: model\ndialect: google-adk\nresponse label: truncated\nresponse: assistant | text \"One m\"\n"},
		{"a failed answer", genaitest.Span(scope, "call_llm", "gcp.vertex.agent.llm_request", "{}", "gcp.vertex.agent.llm_response", `{"error_code": "429", "error_message": "slow down"}`),
			"class: model\ndialect: google-adk\nfailed: yes\nerror: 429 slow down\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := genaitest.Said(genai.Read(c.source)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestADKLogRecordsHoldGeminiContent(t *testing.T) {
	s := genaitest.Span("gcp.vertex.agent", "generate_content gemini-2.5-flash", "gen_ai.operation.name", "generate_content")
	for i, l := range []struct{ name, body string }{
		{"gen_ai.system.message", `{"content":"be brief"}`},
		{"gen_ai.user.message", `{"content":{"role":"user","parts":[{"text":"hi"}]}}`},
		{"gen_ai.choice", `{"index":0,"content":{"role":"model","parts":[{"text":"h"}]}}`},
		{"gen_ai.choice", `{"index":0,"finish_reason":"STOP","content":{"role":"model","parts":[{"text":"ho"},{"functionCall":{"id":"c1","name":"f","args":{"a":1}}}]}}`},
	} {
		record := ptrace.NewSpan()
		record.SetName(l.name)
		record.SetStartTimestamp(pcommon.Timestamp(i + 1))
		record.Attributes().PutStr(dialect.LogBody, l.body)
		s.Logs = append(s.Logs, record)
	}
	want := "class: model\ndialect: google-adk\nsystem: | text \"be brief\"\nrequest: user | text \"hi\"\n" +
		"response: assistant | text \"ho\" | call f c1 {\"a\":1} [STOP]\n"
	if got := genaitest.Said(genai.Read(s)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A structured attribute holds nothing where a value has no form in one, such as a list of numbers and texts: a null in it may be anything.
func TestNullInAStructuredAttributeIsLabelled(t *testing.T) {
	for _, scope := range []string{"gcp.vertex.agent", "acme"} {
		s := genaitest.Span(scope, "generate_content g")
		record := ptrace.NewSpan()
		record.SetName("gen_ai.client.inference.operation.details")
		if err := record.Attributes().PutEmptySlice("gen_ai.input.messages").FromRaw([]any{map[string]any{"role": "user", "parts": []any{
			map[string]any{"type": "tool_call_response", "id": "c1", "response": map[string]any{"result": nil}},
			map[string]any{"type": "tool_call_response", "id": "c2", "response": map[string]any{"result": int64(0)}},
		}}}); err != nil {
			t.Fatal(err)
		}
		s.Span.Attributes().PutStr("gen_ai.operation.name", "generate_content")
		s.Logs = append(s.Logs, record)
		var results []decode.Part
		for _, m := range genai.Read(s).Request {
			results = append(results, m.Parts...)
		}
		if len(results) != 2 || results[0].Label != tape.Lossy || results[1].Label != "" {
			t.Errorf("%s: %+v", scope, results)
		}
	}
}

// Of the response to a function Gemini's API reads a member "error" as the details of a failure; another provider's does not.
func TestResponseToGeminiThatHoldsAnErrorFailed(t *testing.T) {
	for provider, want := range map[string]bool{"gcp.gemini": true, "openai": false} {
		o := genai.Read(genaitest.Span("acme", "chat g", "gen_ai.operation.name", "chat", "gen_ai.provider.name", provider, "gen_ai.input.messages",
			`[{"role":"user","parts":[{"type":"tool_call_response","id":"c1","response":{"error":"no such record"}},{"type":"tool_call_response","id":"c2","response":"{\"error\":\"no\"}"}]}]`))
		if len(o.Request) != 1 || o.Request[0].Parts[0].IsError != want || o.Request[0].Parts[1].IsError != want {
			t.Errorf("%s: %+v", provider, o.Request)
		}
	}
}
