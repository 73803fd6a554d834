// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package openlit_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/genai/decode"
	"github.com/tapedeck/tapedeck/internal/genai/genaitest"
)

func TestOpenLITIsReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "openlit/events")
	genaitest.SaysAsRecorded(t, genai.Read, "openlit/openai")
}

func TestOpenLITPromptLinesAreLossyWhenThereAreSeveral(t *testing.T) {
	messages := decode.PromptLines("system: be brief\nuser: first line\nsecond line")
	if len(messages) != 2 || messages[1].Parts[0].Text != "first line\nsecond line" || messages[0].Parts[0].Label != "lossy" {
		t.Errorf("got %+v", messages)
	}
}

func TestOpenLITStateOfAGraphIsReadWhereItIsWhole(t *testing.T) {
	state := `{"messages":[{"lc":1,"type":"constructor","id":["langchain_core","messages","AIMessage"],"kwargs":{"content":"end"}}]}`
	for out, want := range map[string]int{state: 1, state[:len(state)-9]: 0} {
		o := genai.Read(genaitest.Span("@openlit/instrumentation-langchain", "invoke_workflow a", "gen_ai.operation.name", "invoke_workflow", "gen_ai.workflow.output", out))
		if len(o.Output) != want {
			t.Errorf("%d bytes: %d messages, want %d", len(out), len(o.Output), want)
		}
	}
}

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
