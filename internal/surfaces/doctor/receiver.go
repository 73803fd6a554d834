// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package doctor reports what telemetry lacks for a replay of its runs. It names the setting of the producer that adds each
// missing part.
package doctor

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/tape"
)

// Source identifies a producer of telemetry: one instrumentation scope of one service.
type Source struct {
	Service string `json:"service"`
	Scope   string `json:"scope"`
	Version string `json:"version,omitempty"`
}

// Receiver collects telemetry. It keeps the spans and log records of agent runs and counts all others.
type Receiver struct {
	set   *evidence.Set
	spans map[Source]int // all spans
	logs  map[Source]int // log records of agents
	total int
	given *Given // nil: nothing is known of how the telemetry was made
}

// Given is how the telemetry was made: what is set already is no advice.
type Given struct {
	// Env is the environment of the agent.
	Env []string
	// Dialect is the id of the dialect whose telemetry was switched on, and Lacks says what no setting brings
	// there.
	Dialect, Lacks string
}

// Told tells the receiver how the telemetry is made.
func (in *Receiver) Told(g Given) { in.given = &g }

// covers reports whether all that a dialect has to be told was set, and which variables have another value
// than it wants.
func (g *Given) covers(d *genai.Dialect) (all bool, others []string) {
	if g == nil {
		return false, nil
	}
	all = g.Dialect == d.ID || len(d.Settings) > 0
	for _, s := range d.Settings {
		value, set := "", false
		for _, v := range g.Env {
			if got, ok := strings.CutPrefix(v, s.Name+"="); ok {
				value, set = got, true
			}
		}
		switch {
		case s.Optional || s.Yields || strings.HasSuffix(s.Name, "*"):
		case s.Unset && set || !s.Unset && set && value != s.Value:
			all, others = false, append(others, s.Name+"="+value)
		case !s.Unset && !set:
			all = false
		}
	}
	return all, others
}

// NewReceiver returns an empty Receiver.
func NewReceiver() *Receiver {
	return &Receiver{set: evidence.NewSet(), spans: map[Source]int{}, logs: map[Source]int{}}
}

// Len returns the number of spans and log records received.
func (in *Receiver) Len() int { return in.total }

// AddTraces adds spans. The receiver keeps references to td.
func (in *Receiver) AddTraces(td ptrace.Traces) {
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

// AddLogs adds log records. It copies what it keeps.
func (in *Receiver) AddLogs(ld plog.Logs) {
	in.total += ld.LogRecordCount()
	td := evidence.LogsToTraces(ld, segregation.Default)
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				in.logs[Source{serviceName(rs.Resource().Attributes()), logScope(span.Attributes()), ""}]++
			}
		}
	}
	in.set.AddTraces(td)
}

// Diagnose derives the tapes of all runs received so far and reports what they lack.
func (in *Receiver) Diagnose() Report {
	tapes := reconstruct.All(in.set.Split(), reconstruct.Options{Tenant: "default", Redaction: tape.Redaction{Policy: "none"}})
	return diagnose(tapes, in.set, in.spans, in.logs, in.given)
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
