// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentprofile

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

const (
	claudeLogs    = "com.anthropic.claude_code.events"
	claudeRequest = "claude_code.llm_request"
	// querySource says what a request of Claude Code is for. A record of one that is no part of a
	// conversation is left out by it. Placed records have it under another name.
	querySource, placedSource = "query_source", "placed.query_source"
)

// Asides gives records of Claude Code that name no trace the span of their request: those of requests beside
// the conversation, such as the one for a title, come without, while their span is in the trace of the run. A
// span is that of a record if session and model are the same and the time of the record lies within it. It
// looks at no more than maxAsides spans.
type Asides struct{ spans []asideSpan }

type asideSpan struct {
	trace          pcommon.TraceID
	span           pcommon.SpanID
	session, model string
	from, to       time.Time
}

const (
	maxAsides = 10_000
	slack     = 100 * time.Millisecond // records and spans are timed by different clocks
)

// Add takes in spans.
func (a *Asides) Add(td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				if s.Name() == claudeRequest && len(a.spans) < maxAsides {
					a.spans = append(a.spans, asideSpan{s.TraceID(), s.SpanID(), text(s.Attributes(), "session.id"), text(s.Attributes(), "model"), s.StartTimestamp().AsTime(), s.EndTimestamp().AsTime()})
				}
			}
		}
	}
}

// Place gives records their spans.
func (a *Asides) Place(ld plog.Logs) {
	for _, rl := range ld.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			if sl.Scope().Name() != claudeLogs {
				continue
			}
			for _, record := range sl.LogRecords().All() {
				if _, aside := record.Attributes().Get(querySource); aside && record.TraceID().IsEmpty() {
					a.place(record)
				}
			}
		}
	}
}

func (a *Asides) place(record plog.LogRecord) {
	session, model, at := text(record.Attributes(), "session.id"), text(record.Attributes(), "model"), record.Timestamp().AsTime()
	var found *asideSpan
	for i := range a.spans {
		s := &a.spans[i]
		if s.session == session && s.model == model && session != "" && !at.Before(s.from.Add(-slack)) && !at.After(s.to.Add(slack)) {
			if found != nil {
				return // which of them is not known
			}
			found = s
		}
	}
	if found == nil {
		return
	}
	record.SetTraceID(found.trace)
	record.SetSpanID(found.span)
	source := text(record.Attributes(), querySource)
	record.Attributes().Remove(querySource)
	record.Attributes().PutStr(placedSource, source)
}

func text(m pcommon.Map, name string) string {
	if v, ok := m.Get(name); ok {
		return v.AsString()
	}
	return ""
}
