// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// Report is the result of a diagnosis, ordered by service, scope and version.
type Report struct {
	Sources []Diagnosis `json:"sources"`
	// NonAgent holds the sources without a span of an agent run.
	NonAgent []NonAgent `json:"foreign"`
}

// Diagnosis is the result for one source of agent telemetry.
type Diagnosis struct {
	Source
	Dialect    string             `json:"dialect"`
	Name       string             `json:"name"`
	Spans      int                `json:"spans"`
	LogRecords int                `json:"log_records"` // of the whole service
	Runs       int                `json:"runs"`        // with their run span from this source
	ModelCalls int                `json:"model_calls"`
	ToolCalls  int                `json:"tool_calls"`
	Grades     map[tape.Grade]int `json:"grades"`
	Missing    []Missing          `json:"missing"`

	given *Given
}

// Missing is one kind of information that is absent from the runs of a source.
type Missing struct {
	Code     tape.Code     `json:"code"`
	Field    string        `json:"field,omitempty"`
	Severity tape.Severity `json:"severity"` // info: the run can be replayed all the same
	Count    int           `json:"count"`
	Meaning  string        `json:"meaning"`
	Fix      string        `json:"fix"`
}

// NonAgent is a source without a span of an agent run.
type NonAgent struct {
	Source
	Spans int `json:"spans"`
}

// Healthy reports whether there is at least one run and nothing that a replay needs is missing.
func (r Report) Healthy() bool {
	for _, s := range r.Sources {
		if slices.ContainsFunc(s.Missing, func(m Missing) bool { return m.Severity != tape.SeverityInfo }) {
			return false
		}
	}
	return slices.ContainsFunc(r.Sources, func(s Diagnosis) bool { return s.Runs > 0 })
}

// CodeNoCallID marks tool calls without an id. It occurs in reports only, never on a tape.
const CodeNoCallID tape.Code = "no_call_id"

// CodeNoTape marks traces that hold text and give no tape. It occurs in reports only.
const CodeNoTape tape.Code = "no_tape"

// spanID names a span within the telemetry.
type spanID struct{ trace, span string }

// diagnoser assigns the events and findings of tapes to the sources of their spans.
type diagnoser struct {
	of       map[spanID]Source
	dialects map[Source]map[string]int
	reports  map[Source]*Diagnosis
	missing  map[Source]map[missingKey]int
	logs     map[string]int // by service
	held     map[spanID]held
	given    *Given
}

// held says whether a span holds text that went in, or came out.
type held struct{ in, out bool }

type missingKey struct {
	code  tape.Code
	field string
	held  bool // what is missing on the tape seems to stand in the span
}

// diagnose is a pure function of the tapes and the evidence that they were made from.
func diagnose(tapes []*tape.Tape, set *evidence.Set, spans, logs map[Source]int, given *Given) Report {
	x := &diagnoser{of: map[spanID]Source{}, dialects: map[Source]map[string]int{}, reports: map[Source]*Diagnosis{}, missing: map[Source]map[missingKey]int{}, logs: map[string]int{}, held: map[spanID]held{}, given: given}
	for s, n := range logs {
		x.logs[s.Service] += n
	}
	for _, item := range set.Items() {
		x.item(item)
	}
	played := map[string]bool{}
	for _, t := range tapes {
		x.tape(t)
		for _, trace := range t.Sources.TraceIDs {
			played[trace] = true
		}
	}
	x.unread(played)
	var r Report
	for s, e := range x.reports {
		e.Spans, e.LogRecords = spans[s], x.logs[s.Service]
		e.Dialect = mostOften(x.dialects[s])
		d := dialect(e.Dialect)
		if d != nil {
			e.Name = d.Name
		}
		e.Missing = x.summary(e, d)
		r.Sources = append(r.Sources, *e)
	}
	for s, n := range spans {
		if x.reports[s] == nil {
			r.NonAgent = append(r.NonAgent, NonAgent{s, n})
		}
	}
	slices.SortFunc(r.Sources, func(a, b Diagnosis) int { return compareSources(a.Source, b.Source) })
	slices.SortFunc(r.NonAgent, func(a, b NonAgent) int { return compareSources(a.Source, b.Source) })
	return r
}

func compareSources(a, b Source) int {
	return cmp.Or(strings.Compare(a.Service, b.Service), strings.Compare(a.Scope, b.Scope), strings.Compare(a.Version, b.Version))
}

func (x *diagnoser) item(item evidence.Item) {
	source := Source{serviceName(item.Resource.Resource().Attributes()), item.Scope.Scope().Name(), item.Scope.Scope().Version()}
	if source.Scope == genai.LogScope {
		source = Source{source.Service, logScope(item.Span.Attributes()), ""}
	}
	trace, span := item.Span.TraceID(), item.Span.SpanID()
	id := spanID{hex.EncodeToString(trace[:]), hex.EncodeToString(span[:])}
	x.of[id] = source
	in, out := genai.HoldsContent(item.Span)
	x.held[id] = held{in || x.held[id].in, out || x.held[id].out}
	x.report(source)
	said := genai.Read(&genai.Source{Resource: item.Resource.Resource().Attributes(), ScopeName: item.Scope.Scope().Name(), ScopeVersion: item.Scope.Scope().Version(), Span: item.Span})
	if len(said.Dialects) > 0 {
		if x.dialects[source] == nil {
			x.dialects[source] = map[string]int{}
		}
		x.dialects[source][said.Dialects[0]]++
	}
}

func (x *diagnoser) report(s Source) *Diagnosis {
	if x.reports[s] == nil {
		x.reports[s] = &Diagnosis{Source: s, Grades: map[tape.Grade]int{}, Missing: []Missing{}, given: x.given}
	}
	return x.reports[s]
}

// tape assigns a run to the source of its run span, and each event to the source of its outermost span.
func (x *diagnoser) tape(t *tape.Tape) {
	find := func(span string) (Source, bool) {
		for _, trace := range t.Sources.TraceIDs {
			if s, ok := x.of[spanID{trace, span}]; ok {
				return s, true
			}
		}
		return Source{}, false
	}
	holds := func(spans []string, field string) bool {
		for _, span := range spans {
			for _, trace := range t.Sources.TraceIDs {
				if h := x.held[spanID{trace, span}]; h.in && wentIn(field) || h.out && cameOut(field) {
					return true
				}
			}
		}
		return false
	}
	bySeq := map[int]Source{}
	home, known := find(t.Run.RootSpanID)
	for _, e := range t.Events {
		for _, span := range e.SpanIDs {
			if s, ok := find(span); ok {
				bySeq[e.Seq] = s
				break
			}
		}
		if _, there := bySeq[e.Seq]; !there {
			if by, ok := bySeq[e.RequestedBy]; ok {
				bySeq[e.Seq] = by
			}
		}
		if s, there := bySeq[e.Seq]; there && !known {
			home, known = s, true
		}
	}
	if !known {
		return // only log records without a source hold the run
	}
	run := x.report(home)
	run.Runs++
	run.Grades[t.Fidelity.Grade]++
	for _, e := range t.Events {
		s, there := bySeq[e.Seq]
		if !there {
			s = home
		}
		switch e.Type {
		case tape.EventModelCall:
			x.report(s).ModelCalls++
		case tape.EventToolCall:
			x.report(s).ToolCalls++
			if e.ToolCallID == "" {
				x.miss(s, CodeNoCallID, "tool_call_id", false)
			}
		}
	}
	for _, f := range t.Fidelity.Findings {
		s, there := bySeq[f.Seq]
		if !there {
			s = home
		}
		spans := []string{t.Run.RootSpanID}
		if f.Seq > 0 && f.Seq <= len(t.Events) {
			spans = t.Events[f.Seq-1].SpanIDs
		}
		x.miss(s, f.Code, f.Field, contentCodes[f.Code] && holds(spans, f.Field))
	}
}

// contentCodes are the findings that a content switch would cure.
var contentCodes = map[tape.Code]bool{tape.CodeContentAbsent: true, tape.CodeArgsMissing: true, tape.CodeResultMissing: true}

func wentIn(field string) bool {
	return field == "args" || field == "input.user_message" || strings.HasPrefix(field, "request.")
}

func cameOut(field string) bool {
	return field == "result" || field == "output.text" || strings.HasPrefix(field, "response.")
}

// unread notes the traces that hold text and gave no tape, each at one of the sources of that text.
func (x *diagnoser) unread(played map[string]bool) {
	first := map[string]Source{}
	for id, h := range x.held {
		if s, there := first[id.trace]; (h.in || h.out) && !played[id.trace] && (!there || compareSources(x.of[id], s) < 0) {
			first[id.trace] = x.of[id]
		}
	}
	for _, s := range first {
		x.miss(s, CodeNoTape, "", false)
	}
}

func (x *diagnoser) miss(s Source, code tape.Code, field string, held bool) {
	if _, known := adviceFor[code]; !known {
		return
	}
	if x.missing[s] == nil {
		x.missing[s] = map[missingKey]int{}
	}
	x.missing[s][missingKey{code, general(field), held}]++
}

// general removes the indices from a field's path, so that the same gap in many messages is one row.
func general(field string) string {
	parts := strings.Split(field, ".")
	parts = slices.DeleteFunc(parts, func(p string) bool { return p != "" && strings.Trim(p, "0123456789") == "" })
	return strings.Join(parts, ".")
}

func (x *diagnoser) summary(e *Diagnosis, d *genai.Dialect) []Missing {
	out := []Missing{}
	for key, n := range x.missing[e.Source] {
		r := adviceFor[key.code]
		meaning, fix := r.meaning, r.fix(e, d)
		if key.held {
			meaning, fix = "the spans hold content, but not in a form that is read here", "no setting is missing: please report such a span, its secrets taken out"
		}
		out = append(out, Missing{Code: key.code, Field: key.field, Severity: r.severity, Count: n, Meaning: meaning, Fix: fix})
	}
	slices.SortFunc(out, func(a, b Missing) int {
		return cmp.Or(cmp.Compare(rank(a.Severity), rank(b.Severity)), strings.Compare(string(a.Code), string(b.Code)), strings.Compare(a.Field, b.Field), strings.Compare(a.Fix, b.Fix))
	})
	return out
}

func rank(s tape.Severity) int {
	return slices.Index([]tape.Severity{tape.SeverityError, tape.SeverityWarning, tape.SeverityInfo}, s)
}

func mostOften(counts map[string]int) string {
	best := ""
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		if best == "" || counts[id] > counts[best] {
			best = id
		}
	}
	return best
}

func dialect(id string) *genai.Dialect {
	for _, d := range genai.Dialects {
		if d.ID == id {
			return d
		}
	}
	return nil
}
