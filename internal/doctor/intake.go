// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package doctor says what telemetry lacks for replaying the runs in it, and which setting of the producer would bring it.
package doctor

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/evidence"
	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/tape"
)

// Source is what emits telemetry: an instrumentation scope of a service.
type Source struct {
	Service string `json:"service"`
	Scope   string `json:"scope"`
	Version string `json:"version,omitempty"`
}

// Intake gathers telemetry: what belongs to agent runs is kept, the rest is counted.
type Intake struct {
	set   *evidence.Set
	spans map[Source]int // all spans
	logs  map[Source]int // log records of agents
	total int
}

// NewIntake returns an empty Intake.
func NewIntake() *Intake {
	return &Intake{set: evidence.NewSet(), spans: map[Source]int{}, logs: map[Source]int{}}
}

// Len returns how many spans and log records came.
func (in *Intake) Len() int { return in.total }

// AddTraces takes spans in. The intake refers to td afterwards.
func (in *Intake) AddTraces(td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			if ss.Scope().Name() == genai.LogScope { // records that travel as spans
				for _, span := range ss.Spans().All() {
					in.logs[Source{serviceName(rs.Resource().Attributes()), logScope(span.Attributes()), ""}]++
				}
			} else {
				in.spans[Source{serviceName(rs.Resource().Attributes()), ss.Scope().Name(), ss.Scope().Version()}] += ss.Spans().Len()
			}
			in.total += ss.Spans().Len()
		}
	}
	in.set.AddTraces(td)
}

// AddLogs takes log records in.
func (in *Intake) AddLogs(ld plog.Logs) {
	in.total += ld.LogRecordCount()
	td := evidence.LogsToTraces(ld)
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				in.logs[Source{serviceName(rs.Resource().Attributes()), logScope(span.Attributes()), ""}]++
			}
		}
	}
	in.set.AddTraces(td)
}

// Examine derives the runs and reports on them.
func (in *Intake) Examine() Report {
	tapes := reconstruct.All(in.set.Split(), reconstruct.Options{Tenant: "default", Redaction: tape.Redaction{Policy: "none"}})
	return examine(tapes, in.set, in.spans, in.logs)
}

func serviceName(resource pcommon.Map) string {
	if v, ok := resource.Get("service.name"); ok {
		return v.AsString()
	}
	return ""
}

func logScope(m pcommon.Map) string {
	if v, ok := m.Get("log.record.scope.name"); ok {
		return v.AsString()
	}
	return ""
}
