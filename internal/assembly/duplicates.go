// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/spandigest"
)

// A sender repeats a request when its answer got lost, and would fill the bounds of a trace with copies. Spans are compared only when
// a span id comes a second time within what is held; traces without such ids, nearly all, pay nothing.

// digests are those of the spans of one trace. All attributes count, also those that have no part in an item
// of internal/reading/evidence. An example is the time at which a log record was observed: of two copies the
// evidence keeps the first observed, and that one need not have come first.
type digests map[spandigest.Digest]struct{}

func digestsOf(td ptrace.Traces) digests {
	d := make(digests, td.SpanCount())
	var h spandigest.Hasher
	for _, rs := range td.ResourceSpans().All() {
		resource := h.Resource(rs)
		for _, ss := range rs.ScopeSpans().All() {
			scope := h.Scope(resource, ss)
			for _, span := range ss.Spans().All() {
				d[h.Span(scope, span)] = struct{}{}
			}
		}
	}
	return d
}

// removeHeld removes the spans that d has from td and adds the others to d.
func (d digests) removeHeld(td ptrace.Traces) (removed int) {
	var h spandigest.Hasher
	td.ResourceSpans().RemoveIf(func(rs ptrace.ResourceSpans) bool {
		resource := h.Resource(rs)
		rs.ScopeSpans().RemoveIf(func(ss ptrace.ScopeSpans) bool {
			scope := h.Scope(resource, ss)
			ss.Spans().RemoveIf(func(span ptrace.Span) bool {
				sum := h.Span(scope, span)
				if _, held := d[sum]; held {
					removed++
					return true
				}
				d[sum] = struct{}{}
				return false
			})
			return ss.Spans().Len() == 0
		})
		return rs.ScopeSpans().Len() == 0
	})
	return removed
}

// removeRepeated removes the spans that td holds more than once.
func removeRepeated(td ptrace.Traces) {
	ids := make(map[pcommon.SpanID]struct{}, td.SpanCount())
	repeated := false
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				_, known := ids[span.SpanID()]
				repeated = repeated || known
				ids[span.SpanID()] = struct{}{}
			}
		}
	}
	if repeated {
		digests{}.removeHeld(td)
	}
}
