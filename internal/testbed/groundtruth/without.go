// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package groundtruth

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

// Without is the run as it would be recorded if spans with these ids, in hexadecimal digits, were never
// exported: neither they nor the log records of them, nor the log records that became them. What lay below
// them names a parent that never comes; with rehung it names the parent of the span instead, as if the span
// had never been started.
func (r Run) Without(ids []string, rehung bool) (Run, error) {
	rec, err := r.read()
	if err != nil {
		return Run{}, err
	}
	rec.index()
	gone := map[string]bool{}
	for _, id := range ids {
		gone[id] = true
	}
	if rehung {
		for _, s := range rec.spans {
			for up := rec.byID[s.span.ParentSpanID()]; up != nil && up != s && gone[up.span.SpanID().String()]; up = rec.byID[s.span.ParentSpanID()] {
				s.span.SetParentSpanID(up.span.ParentSpanID())
			}
		}
	}
	rec.remove(func(s ptrace.Span) bool { return gone[s.SpanID().String()] })
	for _, rl := range rec.logs.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			sl.LogRecords().RemoveIf(func(l plog.LogRecord) bool {
				return gone[l.SpanID().String()] || gone[spanOf(rl, sl, l).String()]
			})
		}
	}
	r.recording = rec
	return r, nil
}

// spanOf is the id of the span that a log record becomes, empty when it becomes none.
func spanOf(rl plog.ResourceLogs, sl plog.ScopeLogs, l plog.LogRecord) pcommon.SpanID {
	one := plog.NewLogs()
	resource := one.ResourceLogs().AppendEmpty()
	rl.Resource().CopyTo(resource.Resource())
	resource.SetSchemaUrl(rl.SchemaUrl())
	scope := resource.ScopeLogs().AppendEmpty()
	sl.Scope().CopyTo(scope.Scope())
	scope.SetSchemaUrl(sl.SchemaUrl())
	l.CopyTo(scope.LogRecords().AppendEmpty())
	for _, rs := range evidence.LogsToTraces(one, segregation.Default).ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				return span.SpanID()
			}
		}
	}
	return pcommon.SpanID{}
}
