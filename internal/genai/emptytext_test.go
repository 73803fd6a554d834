// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/genai/dialect"
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
