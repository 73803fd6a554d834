// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlpfile

import "strings"

// kind is the type of a field in OTLP.
type kind uint8

const (
	kindMessage kind = iota
	kindString
	kindBytes
	kindTraceID
	kindSpanID
	kindBool
	kindInt32
	kindUint32
	kindInt64
	kindEnum
	kindFixed32
	kindFixed64
	kindDouble
)

// wireType is the protobuf wire type of the kind.
func (k kind) wireType() int {
	switch k {
	case kindBool, kindInt32, kindUint32, kindInt64, kindEnum:
		return wireVarint
	case kindFixed64, kindDouble:
		return wireI64
	case kindFixed32:
		return wireI32
	default:
		return wireLen
	}
}

// field is one field of a message: its number, name in snake_case and type.
type field struct {
	number   int
	name     string
	kind     kind
	repeated bool
	message  string         // kindMessage: name of its type
	enum     map[string]int // kindEnum: the names that are accepted beside numbers

	camel string   // the name in lowerCamelCase
	child *message // kindMessage: its type
}

type message struct {
	name   string
	fields []field
	byName map[string]*field
	byNum  map[int]*field
}

func one(n int, name, typ string) field {
	return field{number: n, name: name, kind: kindMessage, message: typ}
}
func many(n int, name, typ string) field {
	return field{number: n, name: name, kind: kindMessage, message: typ, repeated: true}
}
func scalar(n int, name string, k kind) field { return field{number: n, name: name, kind: k} }
func texts(n int, name string) field {
	return field{number: n, name: name, kind: kindString, repeated: true}
}

var spanKinds = map[string]int{
	"SPAN_KIND_UNSPECIFIED": 0, "SPAN_KIND_INTERNAL": 1, "SPAN_KIND_SERVER": 2, "SPAN_KIND_CLIENT": 3, "SPAN_KIND_PRODUCER": 4,
	"SPAN_KIND_CONSUMER": 5,
}

var statusCodes = map[string]int{"STATUS_CODE_UNSET": 0, "STATUS_CODE_OK": 1, "STATUS_CODE_ERROR": 2}

// severities are SEVERITY_NUMBER_TRACE (1), SEVERITY_NUMBER_TRACE2 … SEVERITY_NUMBER_FATAL4 (24).
var severities = func() map[string]int {
	m := map[string]int{"SEVERITY_NUMBER_UNSPECIFIED": 0}
	for i, level := range []string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"} {
		for j, suffix := range []string{"", "2", "3", "4"} {
			m["SEVERITY_NUMBER_"+level+suffix] = 4*i + j + 1
		}
	}
	return m
}()

// schema is the part of the OTLP definition (opentelemetry-proto 1.9) that traces and logs use. The same table drives the check of JSON and
// of protobuf documents.
var schema = link([]message{
	{name: "TracesData", fields: []field{many(1, "resource_spans", "ResourceSpans")}},
	{name: "ResourceSpans", fields: []field{
		one(1, "resource", "Resource"), many(2, "scope_spans", "ScopeSpans"), scalar(3, "schema_url", kindString),
		many(1000, "deprecated_scope_spans", "ScopeSpans"),
	}},
	{name: "ScopeSpans", fields: []field{
		one(1, "scope", "Scope"), many(2, "spans", "Span"), scalar(3, "schema_url", kindString),
	}},
	{name: "Span", fields: []field{
		scalar(1, "trace_id", kindTraceID), scalar(2, "span_id", kindSpanID), scalar(3, "trace_state", kindString),
		scalar(4, "parent_span_id", kindSpanID), scalar(5, "name", kindString),
		{number: 6, name: "kind", kind: kindEnum, enum: spanKinds},
		scalar(7, "start_time_unix_nano", kindFixed64), scalar(8, "end_time_unix_nano", kindFixed64), many(9, "attributes", "KeyValue"),
		scalar(10, "dropped_attributes_count", kindUint32), many(11, "events", "Event"), scalar(12, "dropped_events_count", kindUint32),
		many(13, "links", "Link"), scalar(14, "dropped_links_count", kindUint32), one(15, "status", "Status"), scalar(16, "flags", kindFixed32),
	}},
	{name: "Event", fields: []field{
		scalar(1, "time_unix_nano", kindFixed64), scalar(2, "name", kindString), many(3, "attributes", "KeyValue"),
		scalar(4, "dropped_attributes_count", kindUint32),
	}},
	{name: "Link", fields: []field{
		scalar(1, "trace_id", kindTraceID), scalar(2, "span_id", kindSpanID), scalar(3, "trace_state", kindString),
		many(4, "attributes", "KeyValue"), scalar(5, "dropped_attributes_count", kindUint32), scalar(6, "flags", kindFixed32),
	}},
	{name: "Status", fields: []field{
		scalar(2, "message", kindString), {number: 3, name: "code", kind: kindEnum, enum: statusCodes},
	}},
	{name: "LogsData", fields: []field{many(1, "resource_logs", "ResourceLogs")}},
	{name: "ResourceLogs", fields: []field{
		one(1, "resource", "Resource"), many(2, "scope_logs", "ScopeLogs"), scalar(3, "schema_url", kindString),
		many(1000, "deprecated_scope_logs", "ScopeLogs"),
	}},
	{name: "ScopeLogs", fields: []field{
		one(1, "scope", "Scope"), many(2, "log_records", "LogRecord"), scalar(3, "schema_url", kindString),
	}},
	{name: "LogRecord", fields: []field{
		scalar(1, "time_unix_nano", kindFixed64), {number: 2, name: "severity_number", kind: kindEnum, enum: severities},
		scalar(3, "severity_text", kindString), one(5, "body", "AnyValue"), many(6, "attributes", "KeyValue"),
		scalar(7, "dropped_attributes_count", kindUint32), scalar(8, "flags", kindFixed32), scalar(9, "trace_id", kindTraceID),
		scalar(10, "span_id", kindSpanID), scalar(11, "observed_time_unix_nano", kindFixed64), scalar(12, "event_name", kindString),
	}},
	{name: "Resource", fields: []field{
		many(1, "attributes", "KeyValue"), scalar(2, "dropped_attributes_count", kindUint32), many(3, "entity_refs", "EntityRef"),
	}},
	{name: "Scope", fields: []field{
		scalar(1, "name", kindString), scalar(2, "version", kindString), many(3, "attributes", "KeyValue"),
		scalar(4, "dropped_attributes_count", kindUint32),
	}},
	{name: "EntityRef", fields: []field{
		scalar(1, "schema_url", kindString), scalar(2, "type", kindString), texts(3, "id_keys"), texts(4, "description_keys"),
	}},
	{name: "KeyValue", fields: []field{
		scalar(1, "key", kindString), one(2, "value", "AnyValue"), scalar(3, "key_strindex", kindInt32),
	}},
	{name: "AnyValue", fields: []field{
		scalar(1, "string_value", kindString), scalar(2, "bool_value", kindBool), scalar(3, "int_value", kindInt64),
		scalar(4, "double_value", kindDouble), one(5, "array_value", "ArrayValue"), one(6, "kvlist_value", "KeyValueList"),
		scalar(7, "bytes_value", kindBytes), scalar(8, "string_value_strindex", kindInt32),
	}},
	{name: "ArrayValue", fields: []field{many(1, "values", "AnyValue")}},
	{name: "KeyValueList", fields: []field{many(1, "values", "KeyValue")}},
})

// documents are the members of a JSON document and what they say about it.
var documents = map[string]struct {
	signal Signal
	field  *field
}{
	"resourceSpans":     {SignalTraces, &schema["TracesData"].fields[0]},
	"resource_spans":    {SignalTraces, &schema["TracesData"].fields[0]},
	"resourceLogs":      {SignalLogs, &schema["LogsData"].fields[0]},
	"resource_logs":     {SignalLogs, &schema["LogsData"].fields[0]},
	"resourceMetrics":   {SignalOther, nil},
	"resource_metrics":  {SignalOther, nil},
	"resourceProfiles":  {SignalOther, nil},
	"resource_profiles": {SignalOther, nil},
}

// link resolves the names of types and indexes the fields.
func link(messages []message) map[string]*message {
	byName := make(map[string]*message, len(messages))
	for i := range messages {
		byName[messages[i].name] = &messages[i]
	}
	for _, m := range byName {
		m.byName = make(map[string]*field, 2*len(m.fields))
		m.byNum = make(map[int]*field, len(m.fields))
		for i := range m.fields {
			f := &m.fields[i]
			f.camel = camel(f.name)
			f.child = byName[f.message]
			m.byName[f.name], m.byName[f.camel], m.byNum[f.number] = f, f, f
		}
	}
	return byName
}

// camel turns snake_case into lowerCamelCase.
func camel(snake string) string {
	words := strings.Split(snake, "_")
	for i := 1; i < len(words); i++ {
		words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
	}
	return strings.Join(words, "")
}
