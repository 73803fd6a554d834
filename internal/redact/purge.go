// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import "go.opentelemetry.io/collector/pdata/ptrace"

// Purge replaces what the rules find until they find nothing more. Where replacing does not get there, it goes on with coarser steps, and
// returns what those took away: whole values, then whole spans. Everything else stays.
func (r *Redactor) Purge(td ptrace.Traces) (dropped []Hit) {
	return r.purge(td, r.replaceHits, r.replaceHits, r.dropValues, r.dropSpans, dropAll)
}

// purge applies the steps in order until nothing is found.
func (r *Redactor) purge(td ptrace.Traces, steps ...func(ptrace.Traces, []Hit) (dropped []Hit)) (dropped []Hit) {
	for _, step := range steps {
		hits := r.ScanTraces(td)
		if len(hits) == 0 {
			return dropped
		}
		dropped = append(dropped, step(td, hits)...)
	}
	return dropped
}

func (r *Redactor) replaceHits(td ptrace.Traces, _ []Hit) []Hit {
	r.Traces(td, nil)
	return nil
}

// dropValues replaces each value as a whole in which something is found.
func (r *Redactor) dropValues(td ptrace.Traces, hits []Hit) []Hit {
	p := r.pass(nil)
	p.whole = true
	p.traces(td)
	return hits
}

// dropSpans takes away each span in which something is found, and the attributes of a resource or scope.
func (r *Redactor) dropSpans(td ptrace.Traces, hits []Hit) []Hit {
	clean := func(walk func(*pass)) bool { return len(r.scan(walk)) == 0 }
	td.ResourceSpans().RemoveIf(func(rs ptrace.ResourceSpans) bool {
		if !clean(func(p *pass) { p.resource(rs.Resource()) }) {
			rs.Resource().Attributes().Clear()
		}
		rs.ScopeSpans().RemoveIf(func(ss ptrace.ScopeSpans) bool {
			if !clean(func(p *pass) { p.scope(ss.Scope()) }) {
				ss.Scope().Attributes().Clear()
				ss.Scope().SetName(Mask)
				ss.Scope().SetVersion(Mask)
			}
			ss.Spans().RemoveIf(func(s ptrace.Span) bool { return !clean(func(p *pass) { p.span(s) }) })
			return ss.Spans().Len() == 0
		})
		return rs.ScopeSpans().Len() == 0
	})
	return hits
}

// dropAll is for what no step above has reached.
func dropAll(td ptrace.Traces, hits []Hit) []Hit {
	td.ResourceSpans().RemoveIf(func(ptrace.ResourceSpans) bool { return true })
	return hits
}
