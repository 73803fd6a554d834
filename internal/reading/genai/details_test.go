// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
)

func TestContentOfAnyConventionIsReadFromTheDetailsOfACall(t *testing.T) {
	content := func(m pcommon.Map) {
		m.PutStr("tool.name", "another")
		m.PutStr("input.value", `{"city":"Paris"}`)
		m.PutStr("output.value", "rain over the river")
	}
	tool := func() ptrace.Span {
		span := ptrace.NewSpan()
		span.SetName("weather")
		span.Attributes().PutStr("openinference.span.kind", "TOOL")
		span.Attributes().PutStr("tool.name", "weather")
		return span
	}
	inEvent, inLog, log := tool(), tool(), ptrace.NewSpan()
	e := inEvent.Events().AppendEmpty()
	e.SetName(details)
	content(e.Attributes())
	log.SetName(details)
	content(log.Attributes())
	for name, s := range map[string]*dialect.Source{
		"span event": {Resource: pcommon.NewMap(), Span: inEvent},
		"log record": {Resource: pcommon.NewMap(), Span: inLog, Logs: []ptrace.Span{log}},
	} {
		o := Read(s)
		if o.Class != dialect.Tool || o.Name != "weather" || o.Args.Value.Get("city").Str() != "Paris" || o.Result.Value.Text() != "rain over the river" {
			t.Errorf("%s: class %d, %s(%s) = %s", name, o.Class, o.Name, o.Args.Value.JSON(), o.Result.Value.JSON())
		}
		if _, there := s.Span.Attributes().Get("input.value"); there {
			t.Errorf("%s: reading changed the span", name)
		}
	}
}
