// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
)

// ForwardVerdicts adds log records to traces, in the form of LogsToTraces: what carriers say of spans of
// other traces becomes evidence of those traces, and what a span says that is no evidence stays evidence. The
// link names the trace, so nothing has to be looked up. The same carrier gives the same records.
func ForwardVerdicts(td ptrace.Traces) {
	records := ptrace.NewTraces()
	for _, rs := range td.ResourceSpans().All() {
		var to ptrace.SpanSlice
		opened := false
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				if ss.Scope().Name() == genai.LogScope || !genai.TellsVerdicts(span) {
					continue
				}
				trace, judged := span.TraceID(), span.SpanID()
				if link, carries := genai.Judged(span); carries {
					trace, judged = link.TraceID(), link.SpanID()
				}
				if trace.IsEmpty() || trace == span.TraceID() && genai.IsEvidence(ss.Scope().Name(), span) {
					continue
				}
				if !opened {
					added := records.ResourceSpans().AppendEmpty()
					rs.Resource().CopyTo(added.Resource())
					added.SetSchemaUrl(rs.SchemaUrl())
					scope := added.ScopeSpans().AppendEmpty()
					scope.Scope().SetName(genai.LogScope)
					to, opened = scope.Spans(), true
				}
				forward(ss.Scope().Name(), span, to, trace, judged)
			}
		}
	}
	identify(records)
	records.ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
}

// forward makes records of what the attributes of a span judge, and of each of its events that does.
func forward(scope string, span ptrace.Span, to ptrace.SpanSlice, trace pcommon.TraceID, judged pcommon.SpanID) {
	record := func(at pcommon.Timestamp, attributes pcommon.Map, wanted func(key string) bool) {
		r := to.AppendEmpty()
		r.SetName(genai.VerdictEvent)
		r.SetTraceID(trace)
		r.SetParentSpanID(judged)
		r.SetStartTimestamp(at)
		r.SetEndTimestamp(at)
		for key, v := range attributes.All() {
			if wanted(key) {
				v.CopyTo(r.Attributes().PutEmpty(key))
			}
		}
		r.Attributes().PutStr(dialect.LogEventName, genai.VerdictEvent)
		if scope != "" {
			r.Attributes().PutStr(dialect.LogScopeName, scope)
		}
	}
	if genai.HasVerdicts(span.Attributes()) {
		record(span.EndTimestamp(), span.Attributes(), genai.IsVerdictAttribute)
	}
	for _, event := range span.Events().All() {
		if event.Name() == genai.VerdictEvent {
			record(event.Timestamp(), event.Attributes(), func(string) bool { return true })
		}
	}
}
