// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package langsmith reads runs as LangSmith returns and exports them: pages of POST /runs/query and
// /api/v2/runs/query, GET /runs/{id}, runs that list_runs of the client returned, with their child runs or
// without, and rows of the bulk export, whose objects are JSON texts. The members are those of
// langsmith/schemas.py and langsmith/types/run.py (langsmith 0.15.1). A run becomes the span that the
// OpenTelemetry export of the same package makes of it (langsmith/_internal/otel/_otel_exporter.py). Only its
// id is another: the export takes 8 bytes of the run's id, and two runs of one millisecond may share them.
package langsmith

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

// Format is LangSmith's.
var Format = imports.Format{Name: "langsmith", Title: "LangSmith runs", Tells: tells, Read: read}

func tells(head []byte) bool {
	has := func(name string) bool { return bytes.Contains(head, []byte(`"`+name+`"`)) }
	return has("run_type") && (has("trace_id") || has("dotted_order") || has("parent_run_id"))
}

func read(in imports.Input) iter.Seq2[otlpfile.Document, error] {
	return in.Rows([]string{"runs", "items"}, func(text []byte) (otlpfile.Document, error) {
		var r run
		if err := imports.Decode(text, &r); err != nil {
			return otlpfile.Document{}, err
		}
		td := ptrace.NewTraces()
		ss := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
		ss.Scope().SetName("langsmith")
		err := r.spans(ss, "", "", 0)
		return imports.Traces(td), err
	})
}

type run struct {
	ID          string          `json:"id"`
	TraceID     string          `json:"trace_id"`
	ParentID    string          `json:"parent_run_id"`
	Name        string          `json:"name"`
	Type        string          `json:"run_type"`
	Start       string          `json:"start_time"`
	End         string          `json:"end_time"`
	Error       json.RawMessage `json:"error"`
	Inputs      json.RawMessage `json:"inputs"`
	Outputs     json.RawMessage `json:"outputs"`
	Extra       json.RawMessage `json:"extra"`
	Tags        json.RawMessage `json:"tags"`
	Order       string          `json:"dotted_order"`
	Ancestors   json.RawMessage `json:"parent_run_ids"`
	Metadata    json.RawMessage `json:"metadata"` // of API v2
	ThreadID    string          `json:"thread_id"`
	SessionID   string          `json:"session_id"`
	SessionName string          `json:"session_name"`
	Children    []run           `json:"child_runs"`
	counts
}

// counts are the tokens of a run and of those below it.
type counts struct {
	Prompt     json.RawMessage `json:"prompt_tokens"`
	Completion json.RawMessage `json:"completion_tokens"`
	Total      json.RawMessage `json:"total_tokens"`
}

// deepest is how many levels of child runs are read.
const deepest = 64

func (r *run) spans(to ptrace.ScopeSpans, trace, parent string, depth int) error {
	for _, id := range []string{r.TraceID, trace, r.ID} {
		if trace = id; id != "" {
			break
		}
	}
	switch {
	case r.ID == "":
		return fmt.Errorf("%w: a run has no id", otlpfile.ErrMalformed)
	case depth > deepest:
		return fmt.Errorf("%w: child runs of more than %d levels", otlpfile.ErrTooLarge, deepest)
	}
	if id := r.parent(); id != "" {
		parent = id
	}
	s := to.Spans().AppendEmpty()
	s.SetTraceID(imports.HexTraceID(trace, "langsmith"))
	s.SetSpanID(imports.SpanID("langsmith", r.ID))
	if parent != "" {
		s.SetParentSpanID(imports.SpanID("langsmith", parent))
	}
	s.SetName(r.Name)
	s.SetStartTimestamp(imports.Time(r.Start))
	s.SetEndTimestamp(imports.Time(r.End))
	r.attributes(s.Attributes())
	if text := imports.Text(r.Error); text != "" {
		s.Status().SetCode(ptrace.StatusCodeError)
		s.Status().SetMessage(text)
		e := s.Events().AppendEmpty()
		e.SetName("exception")
		e.SetTimestamp(s.EndTimestamp())
		e.Attributes().PutStr("exception.message", text)
	}
	for i := range r.Children {
		if err := r.Children[i].spans(to, trace, r.ID, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// parent is the id of the run that called this one. API v2 and the bulk export name it in the dotted order,
// behind the time of each run.
func (r *run) parent() string {
	const uuid = 36
	if r.ParentID != "" {
		return r.ParentID
	}
	if order := strings.Split(r.Order, "."); len(order) > 1 && len(order[len(order)-2]) > uuid {
		above := order[len(order)-2]
		return above[len(above)-uuid:]
	}
	var ids []string
	if json.Unmarshal([]byte(imports.Text(r.Ancestors)), &ids) == nil && len(ids) > 0 {
		return ids[len(ids)-1]
	}
	return ""
}

type members map[string]json.RawMessage

// object reads an object, which the bulk export writes as its text. It is nil for anything else.
func object(raw json.RawMessage) (m members) {
	_ = json.Unmarshal([]byte(imports.Text(raw)), &m)
	return m
}

func (r *run) attributes(a pcommon.Map) {
	kind := strings.ToLower(r.Type)
	a.PutStr("langsmith.span.kind", kind)
	texts := func(name, text string) {
		if text != "" {
			a.PutStr(name, text)
		}
	}
	texts("langsmith.trace.name", r.Name)
	texts("langsmith.trace.session_id", r.SessionID)
	texts("langsmith.trace.session_name", r.SessionName)
	extra := object(r.Extra)
	metadata := object(extra["metadata"])
	if metadata == nil {
		metadata = object(r.Metadata)
	}
	texts("langsmith.metadata.thread_id", r.ThreadID)
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		imports.Put(a, "langsmith.metadata."+key, metadata[key])
	}
	var tags []string
	if json.Unmarshal([]byte(imports.Text(r.Tags)), &tags) == nil {
		texts("langsmith.span.tags", strings.Join(tags, ", "))
	}
	if kind == "tool" {
		texts("gen_ai.tool.name", r.Name)
		for _, id := range []json.RawMessage{metadata["tool_call_id"], extra["tool_call_id"]} {
			texts("gen_ai.tool.call.id", imports.Text(id))
		}
	}
	texts("gen_ai.prompt", imports.Text(r.Inputs))
	texts("gen_ai.completion", imports.Text(r.Outputs))
	inputs, outputs := object(r.Inputs), object(r.Outputs)
	params := object(metadata["invocation_params"])
	for _, model := range []json.RawMessage{params["model_name"], params["model"], metadata["ls_model_name"], inputs["model"]} {
		texts("gen_ai.request.model", imports.Text(model))
	}
	texts("gen_ai.tool.definitions", imports.Text(object(extra["invocation_params"])["tools"]))
	imports.Put(a, "langsmith.request.streaming", inputs["stream"])
	imports.Put(a, "gen_ai.response.model", outputs["model"])
	imports.Put(a, "gen_ai.response.id", outputs["id"])
	tokens := func(name string, count json.RawMessage) {
		if string(count) != "0" { // which every run has that is no call of a model
			imports.Put(a, "gen_ai.usage."+name+"_tokens", count)
		}
	}
	tokens("input", r.Prompt)
	tokens("output", r.Completion)
	tokens("total", r.Total)
}
