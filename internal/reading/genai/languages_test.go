// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// A tool that returned an empty text would be served null, or null as an empty text where the SDK has both.
func TestAKeyWithoutAValueIsAnEmptyTextFromJavaAlone(t *testing.T) {
	for language, want := range map[string]exactjson.Kind{"java": exactjson.String, "nodejs": exactjson.Null, "": exactjson.Null} {
		resource, span := pcommon.NewMap(), ptrace.NewSpan()
		resource.PutStr("telemetry.sdk.language", language)
		span.Attributes().PutStr("gen_ai.operation.name", "execute_tool")
		span.Attributes().PutStr("gen_ai.tool.name", "probe")
		span.Attributes().PutEmpty("gen_ai.tool.call.result")
		if o := Read(&dialect.Source{Resource: resource, ScopeName: "app", Span: span}); o.Result.Value.Kind() != want || o.Result.Value.Str() != "" {
			t.Errorf("%q: the result is read as %v", language, o.Result.Value.Kind())
		}
		if v, _ := span.Attributes().Get("gen_ai.tool.call.result"); v.Type() != pcommon.ValueTypeEmpty {
			t.Errorf("%q: the evidence was changed", language)
		}
	}
}

// A streamed answer that was set after each turn would be that of the first one.
func TestAnAttributeThatWasSetTwiceIsTheLastFromRustAlone(t *testing.T) {
	for language, want := range map[string]string{"rust": "Rain.", "": "One moment."} {
		doc := `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"invoke_agent","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"invoke_agent"}},
			{"key":"gen_ai.completion","value":{"stringValue":"One moment."}},{"key":"gen_ai.completion","value":{"stringValue":"Rain."}}]}]}]}]}`
		traces, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		rs := traces.ResourceSpans().At(0)
		rs.Resource().Attributes().PutStr("telemetry.sdk.language", language)
		o := Read(&dialect.Source{Resource: rs.Resource().Attributes(), ScopeName: "rig", Span: rs.ScopeSpans().At(0).Spans().At(0)})
		if got := o.OutputData.Value.Str(); got != want {
			t.Errorf("%q: the answer is read as %q", language, got)
		}
	}
}

// What an exporter for Go writes for a null in a log record is no text. A span has nulls, and so have records of other languages.
func TestAnEmptyValueOfALogRecordInGoIsNull(t *testing.T) {
	for _, c := range []struct {
		language, value string
		want            string
	}{{"go", "INVALID", `{"list":[null]}`}, {"go", "INVALID DATE", `{"list":["INVALID DATE"]}`}, {"java", "INVALID", `{"list":["INVALID"]}`}} {
		resource, span, record := pcommon.NewMap(), ptrace.NewSpan(), ptrace.NewSpan()
		resource.PutStr("telemetry.sdk.language", c.language)
		span.Attributes().PutStr("gen_ai.operation.name", "chat")
		record.SetName("gen_ai.choice")
		body := record.Attributes().PutEmptyMap(dialect.LogBody)
		call := body.PutEmptySlice("tool_calls").AppendEmpty().SetEmptyMap()
		call.PutStr("id", "c1")
		function := call.PutEmptyMap("function")
		function.PutStr("name", "f")
		function.PutEmptyMap("arguments").PutEmptySlice("list").AppendEmpty().SetStr(c.value)
		o := Read(&dialect.Source{Resource: resource, ScopeName: "app", Span: span, Logs: []ptrace.Span{record}})
		if len(o.Response) != 1 || len(o.Response[0].Parts) != 1 || o.Response[0].Parts[0].Args.JSON() != c.want {
			t.Errorf("%s, %s: %+v", c.language, c.value, o.Response)
		}
	}
}
