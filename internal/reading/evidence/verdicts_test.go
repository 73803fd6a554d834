// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// TestVerdictsOnOtherTracesBecomeRecordsOfThem sends the span of a web server that judges itself, a carrier
// with attributes and an event, and a model call that judges itself.
func TestVerdictsOnOtherTracesBecomeRecordsOfThem(t *testing.T) {
	judged := pcommon.TraceID{7}
	sent := func() ptrace.Traces {
		td := ptrace.NewTraces()
		rs := td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutStr("service.name", "s")
		ss := rs.ScopeSpans().AppendEmpty()
		for i := range 3 {
			span := ss.Spans().AppendEmpty()
			span.SetTraceID(pcommon.TraceID{1})
			span.SetSpanID(pcommon.SpanID{byte(i + 1)})
			span.SetEndTimestamp(9)
			span.Attributes().PutStr("annotations.0.annotation.name", "n")
			span.Attributes().PutStr("annotations.0.annotation.label", "l")
		}
		carrier := ss.Spans().At(1)
		carrier.Attributes().PutStr("openinference.span.kind", "EVALUATOR")
		carrier.Attributes().PutStr("acme.other", "x")
		link := carrier.Links().AppendEmpty()
		link.SetTraceID(judged)
		link.SetSpanID(pcommon.SpanID{8})
		event := carrier.Events().AppendEmpty()
		event.SetName(genai.VerdictEvent)
		event.SetTimestamp(5)
		event.Attributes().PutStr("gen_ai.evaluation.name", "e")
		ss.Spans().At(2).Attributes().PutStr("gen_ai.operation.name", "chat")
		return td
	}
	td := sent()
	ForwardVerdicts(td)
	ForwardVerdicts(td) // as by a sender that tries again
	set := NewSet()
	set.AddTraces(td)
	var records []ptrace.Span
	for _, item := range set.Items() {
		if genai.IsVerdict(item.Scope.Scope().Name(), item.Span) {
			records = append(records, item.Span)
		}
	}
	if len(records) != 3 {
		t.Fatalf("%d records", len(records))
	}
	for _, r := range records {
		of := genai.Verdicts(genai.LogScope, r)
		if len(of) != 1 || r.SpanID().IsEmpty() {
			t.Fatalf("verdicts %+v", of)
		}
		_, other := r.Attributes().Get("acme.other")
		switch {
		case r.TraceID() == judged && of[0].Span == pcommon.SpanID{8} && !other && (of[0].Name == "n" && r.StartTimestamp() == 9 || of[0].Name == "e" && r.StartTimestamp() == 5):
		case r.TraceID() == pcommon.TraceID{1} && of[0].Span == pcommon.SpanID{1}:
		default:
			t.Errorf("record of %s on %s: %+v", r.TraceID(), r.ParentSpanID(), of[0])
		}
	}
}
