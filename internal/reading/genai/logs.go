// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/generic"
)

// eventNames are the functions of the dialects that name log events.
var eventNames []func(scope, recorded string) string

// logIndex answers which dialect a log event speaks for.
var logIndex = map[string]*dialect.Dialect{}

// EventName returns the name under which the dialects know a log event. Some producers write it without their
// prefix, some as an attribute, loggers of structured records as a field. Rust's tracing writes the source
// location instead.
func EventName(scope, recorded string, m pcommon.Map, body pcommon.Value) string {
	a := decode.Attributes(m)
	if strings.HasPrefix(recorded, "event ") {
		recorded = ""
	}
	decode.FillString(&recorded, a.Text("event.name", "event_name"))
	if recorded == "" {
		recorded = generic.EventOf(a, body)
	}
	for _, name := range eventNames {
		recorded = name(scope, recorded)
	}
	return recorded
}

// IsEvidenceLog reports whether a log record belongs to an agent run, by its event name (see EventName) and
// its attributes. A record that says neither is evidence if it names a span and its body is certainly a call
// of a model or a tool.
func IsEvidenceLog(eventName string, record plog.LogRecord) bool {
	m := record.Attributes()
	if d := logDialect(eventName, m); d != nil {
		return d.Log(eventName, decode.Attributes(m)).Class != dialect.Unclassified
	}
	if strings.HasPrefix(eventName, "gen_ai.") || attributeMarks(m) != 0 {
		return true
	}
	if record.SpanID().IsEmpty() || !dialect.MayHoldCall(record.Body()) {
		return false
	}
	alone := pcommon.NewMap()
	record.Body().CopyTo(alone.PutEmpty(LogBody))
	return logDialect(eventName, alone) != nil
}

// LogRunID returns the id of the run that a log record belongs to, or "" where the record holds none. The id
// separates runs without a trace id.
func LogRunID(eventName string, m pcommon.Map) string {
	a := decode.Attributes(m)
	role := dialect.LogRole{Conversation: a.Text(conversationKeys...)}
	if d := logDialect(eventName, m); d != nil {
		role = d.Log(eventName, a)
	}
	if role.Run != "" {
		return role.Run
	}
	return role.Conversation
}

// ownerOfEvent returns the dialect of an event, by the name of the event or by its first word.
func ownerOfEvent(eventName string) *dialect.Dialect {
	if d := logIndex[eventName]; d != nil {
		return d
	}
	if end := strings.IndexByte(eventName, '.'); end > 0 {
		return logIndex[eventName[:end+1]]
	}
	return nil
}

// logDialect returns the dialect of an event. An event of a producer that nobody knows is that of the dialect
// that goes by shape.
func logDialect(eventName string, m pcommon.Map) *dialect.Dialect {
	if d := ownerOfEvent(eventName); d != nil {
		return d
	}
	if strings.HasPrefix(eventName, "gen_ai.") || attributeMarks(m)&producer != 0 || generic.Unknown.Log(eventName, decode.Attributes(m)).Class == dialect.Unclassified {
		return nil
	}
	return generic.Unknown
}

// roleOfLog returns the role of a record that travels as a span. Events of a model call whose span never came
// have one as well.
func roleOfLog(record ptrace.Span) dialect.LogRole {
	a := decode.Attributes(record.Attributes())
	if d := logDialect(record.Name(), record.Attributes()); d != nil {
		return d.Log(record.Name(), a)
	}
	if strings.HasPrefix(record.Name(), "gen_ai.") && !record.ParentSpanID().IsEmpty() {
		return dialect.LogRole{
			Class: dialect.Model, Request: record.ParentSpanID().String(), Conversation: a.Text(conversationKeys...),
			Alone: record.Name() == "gen_ai.choice" || record.Name() == "gen_ai.client.inference.operation.details",
		}
	}
	return dialect.LogRole{}
}
