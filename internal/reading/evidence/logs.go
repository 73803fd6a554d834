// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"crypto/sha256"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/reading/spandigest"
)

// AddLogs adds the log records that GenAI instrumentations write, each as a span (see LogsToTraces).
func (s *Set) AddLogs(ld plog.Logs) { s.add(LogsToTraces(ld, segregation.Default), true) }

// LogsToTraces turns GenAI log records into spans of scope "tapedeck.log". The name is the event's. The parent is the span that the record
// names. Start and end are the record's time. The id is derived from the content. Body, event name, original scope, severity, flags and the
// time of observation stand in the attributes log.record.*; the last three have no part in the id. A record without a trace id gets the one
// of its run, see LogTraceID. Records that name neither trace nor run are left out. Records that are no GenAI records are left out too, but
// what those of a trace say of a replay is kept. Resources keep the marker of a redaction as it is.
func LogsToTraces(ld plog.Logs, rules *segregation.Rules) ptrace.Traces {
	td := ptrace.NewTraces()
	scan := segregation.Scan{Rules: rules}
	var notes segregation.Notes
	var h spandigest.Hasher
	for _, rl := range ld.ResourceLogs().All() {
		var rs ptrace.ResourceSpans
		var resource Digest
		opened := false
		for _, sl := range rl.ScopeLogs().All() {
			var ss ptrace.ScopeSpans
			scoped := false
			for _, record := range sl.LogRecords().All() {
				name := genai.EventName(sl.Scope().Name(), record.EventName(), record.Attributes(), record.Body())
				if !genai.IsEvidenceLog(name, record) {
					scan.Reset()
					scan.Attributes(rl.Resource().Attributes())
					scan.Attributes(sl.Scope().Attributes())
					scan.Attributes(record.Attributes())
					notes.Add(record.TraceID(), scan.Tags(), rl.Resource().Attributes())
					continue
				}
				traceID := traceOf(name, record)
				if traceID.IsEmpty() {
					continue
				}
				if !opened {
					rs = td.ResourceSpans().AppendEmpty()
					rl.Resource().CopyTo(rs.Resource())
					handover.Strip(rs.Resource().Attributes())
					rs.SetSchemaUrl(rl.SchemaUrl())
					resource = h.Resource(rs)
					// Ids do not depend on which redaction the record has seen: the marker holds the proof of one process.
					handover.CopyMarker(rl.Resource().Attributes(), rs.Resource().Attributes())
					opened = true
				}
				if !scoped {
					ss = rs.ScopeSpans().AppendEmpty()
					ss.Scope().SetName(genai.LogScope)
					ss.Scope().SetVersion(sl.Scope().Version())
					sl.Scope().Attributes().CopyTo(ss.Scope().Attributes())
					handover.Strip(ss.Scope().Attributes())
					scoped = true
				}
				span := ss.Spans().AppendEmpty()
				logSpan(name, sl.Scope().Name(), record, span)
				handover.Strip(span.Attributes())
				span.SetTraceID(traceID)
				id := h.Span(h.Scope(resource, ss), span)
				span.SetSpanID(pcommon.SpanID(id[:8]))
				envelope(record, span)
			}
		}
	}
	notes.Append(td)
	return td
}

// identify gives the log records and notes among spans the ids that they have when they are made. An id that remained from other content would tell
// something about it.
func identify(td ptrace.Traces) {
	var h spandigest.Hasher
	for _, rs := range td.ResourceSpans().All() {
		bare := ptrace.NewResourceSpans()
		rs.Resource().CopyTo(bare.Resource())
		handover.Strip(bare.Resource().Attributes())
		bare.SetSchemaUrl(rs.SchemaUrl())
		resource := h.Resource(bare)
		for _, ss := range rs.ScopeSpans().All() {
			switch ss.Scope().Name() {
			case genai.LogScope:
			case segregation.NoteScope:
				for _, span := range ss.Spans().All() {
					segregation.IdentifyNote(span)
				}
				continue
			default:
				continue
			}
			scope := h.Scope(resource, ss)
			for _, span := range ss.Spans().All() {
				span.SetSpanID(pcommon.SpanID{})
				id := h.Without(scope, span, dialect.LogEnvelope)
				span.SetSpanID(pcommon.SpanID(id[:8]))
			}
		}
	}
}

func logSpan(name, scope string, record plog.LogRecord, span ptrace.Span) {
	span.SetName(name)
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

// envelope keeps what else a record has.
func envelope(record plog.LogRecord, span ptrace.Span) {
	a := span.Attributes()
	if n := record.SeverityNumber(); n != plog.SeverityNumberUnspecified {
		a.PutInt(genai.LogSeverityNumber, int64(n))
	}
	if text := record.SeverityText(); text != "" {
		a.PutStr(genai.LogSeverityText, text)
	}
	if flags := record.Flags(); flags != 0 {
		a.PutInt(genai.LogFlags, int64(flags))
	}
	if at := record.ObservedTimestamp(); at != 0 && at != span.StartTimestamp() {
		a.PutInt(genai.LogObservedTime, int64(at))
	}
}

// LogTraceID is the trace id of a run that exists only in log records. It is the first half of the SHA-256 of the tenant, a zero byte and
// the id of the run. The tenant is always "default" here, because the records have not been told apart by tenant yet. Tenants lie apart in
// the deck all the same.
func LogTraceID(run string) pcommon.TraceID {
	sum := sha256.Sum256([]byte("default\x00" + run))
	return pcommon.TraceID(sum[:16])
}

// traceOf is the trace of a record that is evidence: its own, else that of the run that it names; empty if it
// names neither.
func traceOf(name string, record plog.LogRecord) pcommon.TraceID {
	id := record.TraceID()
	if id.IsEmpty() {
		if run := genai.LogRunID(name, record.Attributes()); run != "" {
			id = LogTraceID(run)
		}
	}
	return id
}

// TraceOfRecord is the trace in whose evidence LogsToTraces puts a record of a scope. It is the trace id of
// the record where the record is no evidence, and empty where the record is left out because it names neither
// a trace nor a run.
func TraceOfRecord(scope string, record plog.LogRecord) pcommon.TraceID {
	name := genai.EventName(scope, record.EventName(), record.Attributes(), record.Body())
	if !genai.IsEvidenceLog(name, record) {
		return record.TraceID()
	}
	return traceOf(name, record)
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

// SplitLogs takes the log records out of spans that LogsToTraces made, as they were: LogsToTraces makes the same spans of them again. Spans of
// resources and scopes that hold nothing else are gone from td.
func SplitLogs(td ptrace.Traces) (ptrace.Traces, plog.Logs) {
	ld := plog.NewLogs()
	td.ResourceSpans().RemoveIf(func(rs ptrace.ResourceSpans) bool {
		var rl plog.ResourceLogs
		opened := false
		rs.ScopeSpans().RemoveIf(func(ss ptrace.ScopeSpans) bool {
			if ss.Scope().Name() != genai.LogScope {
				return ss.Spans().Len() == 0
			}
			if !opened {
				rl = ld.ResourceLogs().AppendEmpty()
				rs.Resource().CopyTo(rl.Resource())
				rl.SetSchemaUrl(rs.SchemaUrl())
				opened = true
			}
			scopes := map[string]plog.ScopeLogs{} // the spans of several scopes stand in one
			for _, span := range ss.Spans().All() {
				name := ""
				if v, ok := span.Attributes().Get(genai.LogScopeName); ok {
					name = v.AsString()
				}
				sl, ok := scopes[name]
				if !ok {
					sl = rl.ScopeLogs().AppendEmpty()
					ss.Scope().CopyTo(sl.Scope())
					sl.Scope().SetName(name)
					scopes[name] = sl
				}
				logRecord(span, sl.LogRecords().AppendEmpty())
			}
			return true
		})
		return rs.ScopeSpans().Len() == 0
	})
	return td, ld
}

// logRecord is what logSpan and envelope made a span of.
func logRecord(span ptrace.Span, record plog.LogRecord) {
	record.SetTraceID(span.TraceID())
	record.SetSpanID(span.ParentSpanID())
	record.SetTimestamp(span.StartTimestamp())
	record.SetObservedTimestamp(span.StartTimestamp())
	a := record.Attributes()
	span.Attributes().CopyTo(a)
	number := func(key string) int64 {
		v, _ := span.Attributes().Get(key)
		return v.Int()
	}
	for key, v := range span.Attributes().All() {
		switch key {
		case genai.LogBody:
			v.CopyTo(record.Body())
		case genai.LogEventName:
			record.SetEventName(v.Str())
		case genai.LogScopeName:
		case genai.LogSeverityNumber:
			record.SetSeverityNumber(plog.SeverityNumber(number(key))) //nolint:gosec // as envelope wrote it
		case genai.LogSeverityText:
			record.SetSeverityText(v.Str())
		case genai.LogFlags:
			record.SetFlags(plog.LogRecordFlags(number(key))) //nolint:gosec // as envelope wrote it
		case genai.LogObservedTime:
			record.SetObservedTimestamp(pcommon.Timestamp(number(key))) //nolint:gosec // as envelope wrote it
		default:
			continue
		}
		a.Remove(key)
	}
}
