// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
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

// forward makes records of what the attributes of a span judge, and of each of its events that does. A record
// in another trace does not say the conversation of the judge.
func forward(scope string, span ptrace.Span, to ptrace.SpanSlice, trace pcommon.TraceID, judged pcommon.SpanID) {
	away := trace != span.TraceID()
	record := func(at pcommon.Timestamp, attributes pcommon.Map, wanted func(key string) bool) {
		r := to.AppendEmpty()
		r.SetName(genai.VerdictEvent)
		r.SetTraceID(trace)
		r.SetParentSpanID(judged)
		r.SetStartTimestamp(at)
		r.SetEndTimestamp(at)
		for key, v := range attributes.All() {
			if wanted(key) && !(away && genai.IsConversationKey(key)) {
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

// NamingVerdicts are the verdicts of the set that name an answer or a conversation: where its trace has no
// run, they may judge one of another trace.
func (s *Set) NamingVerdicts() (list []genai.Verdict) {
	for _, item := range s.View() {
		for _, v := range genai.Verdicts(item.Scope.Scope().Name(), item.Span) {
			if v.Response != "" || v.Conversation != "" {
				list = append(list, v)
			}
		}
	}
	return list
}

// VerdictsFor makes log records of another trace, in the form of LogsToTraces, of the verdicts that judge
// what a run of that trace has. A verdict on a conversation judges the session of the run.
func (s *Set) VerdictsFor(trace pcommon.TraceID, has func(genai.Verdict) bool) ptrace.Traces {
	td := ptrace.NewTraces()
	for _, item := range s.View() {
		scope := item.Scope.Scope().Name()
		rs := ptrace.NewResourceSpans()
		item.Resource.Resource().CopyTo(rs.Resource())
		rs.SetSchemaUrl(item.Resource.SchemaUrl())
		ss := rs.ScopeSpans().AppendEmpty()
		ss.Scope().SetName(genai.LogScope)
		told := ptrace.NewSpanSlice()
		if genai.IsVerdict(scope, item.Span) {
			item.Span.CopyTo(told.AppendEmpty())
		} else if genai.TellsVerdicts(item.Span) {
			forward(scope, item.Span, told, item.Span.TraceID(), pcommon.SpanID{})
		}
		for _, record := range told.All() {
			for _, v := range genai.Verdicts(genai.LogScope, record) {
				if !has(v) {
					continue
				}
				to := ss.Spans().AppendEmpty()
				record.CopyTo(to)
				to.SetTraceID(trace)
				to.SetParentSpanID(pcommon.SpanID{})
				if v.Response == "" {
					to.Attributes().RemoveIf(func(key string, _ pcommon.Value) bool { return genai.IsVerdictAttribute(key) })
					v.Of = tape.OfSession
					genai.PutVerdict(v.Verdict, to.Attributes())
				}
			}
		}
		if ss.Spans().Len() > 0 {
			rs.MoveTo(td.ResourceSpans().AppendEmpty())
		}
	}
	identify(td)
	return td
}
