// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package groundtruth

import (
	"crypto/sha256"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// recording is the telemetry of a run while it is changed.
type recording struct {
	truth   value
	traces  ptrace.Traces
	logs    plog.Logs
	spans   []*recorded
	byID    map[pcommon.SpanID]*recorded
	below   map[pcommon.SpanID][]*recorded
	changed bool
	renamed bool // tools have the generic name
	// rootless says that the run span was taken away, or holds nothing but what its vendor understands.
	rootless bool
}

// recorded is a span with what is read from it alone.
type recorded struct {
	resource ptrace.ResourceSpans
	scope    ptrace.ScopeSpans
	span     ptrace.Span
	obs      *dialect.Report
}

// nothing is the report of a span that is no evidence.
var nothing = dialect.NewReport(dialect.Unclassified, func(*dialect.Draft) {})

func (r *recording) index() {
	r.spans, r.byID, r.below = nil, map[pcommon.SpanID]*recorded{}, map[pcommon.SpanID][]*recorded{}
	for _, rs := range r.traces.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				rec := &recorded{resource: rs, scope: ss, span: span, obs: nothing}
				if genai.IsEvidence(ss.Scope().Name(), span) {
					rec.obs = genai.Read(&dialect.Source{Resource: rs.Resource().Attributes(), ScopeName: ss.Scope().Name(), ScopeVersion: ss.Scope().Version(), Span: span})
				}
				r.spans = append(r.spans, rec)
				r.byID[span.SpanID()] = rec
				r.below[span.ParentSpanID()] = append(r.below[span.ParentSpanID()], rec)
			}
		}
	}
}

func (r *recording) evidence() *evidence.Set {
	set := evidence.NewSet()
	traces, logs := ptrace.NewTraces(), plog.NewLogs() // a set changes what it is given
	r.traces.CopyTo(traces)
	r.logs.CopyTo(logs)
	set.AddTraces(traces)
	set.AddLogs(logs)
	return set
}

// telemetry is what the changed documents hold.
func (r *recording) telemetry() *telemetry {
	traces, err := (&ptrace.JSONMarshaler{}).MarshalTraces(r.traces)
	if err != nil {
		panic(err)
	}
	logs, err := (&plog.JSONMarshaler{}).MarshalLogs(r.logs)
	if err != nil {
		panic(err)
	}
	var documents []value
	for _, body := range [][]byte{traces, logs} {
		document, err := exactjson.Parse(string(body))
		if err != nil {
			panic(err)
		}
		documents = append(documents, document)
	}
	return newTelemetry(documents...)
}

func (r *recording) of(class dialect.Class) []*recorded {
	return slices.DeleteFunc(slices.Clone(r.spans), func(s *recorded) bool { return s.obs.Class != class })
}

func (r *recording) records() (all []plog.LogRecord) {
	for _, rl := range r.logs.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, l := range sl.LogRecords().All() {
				all = append(all, l)
			}
		}
	}
	return all
}

// remove takes spans away.
func (r *recording) remove(gone func(ptrace.Span) bool) {
	for _, rs := range r.traces.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			ss.Spans().RemoveIf(gone)
		}
	}
}

// derivedID makes an id from another one.
func derivedID(salt string, id pcommon.SpanID) (derived pcommon.SpanID) {
	sum := sha256.Sum256(append([]byte(salt), id[:]...))
	copy(derived[:], sum[:])
	return derived
}
