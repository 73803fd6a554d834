// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/genai"
)

// AddLogs adds the log records that GenAI instrumentations write, each as a span (see LogsToTraces).
func (s *Set) AddLogs(ld plog.Logs) { s.add(LogsToTraces(ld), true) }

// LogsToTraces turns GenAI log records into spans of scope "tapedeck.log": the name is the event's, the parent is the span that the
// record names, start and end are the record's time, the id is derived from the content. Body, event name and original scope stand
// in the attributes log.record.*. Other records, and records without a trace id, are left out.
func LogsToTraces(ld plog.Logs) ptrace.Traces {
	td := ptrace.NewTraces()
	var h hasher
	for _, rl := range ld.ResourceLogs().All() {
		var rs ptrace.ResourceSpans
		var resource Digest
		opened := false
		for _, sl := range rl.ScopeLogs().All() {
			var ss ptrace.ScopeSpans
			scoped := false
			for _, record := range sl.LogRecords().All() {
				name := eventName(record)
				if record.TraceID().IsEmpty() || !genai.IsEvidenceLog(name, record.Attributes()) {
					continue
				}
				if !opened {
					rs = td.ResourceSpans().AppendEmpty()
					rl.Resource().CopyTo(rs.Resource())
					rs.SetSchemaUrl(rl.SchemaUrl())
					resource = h.resource(rs)
					opened = true
				}
				if !scoped {
					ss = rs.ScopeSpans().AppendEmpty()
					ss.Scope().SetName(genai.LogScope)
					ss.Scope().SetVersion(sl.Scope().Version())
					scoped = true
				}
				span := ss.Spans().AppendEmpty()
				logSpan(name, sl.Scope().Name(), record, span)
				id := h.span(h.scope(resource, ss), span)
				span.SetSpanID(pcommon.SpanID(id[:8]))
			}
		}
	}
	return td
}

func logSpan(name, scope string, record plog.LogRecord, span ptrace.Span) {
	span.SetName(name)
	span.SetTraceID(record.TraceID())
	span.SetParentSpanID(record.SpanID())
	at := recordTime(record)
	span.SetStartTimestamp(at)
	span.SetEndTimestamp(at)
	record.Attributes().CopyTo(span.Attributes())
	if record.Body().Type() != pcommon.ValueTypeEmpty {
		record.Body().CopyTo(span.Attributes().PutEmpty(genai.LogBody))
	}
	if name != "" {
		span.Attributes().PutStr(genai.LogEventName, name)
	}
	if scope != "" {
		span.Attributes().PutStr(genai.LogScopeName, scope)
	}
	if record.SeverityNumber() >= plog.SeverityNumberError {
		span.Status().SetCode(ptrace.StatusCodeError)
	}
}

// eventName is the record's event name, wherever the producer put it.
func eventName(record plog.LogRecord) string {
	if name := record.EventName(); name != "" {
		return name
	}
	for _, key := range []string{"event.name", "event_name"} {
		if v, ok := record.Attributes().Get(key); ok && v.Type() == pcommon.ValueTypeStr {
			return v.Str()
		}
	}
	return ""
}

// recordTime is the record's own time, else the time its producer states, else when it was observed.
func recordTime(record plog.LogRecord) pcommon.Timestamp {
	if t := record.Timestamp(); t != 0 {
		return t
	}
	if v, ok := record.Attributes().Get("event.timestamp"); ok && v.Type() == pcommon.ValueTypeStr {
		if t, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(v.Str())); err == nil && t.UnixNano() > 0 {
			return pcommon.NewTimestampFromTime(t)
		}
	}
	return record.ObservedTimestamp()
}
