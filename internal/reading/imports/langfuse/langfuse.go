// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package langfuse reads observations as Langfuse returns and exports them: GET /api/public/traces/{id},
// pages of /api/public/observations and /api/public/v2/observations, the batch export of the page (JSON and
// JSONL), and the objects of the blob storage integration, whose names are those of the database. The members
// are those of fern/apis/server/definition/commons.yml and of packages/shared/src/server/repositories
// (github.com/langfuse/langfuse, August 2026). An observation becomes the span of which the server made it
// (OtelIngestionProcessor.ts). The server keeps milliseconds, of another instrumentation than its own only
// what went in and came out, and no events.
package langfuse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/imports"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
)

// Format is Langfuse's.
var Format = imports.Format{Name: "langfuse", Title: "Langfuse observations", Tells: tells, Read: read}

func tells(head []byte) bool {
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return !bytes.Contains(head, []byte(`"`+name+`"`)) })
	}
	return has("traceId", "parentObservationId") || has("trace_id", "parent_observation_id") ||
		has("observations", "timestamp", "input", "output") && (has("sessionId") || has("userId"))
}

func read(in imports.Input) iter.Seq2[otlpfile.Document, error] {
	return in.Rows([]string{"data"}, func(text []byte) (otlpfile.Document, error) {
		var r row
		if err := imports.Decode(text, &r); err != nil {
			return otlpfile.Document{}, err
		}
		if r.text("type") != "" {
			td, err := spans(nil, r)
			return imports.Traces(td), err
		}
		var observations []row
		if imports.Decode(r["observations"], &observations) != nil || len(observations) == 0 {
			return otlpfile.Document{}, nil // a row of a table of traces, which holds no call
		}
		td, err := spans(r, observations...)
		return imports.Traces(td), err
	})
}

// row is an object by the names of its members.
type row map[string]json.RawMessage

// get is the first of some members that is there. Each is also looked for as the database writes it.
func (r row) get(names ...string) json.RawMessage {
	for _, name := range names {
		for _, name := range []string{name, snake(name)} {
			if v, ok := r[name]; ok && string(v) != "null" {
				return v
			}
		}
	}
	return nil
}

func (r row) text(names ...string) string { return imports.Text(r.get(names...)) }

func snake(name string) string {
	var b strings.Builder
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// spans are the spans of observations. What the trace says of itself goes to its root: the one observation
// without a parent, else a span that stands for the trace, as SDKs before version 3 had it.
func spans(trace row, observations ...row) (ptrace.Traces, error) {
	td := ptrace.NewTraces()
	var roots []ptrace.Span
	for i, o := range observations {
		if o.text("traceId") == "" && trace != nil {
			o["traceId"] = trace["id"]
		}
		if o.text("traceId") == "" || o.text("id") == "" {
			return td, fmt.Errorf("%w: observation %d has no ids", otlpfile.ErrMalformed, i+1)
		}
		s := observation(o, td.ResourceSpans().AppendEmpty())
		if s.ParentSpanID().IsEmpty() {
			roots = append(roots, s)
		}
	}
	if trace == nil {
		return td, nil
	}
	if len(roots) != 1 {
		id := trace.text("id")
		s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		s.SetTraceID(imports.HexTraceID(id, "langfuse"))
		s.SetSpanID(imports.SpanID("langfuse", "trace", id))
		s.SetName(trace.text("name"))
		s.Attributes().PutStr("langfuse.observation.type", "span")
		s.SetStartTimestamp(imports.Time(trace.text("timestamp")))
		s.SetEndTimestamp(s.StartTimestamp())
		for _, r := range roots {
			r.SetParentSpanID(s.SpanID())
			s.SetStartTimestamp(min(s.StartTimestamp(), r.StartTimestamp()))
			s.SetEndTimestamp(max(s.EndTimestamp(), r.EndTimestamp()))
		}
		put(trace, s.Attributes(), map[string]string{"langfuse.observation.input": "input", "langfuse.observation.output": "output"})
		roots = []ptrace.Span{s}
	}
	put(trace, roots[0].Attributes(), traceMembers)
	return td, nil
}

// traceMembers are what the root says of the trace.
var traceMembers = map[string]string{
	"session.id": "sessionId", "user.id": "userId", "langfuse.trace.name": "name", "langfuse.trace.tags": "tags",
	"langfuse.trace.input": "input", "langfuse.trace.output": "output", "langfuse.environment": "environment",
}

// members are the attributes of an observation, by the members of its row.
var members = map[string]string{
	"langfuse.observation.input": "input", "langfuse.observation.output": "output", "langfuse.observation.level": "level",
	"langfuse.observation.status_message": "statusMessage", "langfuse.observation.model.parameters": "modelParameters",
	"langfuse.observation.usage_details": "usageDetails", "langfuse.observation.cost_details": "costDetails",
	"langfuse.observation.completion_start_time": "completionStartTime", "langfuse.observation.prompt.name": "promptName",
	"session.id": "sessionId", "user.id": "userId", "langfuse.environment": "environment",
}

func put(r row, m pcommon.Map, members map[string]string) {
	for _, attribute := range slices.Sorted(maps.Keys(members)) {
		if v := r.get(members[attribute]); v != nil && !empty(v) {
			m.PutStr(attribute, imports.Text(v))
		}
	}
}

// empty reports what the server writes for nothing.
func empty(v json.RawMessage) bool {
	switch string(bytes.Join(bytes.Fields(v), nil)) {
	case `""`, `{}`, `[]`:
		return true
	}
	return false
}

func observation(o row, rs ptrace.ResourceSpans) ptrace.Span {
	ss := rs.ScopeSpans().AppendEmpty()
	s := ss.Spans().AppendEmpty()
	trace := o.text("traceId")
	s.SetTraceID(imports.HexTraceID(trace, "langfuse"))
	s.SetSpanID(imports.HexSpanID(o.text("id"), "langfuse", trace))
	if parent := o.text("parentObservationId"); parent != "" {
		s.SetParentSpanID(imports.HexSpanID(parent, "langfuse", trace))
	}
	s.SetName(o.text("name"))
	s.SetStartTimestamp(imports.Time(o.text("startTime")))
	s.SetEndTimestamp(imports.Time(o.text("endTime")))
	a := s.Attributes()
	a.PutStr("langfuse.observation.type", strings.ToLower(o.text("type")))
	if model := o.text("model", "providedModelName"); model != "" {
		a.PutStr("langfuse.observation.model.name", model)
	}
	put(o, a, members)
	if o.text("level") == "ERROR" {
		s.Status().SetCode(ptrace.StatusCodeError)
		s.Status().SetMessage(o.text("statusMessage"))
	}
	metadata(o.get("metadata"), rs.Resource(), ss.Scope(), a)
	return s
}

// metadata spreads what the server keeps beside the observation: resource and scope, and what the program
// said. The attributes of another instrumentation lack their content there, so they are left where they are.
func metadata(raw json.RawMessage, resource pcommon.Resource, scope pcommon.InstrumentationScope, a pcommon.Map) {
	var fields row
	if imports.Decode(raw, &fields) != nil {
		if len(raw) > 0 {
			a.PutStr("langfuse.observation.metadata", imports.Text(raw))
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var inner row // the database keeps objects as their JSON text
		isObject := json.Unmarshal([]byte(imports.Text(fields[name])), &inner) == nil && inner != nil
		switch {
		case name == "attributes" && isObject:
		case name == "resourceAttributes" && isObject:
			for _, key := range slices.Sorted(maps.Keys(inner)) {
				imports.Put(resource.Attributes(), key, inner[key])
			}
		case name == "scope" && isObject:
			if text := inner.text("name"); strings.HasPrefix(text, "langfuse") {
				scope.SetName(text)
				scope.SetVersion(inner.text("version"))
			}
		default:
			imports.Put(a, "langfuse.observation.metadata."+name, fields[name])
		}
	}
}
