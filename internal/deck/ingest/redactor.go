// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/redact"
)

// Redactor redacts telemetry in place before it becomes evidence, and marks it as redacted. It removes
// markers that the telemetry already has, because anybody can write one.
type Redactor struct {
	Redactor *redact.Redactor // nil: nothing is redacted
	report   redact.Report
}

// Traces redacts spans.
func (r *Redactor) Traces(td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		handover.Strip(rs.Resource().Attributes())
	}
	if r.Redactor != nil {
		r.Redactor.Traces(td, &r.report)
	}
	for _, rs := range td.ResourceSpans().All() {
		r.mark(rs.Resource().Attributes())
	}
}

// Logs redacts log records.
func (r *Redactor) Logs(ld plog.Logs) {
	for _, rl := range ld.ResourceLogs().All() {
		handover.Strip(rl.Resource().Attributes())
	}
	if r.Redactor != nil {
		r.Redactor.Logs(ld, &r.report)
	}
	for _, rl := range ld.ResourceLogs().All() {
		r.mark(rl.Resource().Attributes())
	}
}

func (r *Redactor) mark(resource pcommon.Map) {
	if r.Redactor != nil {
		resource.PutStr(handover.Redaction, r.Redactor.Marker().String())
	}
}

// Summary counts the redacted values by rule, in one line; "" for none.
func (r *Redactor) Summary() string {
	if r.report.Total() == 0 {
		return ""
	}
	var rules []string
	for _, rule := range slices.Sorted(maps.Keys(r.report.Hits)) {
		rules = append(rules, fmt.Sprintf("%s %d", rule, r.report.Hits[rule]))
	}
	return "redacted values: " + strings.Join(rules, ", ")
}
