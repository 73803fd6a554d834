// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package openlit_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/genai/genaitest"
)

func TestSpansOfFunctionsAreNoModelCalls(t *testing.T) {
	inner := func(args, kwargs string) string {
		s := genaitest.Span("openlit", "f", "function.args", args, "function.kwargs", kwargs, "gen_ai.output.messages", "r")
		s.Span.SetParentSpanID(pcommon.SpanID{1})
		return genaitest.Said(genai.Read(s))
	}
	if got, want := inner("()", "{'a': 1}"), "class: tool\ndialect: openlit\nname: f\nkind: function\nargs: {\"a\":1}\nresult: \"r\"\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if o := genai.Read(genaitest.Span("openlit", "main", "function.args", "('q',)", "function.kwargs", "{}", "gen_ai.output.messages", "r")); !o.RunSpan || len(o.Output) != 1 {
		t.Errorf("the outermost function is %+v", o)
	}
}
