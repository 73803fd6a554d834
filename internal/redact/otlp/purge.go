// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/redact/detect"
	"github.com/tapedeck/tapedeck/internal/redact/token"
)

// Purge replaces what the rules find until they find nothing more. If replacing does not get there, it takes coarser steps and removes
// whole values, then whole spans. It returns what those steps took away. Everything else stays.
func Purge(d *detect.Detector, td ptrace.Traces) (dropped []detect.Hit) {
	return purge(d, td, replaceHits, replaceHits, dropValues, dropSpans, dropAll)
}

// purgeStep changes what holds hits, and returns what it took away.
type purgeStep func(*detect.Detector, ptrace.Traces, []detect.Hit) (dropped []detect.Hit)

// purge applies the steps in order until nothing is found.
func purge(d *detect.Detector, td ptrace.Traces, steps ...purgeStep) (dropped []detect.Hit) {
	for _, step := range steps {
		hits := d.Scan(func(w *detect.Walk) { Traces(w, td) })
		if len(hits) == 0 {
			return dropped
		}
		dropped = append(dropped, step(d, td, hits)...)
	}
	return dropped
}

func replaceHits(d *detect.Detector, td ptrace.Traces, _ []detect.Hit) []detect.Hit {
	Traces(d.Walk(nil), td)
	return nil
}

// dropValues replaces each value as a whole in which something is found.
func dropValues(d *detect.Detector, td ptrace.Traces, hits []detect.Hit) []detect.Hit {
	Traces(d.Walk(nil).Whole(), td)
	return hits
}

// dropSpans takes away each span in which something is found, and the attributes of a resource or scope.
func dropSpans(d *detect.Detector, td ptrace.Traces, hits []detect.Hit) []detect.Hit {
	clean := func(walk func(*detect.Walk)) bool { return len(d.Scan(walk)) == 0 }
	td.ResourceSpans().RemoveIf(func(rs ptrace.ResourceSpans) bool {
		if !clean(func(w *detect.Walk) { resource(w, rs.Resource()) }) {
			rs.Resource().Attributes().Clear()
		}
		rs.ScopeSpans().RemoveIf(func(ss ptrace.ScopeSpans) bool {
			if !clean(func(w *detect.Walk) { scope(w, ss.Scope()) }) {
				ss.Scope().Attributes().Clear()
				ss.Scope().SetName(token.Mask)
				ss.Scope().SetVersion(token.Mask)
			}
			ss.Spans().RemoveIf(func(s ptrace.Span) bool { return !clean(func(w *detect.Walk) { span(w, s) }) })
			return ss.Spans().Len() == 0
		})
		return rs.ScopeSpans().Len() == 0
	})
	return hits
}

// dropAll is for what no step above has reached.
func dropAll(_ *detect.Detector, td ptrace.Traces, hits []detect.Hit) []detect.Hit {
	td.ResourceSpans().RemoveIf(func(ptrace.ResourceSpans) bool { return true })
	return hits
}
