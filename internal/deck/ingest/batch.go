// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package ingest takes telemetry in that is known as a whole, redacts it, and writes its evidence and its
// tapes to a deck. It is for programs without a collector.
package ingest

import (
	"fmt"
	"maps"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/forge/forgeaudit"
	"github.com/tapedeck/tapedeck/internal/reading/otlpfile"
	"github.com/tapedeck/tapedeck/internal/redact"
)

// Batch is the evidence of one call, and the count of what is no evidence.
type Batch struct {
	Set      *evidence.Set
	Redactor Redactor
	audit    *forgeaudit.Stream
	left     map[string]string // by trace id without a run: the reason
	noTrace  int               // spans and records without a trace id
	other    int               // documents of metrics or profiles
}

// NewBatch returns an empty Batch. keys check the signatures of audit records; a nil redactor redacts
// nothing.
func NewBatch(keys forgeaudit.Keys, r *redact.Redactor) *Batch {
	return &Batch{Set: evidence.NewSet(), Redactor: Redactor{Redactor: r}, audit: forgeaudit.New(keys), left: map[string]string{}}
}

// Add redacts a document in place and takes it in. The batch keeps audit records back until
// Writer.CloseAudit.
func (b *Batch) Add(doc otlpfile.Document) error {
	switch doc.Signal {
	case otlpfile.SignalTraces:
		for _, rs := range doc.Traces.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					b.see(span.TraceID())
				}
			}
		}
		b.Redactor.Traces(doc.Traces)
		evidence.ForwardVerdicts(doc.Traces)
		b.Set.AddTraces(doc.Traces)
	case otlpfile.SignalLogs:
		b.addLogs(doc.Logs)
	case otlpfile.SignalAudit:
		if err := b.audit.Add(doc.Name, doc.Line, doc.Audit); err != nil {
			return &otlpfile.Error{Name: doc.Name, Line: doc.Line, Err: err}
		}
	default:
		b.other++
	}
	return nil
}

func (b *Batch) addLogs(ld plog.Logs) {
	for _, rl := range ld.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, record := range sl.LogRecords().All() {
				b.see(evidence.TraceOfRecord(sl.Scope().Name(), record))
			}
		}
	}
	b.Redactor.Logs(ld)
	b.Set.AddLogs(ld)
}

func (b *Batch) see(id pcommon.TraceID) {
	if id.IsEmpty() {
		b.noTrace++
		return
	}
	b.left[id.String()] = "no run in trace " + id.String() + ": no spans of an agent run"
}

// take returns the traces of the batch and leaves it without evidence, so that nothing holds what was
// written.
func (b *Batch) take() []evidence.Trace {
	traces := b.Set.Split()
	b.Set = evidence.NewSet()
	return traces
}

// explain returns a line for each kind of input that gave no tape.
func (b *Batch) explain() (lines []string) {
	ids := slices.Sorted(maps.Keys(b.left))
	switch n := len(ids); {
	case n == 1:
		lines = append(lines, b.left[ids[0]])
	case n > 1:
		lines = append(lines, fmt.Sprintf("no run in %d traces: no spans of an agent run; the first one is %s", n, ids[0]))
	}
	if b.noTrace > 0 {
		lines = append(lines, fmt.Sprintf("%d spans or log records have no trace id and were left out", b.noTrace))
	}
	if b.other > 0 {
		lines = append(lines, fmt.Sprintf("%d documents hold metrics or profiles and were left out", b.other))
	}
	return lines
}
