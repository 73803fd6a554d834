// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package jaeger reads traces as Jaeger exports them: the JSON that its page downloads and GET
// /api/traces/{id} returns, {"data":[…]}, and that of its API v3, OTLP in {"result":…}. The members are those
// of internal/uimodel/model.go (github.com/jaegertracing/jaeger v1.76.0). What Jaeger makes of a span of OTLP
// is in jaegertranslator of opentelemetry-collector-contrib: kind, status, scope and trace state become tags,
// the resource the process, and times microseconds.
package jaeger

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/imports"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
)

// Format is Jaeger's.
var Format = imports.Format{Name: "jaeger", Title: "Jaeger JSON", Tells: tells, Read: read}

func tells(head []byte) bool {
	return bytes.Contains(head, []byte(`"traceID"`)) && bytes.Contains(head, []byte(`"spans"`)) ||
		bytes.Contains(head, []byte(`"operationName"`)) && bytes.Contains(head, []byte(`"spanID"`))
}

func read(in imports.Input) iter.Seq2[otlpfile.Document, error] {
	return in.Rows([]string{"data"}, func(text []byte) (otlpfile.Document, error) {
		var t trace
		if err := imports.Decode(text, &t); err != nil {
			return otlpfile.Document{}, err
		}
		td, err := t.spans()
		return imports.Traces(td), err
	})
}

type trace struct {
	Spans     []span             `json:"spans"`
	Processes map[string]process `json:"processes"`
}

type span struct {
	TraceID       string      `json:"traceID"`
	SpanID        string      `json:"spanID"`
	ParentSpanID  string      `json:"parentSpanID"` // of older versions, in place of a reference
	Flags         uint32      `json:"flags"`
	OperationName string      `json:"operationName"`
	References    []reference `json:"references"`
	StartTime     uint64      `json:"startTime"` // microseconds
	Duration      uint64      `json:"duration"`
	Tags          []tag       `json:"tags"`
	Logs          []struct {
		Timestamp uint64 `json:"timestamp"`
		Fields    []tag  `json:"fields"`
	} `json:"logs"`
	ProcessID string   `json:"processID"`
	Process   *process `json:"process"`
}

type reference struct {
	RefType string `json:"refType"`
	TraceID string `json:"traceID"`
	SpanID  string `json:"spanID"`
}

type tag struct {
	Key   string          `json:"key"`
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

type process struct {
	ServiceName string `json:"serviceName"`
	Tags        []tag  `json:"tags"`
}

// spans are the spans of a trace, those of one process together.
func (t *trace) spans() (ptrace.Traces, error) {
	td := ptrace.NewTraces()
	resources := map[string]ptrace.ResourceSpans{}
	for i := range t.Spans {
		s := &t.Spans[i]
		p, known := t.Processes[s.ProcessID]
		if s.Process != nil {
			p, known = *s.Process, false
		}
		rs, seen := resources[s.ProcessID]
		if !seen || !known {
			rs = td.ResourceSpans().AppendEmpty()
			p.resource(rs.Resource().Attributes())
			resources[s.ProcessID] = rs
		}
		if err := s.into(rs); err != nil {
			return td, fmt.Errorf("span %d: %w", i+1, err)
		}
	}
	return td, nil
}

func (p *process) resource(m pcommon.Map) {
	for _, t := range p.Tags {
		t.put(m)
	}
	if p.ServiceName != "" && p.ServiceName != "OTLPResourceNoServiceName" {
		m.PutStr("service.name", p.ServiceName)
	}
}

func (s *span) into(rs ptrace.ResourceSpans) error {
	traceID, err := id(s.TraceID, 16)
	if err != nil {
		return err
	}
	spanID, err := id(s.SpanID, 8)
	if err != nil {
		return err
	}
	attributes := pcommon.NewMap()
	for _, t := range s.Tags {
		t.put(attributes)
	}
	scope := scopeOf(rs, taken(attributes, "otel.scope.name", "otel.library.name"), taken(attributes, "otel.scope.version", "otel.library.version"))
	out := scope.Spans().AppendEmpty()
	out.SetTraceID(pcommon.TraceID(traceID))
	out.SetSpanID(pcommon.SpanID(spanID))
	out.SetName(s.OperationName)
	out.SetStartTimestamp(micro(s.StartTime))
	out.SetEndTimestamp(micro(s.StartTime + s.Duration))
	if err := s.refer(out); err != nil {
		return err
	}
	for _, l := range s.Logs {
		e := out.Events().AppendEmpty()
		e.SetTimestamp(micro(l.Timestamp))
		for _, f := range l.Fields {
			f.put(e.Attributes())
		}
		e.SetName(taken(e.Attributes(), "event", "message"))
	}
	status(attributes, out)
	out.TraceState().FromRaw(taken(attributes, "w3c.tracestate"))
	attributes.RemoveIf(func(name string, _ pcommon.Value) bool { return name == "internal.span.format" })
	attributes.MoveTo(out.Attributes())
	return nil
}

// refer sets the parent, which is the first reference to a parent of the same trace, and the links.
func (s *span) refer(out ptrace.Span) error {
	refs := s.References
	if s.ParentSpanID != "" {
		refs = append([]reference{{"CHILD_OF", s.TraceID, s.ParentSpanID}}, refs...)
	}
	parent := slices.IndexFunc(refs, func(r reference) bool { return r.RefType == "CHILD_OF" && r.TraceID == s.TraceID })
	for i, r := range refs {
		spanID, err := id(r.SpanID, 8)
		if err != nil {
			return err
		}
		if i == parent {
			out.SetParentSpanID(pcommon.SpanID(spanID))
			continue
		}
		traceID, err := id(r.TraceID, 16)
		if err != nil {
			return err
		}
		l := out.Links().AppendEmpty()
		l.SetTraceID(pcommon.TraceID(traceID))
		l.SetSpanID(pcommon.SpanID(spanID))
	}
	return nil
}

func scopeOf(rs ptrace.ResourceSpans, name, version string) ptrace.ScopeSpans {
	for _, ss := range rs.ScopeSpans().All() {
		if ss.Scope().Name() == name && ss.Scope().Version() == version {
			return ss
		}
	}
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName(name)
	ss.Scope().SetVersion(version)
	return ss
}

// taken takes the first of some attributes out that is a text.
func taken(m pcommon.Map, names ...string) string {
	for _, name := range names {
		if v, ok := m.Get(name); ok && v.Type() == pcommon.ValueTypeStr {
			text := v.Str()
			m.Remove(name)
			return text
		}
	}
	return ""
}

var kinds = map[string]ptrace.SpanKind{
	"client": ptrace.SpanKindClient, "server": ptrace.SpanKindServer, "producer": ptrace.SpanKindProducer,
	"consumer": ptrace.SpanKindConsumer, "internal": ptrace.SpanKindInternal,
}

// status takes kind and status out of the tags. The tag error stands beside otel.status_code, and alone where
// a client of Jaeger set it.
func status(m pcommon.Map, out ptrace.Span) {
	if v, ok := m.Get("span.kind"); ok && kinds[v.AsString()] != 0 {
		out.SetKind(kinds[v.AsString()])
		m.Remove("span.kind")
	}
	failed := false
	if v, ok := m.Get("error"); ok && (v.Type() == pcommon.ValueTypeBool || v.AsString() == "true" || v.AsString() == "false") {
		failed = v.AsString() == "true"
		m.Remove("error")
	}
	switch code := strings.ToUpper(taken(m, "otel.status_code")); {
	case code == "ERROR" || code == "" && failed:
		out.Status().SetCode(ptrace.StatusCodeError)
	case code == "OK":
		out.Status().SetCode(ptrace.StatusCodeOk)
	}
	out.Status().SetMessage(taken(m, "otel.status_description"))
}

// put sets an attribute. A list is the JSON text of its values in Jaeger, and stays one.
func (t *tag) put(m pcommon.Map) {
	switch text := imports.Text(t.Value); t.Type {
	case "string":
		m.PutStr(t.Key, text)
	case "binary":
		if data, err := base64.StdEncoding.DecodeString(text); err == nil {
			m.PutEmptyBytes(t.Key).FromRaw(data)
			return
		}
		m.PutStr(t.Key, text)
	case "float64":
		var f float64
		if json.Unmarshal([]byte(text), &f) == nil {
			m.PutDouble(t.Key, f)
			return
		}
		imports.Put(m, t.Key, t.Value)
	default:
		imports.Put(m, t.Key, t.Value)
	}
}

// id reads an id of hexadecimal digits; leading zeros may be missing.
func id(text string, size int) ([]byte, error) {
	if len(text) > 2*size {
		return nil, fmt.Errorf("%w: an id of more than %d digits", otlpfile.ErrMalformed, 2*size)
	}
	data, err := hex.DecodeString(strings.Repeat("0", 2*size-len(text)) + text)
	if err != nil {
		return nil, fmt.Errorf("%w: an id that is not hexadecimal", otlpfile.ErrMalformed)
	}
	return data, nil
}

func micro(us uint64) pcommon.Timestamp {
	if us > math.MaxInt64/1000 {
		return 0
	}
	return pcommon.Timestamp(us * 1000)
}
