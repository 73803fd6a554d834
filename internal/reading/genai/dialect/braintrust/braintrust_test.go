// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package braintrust_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
)

func observe(scope, name string, attributes ...string) *dialect.Report {
	span := ptrace.NewSpan()
	span.SetName(name)
	span.SetParentSpanID(pcommon.SpanID{1})
	for i := 0; i < len(attributes); i += 2 {
		span.Attributes().PutStr(attributes[i], attributes[i+1])
	}
	return genai.Read(&dialect.Source{Resource: pcommon.NewMap(), ScopeName: scope, Span: span})
}

func TestASpanSaysWhatItIsInAMemberOfItsAttributes(t *testing.T) {
	o := observe("braintrust-java", "Chat Completion", "braintrust.span_attributes", `{"type":"llm"}`,
		"braintrust.input_json", `[{"role":"system","content":"Be terse."},{"role":"user","content":"Jobs?"}]`,
		"braintrust.output_json", `[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"get_job","arguments":"{\"job\":\"5\"}"}}]}}]`,
		"braintrust.metadata", `{"provider":"openai","model":"gpt-4o-mini"}`, "braintrust.metrics", `{"prompt_tokens":40,"completion_tokens":12}`)
	if o.Class != dialect.Model || o.Model != "gpt-4o-mini" || len(o.Request) != 2 || len(o.Response) != 1 || !decode.HasCalls(o.Response[0]) || o.Usage.InputTokens == nil || *o.Usage.InputTokens != 40 {
		t.Errorf("the model call is read as %+v", o)
	}
	o = observe("braintrust-langchain4j", "get_job", "braintrust.span_attributes", `{"type":"tool"}`, "braintrust.input_json", `{"job": "5"}`, "braintrust.output", `{"state":"done"}`)
	if o.Class != dialect.Tool || o.Name != "get_job" || o.Args.Value.Get("job").Str() != "5" || o.Result.Value.Str() != `{"state":"done"}` {
		t.Errorf("the tool is read as %+v", o)
	}
	if o = observe("braintrust", "langchain.tool", "braintrust.span_attributes", `{"type":"tool"}`, "braintrust.input_json", `"{\"job\":\"5\"}"`); o.Name != "" {
		t.Errorf("the name of a callback was taken for that of a tool: %q", o.Name)
	}
	if o = observe("braintrust-langchain4j", "get_job"); o.Class != dialect.Structure || o.Called == nil || o.Called.Name != "get_job" {
		t.Errorf("a tool that threw has no attributes; its span is read as %+v", o)
	}
}

// For Java it writes the body with which an API refused a request where the answer goes, and no failure of the span.
func TestTheBodyOfARefusedRequestIsNoAnswer(t *testing.T) {
	for body, failed := range map[string]bool{
		`{"error":{"code":400,"message":"Refused.","type":"invalid_request_error"},"message":"Refused."}`: true,
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`:                     true,
		`{"error":{"code":400,"message":"Bad.","status":"INVALID_ARGUMENT"}}`:                             true,
		`{"error":{"message":"No such page.","type":"page"}}`:                                             false, // what a model may say
		`{"error":{"message":"No such page."}}`:                                                           false,
		`{"error":{"message":"m","type":"some_error"},"choices":[{"message":{"content":"a"}}]}`:           false,
	} {
		o := observe("braintrust-java", "anthropic.messages.create", "braintrust.span_attributes", `{"type":"llm"}`, "braintrust.metadata", `{"model":"m"}`,
			"braintrust.input_json", `[{"role":"user","content":"Jobs?"}]`, "braintrust.output_json", body)
		if o.Failed != failed || failed && (len(o.Response) > 0 || o.Error == nil || o.Error.Message == "") {
			t.Errorf("%s: failed %t, answer %+v, error %+v", body, o.Failed, o.Response, o.Error)
		}
	}
}

// Braintrust's processor marks every span that it sends.
func TestASpanOfAnotherInstrumentationIsLeftToIt(t *testing.T) {
	o := observe("app", "execute_tool get_job", "braintrust.parent", "project_name:p", "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "get_job", "gen_ai.tool.call.result", "done")
	if len(o.Dialects) == 0 || o.Dialects[0] != "otel-genai" || o.Class != dialect.Tool {
		t.Errorf("it is read by %v as %v", o.Dialects, o.Class)
	}
	if o = observe("app", "score", "braintrust.span_attributes", `{"type":"score"}`, "braintrust.output_json", `{"score":1}`); o.Class != dialect.Noise {
		t.Errorf("the score of an experiment is read as %v", o.Class)
	}
}
