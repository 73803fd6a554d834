// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package phoenix reads spans as Arize Phoenix returns them: pages of GET /v1/projects/{project}/spans and
// …/spans/otlpv1, lists that its client returns (get_spans), and rows of get_spans_dataframe as JSON lines.
// The members are those of the OpenAPI document of Phoenix 20.26.1. Phoenix keeps neither resource nor scope
// of a span, nor its kind, and times in microseconds. What it decoded on the way in (JSON_STRING_ATTRIBUTES
// of phoenix/trace/attributes.py) becomes JSON text again.
package phoenix

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/imports"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
)

// Format is Phoenix's.
var Format = imports.Format{Name: "phoenix", Title: "Phoenix spans", Tells: tells, Read: read}

func tells(head []byte) bool {
	has := func(name string) bool { return bytes.Contains(head, []byte(`"`+name+`"`)) }
	return has("context.span_id") && has("span_kind") || has("context") && has("span_kind") && has("span_id") ||
		has("start_time_unix_nano") && has("span_id") && has("trace_id") && !has("resource_spans") && !has("resourceSpans")
}

func read(in imports.Input) iter.Seq2[otlpfile.Document, error] {
	return in.Rows([]string{"data"}, func(text []byte) (otlpfile.Document, error) {
		var r row
		var otlp struct {
			Start json.RawMessage `json:"start_time_unix_nano"`
		}
		if err := imports.Decode(text, &otlp); err != nil {
			return otlpfile.Document{}, err
		}
		if otlp.Start != nil {
			return bare(text)
		}
		if err := imports.Decode(text, &r); err != nil {
			return otlpfile.Document{}, err
		}
		members := map[string]json.RawMessage{} // of a row of a data frame: attributes.NAME
		if r.Attributes == nil {
			if err := imports.Decode(text, &members); err != nil {
				return otlpfile.Document{}, err
			}
		}
		td, err := r.span(members)
		return imports.Traces(td), err
	})
}

// bare reads a span of OTLP without resource and scope.
func bare(text []byte) (otlpfile.Document, error) {
	return imports.OTLP(slices.Concat([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[`), text, []byte(`]}]}]}`)))
}

type row struct {
	Name    string `json:"name"`
	Context struct {
		TraceID string `json:"trace_id"`
		SpanID  string `json:"span_id"`
	} `json:"context"`
	TraceID    string                     `json:"context.trace_id"`
	SpanID     string                     `json:"context.span_id"`
	Kind       string                     `json:"span_kind"`
	ParentID   string                     `json:"parent_id"`
	Start      json.RawMessage            `json:"start_time"`
	End        json.RawMessage            `json:"end_time"`
	Status     string                     `json:"status_code"`
	Message    string                     `json:"status_message"`
	Attributes map[string]json.RawMessage `json:"attributes"`
	Events     []struct {
		Name       string                     `json:"name"`
		Timestamp  json.RawMessage            `json:"timestamp"`
		Attributes map[string]json.RawMessage `json:"attributes"`
	} `json:"events"`
}

func (r *row) span(members map[string]json.RawMessage) (ptrace.Traces, error) {
	td := ptrace.NewTraces()
	s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	if r.TraceID == "" {
		r.TraceID, r.SpanID = r.Context.TraceID, r.Context.SpanID
	}
	if r.TraceID == "" || r.SpanID == "" {
		return td, fmt.Errorf("%w: a span without ids", otlpfile.ErrMalformed)
	}
	s.SetTraceID(imports.HexTraceID(r.TraceID, "phoenix"))
	s.SetSpanID(imports.HexSpanID(r.SpanID, "phoenix", r.TraceID))
	if r.ParentID != "" {
		s.SetParentSpanID(imports.HexSpanID(r.ParentID, "phoenix", r.TraceID))
	}
	s.SetName(r.Name)
	s.SetStartTimestamp(at(r.Start))
	s.SetEndTimestamp(at(r.End))
	switch r.Status {
	case "OK":
		s.Status().SetCode(ptrace.StatusCodeOk)
	case "ERROR":
		s.Status().SetCode(ptrace.StatusCodeError)
	}
	s.Status().SetMessage(r.Message)
	if r.Attributes == nil {
		r.Attributes = map[string]json.RawMessage{}
		for name, value := range members {
			if name, ok := strings.CutPrefix(name, "attributes."); ok {
				r.Attributes[name] = value
			}
		}
	}
	attributes(r.Attributes, s.Attributes())
	if _, known := s.Attributes().Get("openinference.span.kind"); !known && r.Kind != "" && r.Kind != "UNKNOWN" {
		s.Attributes().PutStr("openinference.span.kind", r.Kind)
	}
	for _, e := range r.Events {
		out := s.Events().AppendEmpty()
		out.SetName(e.Name)
		out.SetTimestamp(at(e.Timestamp))
		attributes(e.Attributes, out.Attributes())
	}
	return td, nil
}

// at reads a time as RFC 3339 writes it, or as data frames do: milliseconds, or microseconds or nanoseconds
// where the caller asked for them.
func at(raw json.RawMessage) pcommon.Timestamp {
	if text := imports.Text(raw); len(raw) > 0 && raw[0] == '"' {
		return imports.Time(text)
	}
	var number float64
	if json.Unmarshal(raw, &number) != nil || number <= 0 {
		return 0
	}
	for _, unit := range []float64{1e6, 1e3, 1} {
		if number*unit < math.MaxInt64 {
			return pcommon.Timestamp(number * unit)
		}
	}
	return 0
}

// jsonAttributes are those whose values are JSON texts in OTLP.
var jsonAttributes = []string{"metadata", "tool.parameters", "llm.prompt_template.variables"}

// attributes writes attributes as OTLP has them: names of levels and indexes are joined by dots.
func attributes(values map[string]json.RawMessage, to pcommon.Map) {
	parts := map[string]map[string]any{} // of JSON attributes whose members stand alone
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if base, rest, ok := jsonAttribute(name); ok && rest != "" {
			if parts[base] == nil {
				parts[base] = map[string]any{}
			}
			nest(parts[base], strings.Split(rest, "."), values[name])
			continue
		}
		put(to, name, values[name], 0)
	}
	for _, base := range slices.Sorted(maps.Keys(parts)) {
		if text, err := json.Marshal(parts[base]); err == nil {
			to.PutStr(base, string(text))
		}
	}
}

// jsonAttribute splits a name at a JSON attribute that it is, or begins with.
func jsonAttribute(name string) (base, rest string, ok bool) {
	for _, a := range jsonAttributes {
		if rest, ok := strings.CutPrefix(name, a); ok && (rest == "" || rest[0] == '.') {
			return a, strings.TrimPrefix(rest, "."), true
		}
	}
	return "", "", false
}

// nest sets a value below a path, where nothing else stands in the way; else beside it, below the path as one
// name.
func nest(in map[string]any, path []string, value json.RawMessage) {
	if len(path) > 1 && len(path) < 32 {
		next, ok := in[path[0]].(map[string]any)
		if _, taken := in[path[0]]; !taken {
			next, ok = map[string]any{}, true
			in[path[0]] = next
		}
		if ok {
			nest(next, path[1:], value)
			return
		}
	}
	in[strings.Join(path, ".")] = value
}

// deepest is how many levels of names are joined; below it a value is its JSON text.
const deepest = 32

func put(to pcommon.Map, name string, raw json.RawMessage, depth int) {
	raw = bytes.TrimSpace(raw)
	if _, _, isJSON := jsonAttribute(name); isJSON || depth == deepest || len(raw) == 0 || raw[0] == 'n' {
		imports.Put(to, name, raw)
		return
	}
	switch raw[0] {
	case '{':
		var members map[string]json.RawMessage
		_ = json.Unmarshal(raw, &members) // it is valid: it was decoded once
		for _, member := range slices.Sorted(maps.Keys(members)) {
			put(to, name+"."+member, members[member], depth+1)
		}
	case '[':
		var elements []json.RawMessage
		_ = json.Unmarshal(raw, &elements)
		if !slices.ContainsFunc(elements, func(e json.RawMessage) bool { return e[0] == '{' || e[0] == '[' }) {
			putList(to.PutEmptySlice(name), elements)
			return
		}
		for i, e := range elements {
			put(to, name+"."+strconv.Itoa(i), e, depth+1)
		}
	default:
		var number float64 // data frames write counts with a fraction
		if json.Unmarshal(raw, &number) == nil && raw[0] != '"' && strings.Contains(name, "token_count") && number == math.Trunc(number) {
			to.PutInt(name, int64(number))
			return
		}
		imports.Put(to, name, raw)
	}
}

func putList(to pcommon.Slice, elements []json.RawMessage) {
	for _, e := range elements {
		m := pcommon.NewMap()
		imports.Put(m, "", e)
		if v, ok := m.Get(""); ok {
			v.CopyTo(to.AppendEmpty())
		} else {
			to.AppendEmpty()
		}
	}
}
