// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapeexporter // import "github.com/tapedeck/tapedeck/exporter/tapeexporter"

import (
	"encoding/hex"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/reading/segregation"
)

// defaultTenant owns what no agentrun processor has assigned.
const defaultTenant = "default"

// groupKey is what a call is split by. The trace id is the span's own: a run key says who the tenant is, and nothing else.
type groupKey struct {
	tenant string
	trace  pcommon.TraceID
}

func (k groupKey) hex() string { return hex.EncodeToString(k.trace[:]) }

// group is the evidence of one trace. The writer takes what it gets, so it is a copy where somebody may need the original: a repetition.
type group struct {
	key    groupKey
	traces ptrace.Traces
	// tags are those that agentrun has found in the trace, or that stand on spans which are no evidence.
	tags segregation.Tags
	// marked tells that agentrun said whether the trace is complete; complete is what it said.
	marked, complete bool
	items            int         // of the trace so far, as agentrun said
	spans            int         // of the trace in this call, evidence or not
	from             pcommon.Map // a copy of the attributes of its first resource

	rs              ptrace.ResourceSpans
	ss              ptrace.ScopeSpans
	resource, scope int
}

// release lets go of the evidence of a call while the call only waits: thousands of calls wait for a reel,
// and frames of the collector hold what they were called with.
func (g *group) release(td ptrace.Traces) {
	td.ResourceSpans().MoveAndAppendTo(ptrace.NewResourceSpansSlice())
	g.traces, g.rs, g.ss = ptrace.NewTraces(), ptrace.ResourceSpans{}, ptrace.ScopeSpans{}
}

// isComplete tells whether the runs of the trace have ended as far as anyone can know. Without agentrun the evidence itself has to
// say: a span without a parent is there, or every parent that is named. What was emitted again is never complete, in agentrun and here: it belongs to no side.
func (g *group) isComplete() bool {
	if g.marked {
		return g.complete
	}
	if segregation.Reemitted(g.traces) {
		return false
	}
	ids, parents := map[pcommon.SpanID]bool{}, map[pcommon.SpanID]bool{}
	for _, rs := range g.traces.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				if span.ParentSpanID().IsEmpty() {
					return true
				}
				ids[span.SpanID()] = true
				parents[span.ParentSpanID()] = true
			}
		}
	}
	for p := range parents {
		if !ids[p] {
			return false
		}
	}
	return true
}

// trustMarker removes the marker of a redaction from a resource unless it can be trusted. The marker of agentredaction has the proof of this
// process. The marker of agentrun has no proof: it is trusted where the resource has a run key, and as far as that key is.
func trustMarker(resource pcommon.Map) {
	if !handover.Unseal(resource) && !handover.ReadRun(resource).Assembled() {
		resource.Remove(handover.Redaction)
	}
}

// split parts the evidence of each trace and counts the spans that are none. td stays as it is, unless the caller gives it away (own): evidence of one
// trace, as agentrun passes it on, is then taken without a copy.
func split(td ptrace.Traces, rules *segregation.Rules, own bool) (groups []*group, ignored int) {
	index := map[groupKey]*group{}
	others := map[groupKey]int{} // spans that are no evidence
	of := func(tenant string, trace pcommon.TraceID, resource pcommon.Map) *group {
		key := groupKey{tenant, trace}
		g := index[key]
		if g == nil {
			g = &group{key: key, from: pcommon.NewMap(), resource: -1, scope: -1}
			resource.CopyTo(g.from)
			index[key] = g
			groups = append(groups, g)
		}
		return g
	}
	scan := segregation.Scan{Rules: rules}
	// said takes over what agentrun says on a resource of a trace.
	said := func(g *group, resource pcommon.Map) {
		scan.Reset()
		scan.Handover(resource)
		g.tags.Merge(scan.Tags())
		run := handover.ReadRun(resource)
		g.marked, g.complete = g.marked || run.Stated, g.complete || run.Complete
		g.items = max(g.items, run.Items)
	}
	for _, rs := range td.ResourceSpans().All() {
		if key, ok := loneTag(rs); ok {
			said(of(key.tenant, key.trace, rs.Resource().Attributes()), rs.Resource().Attributes())
		}
	}
	groupOf := make([]*group, 0, td.SpanCount()) // for each span, nil for one that is no evidence
	each(td, func(rs ptrace.ResourceSpans, _ ptrace.ScopeSpans, span ptrace.Span, at position) {
		g := of(at.tenant, span.TraceID(), rs.Resource().Attributes())
		if g.resource != at.resource {
			g.resource = at.resource
			said(g, rs.Resource().Attributes())
		}
		g.spans++
		groupOf = append(groupOf, g)
	}, func(rs ptrace.ResourceSpans, ss ptrace.ScopeSpans, span ptrace.Span, at position) {
		ignored++
		groupOf = append(groupOf, nil)
		others[groupKey{at.tenant, span.TraceID()}]++
		scan.Reset()
		scan.Handover(rs.Resource().Attributes())
		scan.Span(ss.Scope().Name(), span)
		if scan.Found() && !span.TraceID().IsEmpty() {
			of(at.tenant, span.TraceID(), rs.Resource().Attributes())
		}
		// A tag that stands around the span only says nothing of traces that have no evidence here.
		scan.Around(rs, ss)
		if g := index[groupKey{at.tenant, span.TraceID()}]; g != nil {
			g.tags.Merge(scan.Tags())
		}
	})
	for _, g := range groups {
		g.spans += others[g.key]
	}
	if own && len(groups) == 1 && ignored == 0 {
		groups[0].traces = td
		return groups, 0
	}
	copyTo(td, groups, groupOf)
	return groups, ignored
}

// loneTag returns the trace of a tag that came alone, which agentrun passes on as a resource without spans.
func loneTag(rs ptrace.ResourceSpans) (key groupKey, ok bool) {
	run := handover.ReadRun(rs.Resource().Attributes())
	id, ok := run.TraceID()
	replay := run.Malformed || segregation.ParseTags(run.Replay).Replay()
	return groupKey{run.Tenant(defaultTenant), id}, ok && replay && rs.ScopeSpans().Len() == 0
}

// copyTo gives each group a copy of its spans.
func copyTo(td ptrace.Traces, groups []*group, groupOf []*group) {
	for _, g := range groups {
		g.traces, g.resource, g.scope = ptrace.NewTraces(), -1, -1
	}
	n := 0
	for i, rs := range td.ResourceSpans().All() {
		for j, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				if g := groupOf[n]; g != nil {
					g.add(rs, ss, span, position{resource: i, scope: j})
				}
				n++
			}
		}
	}
}

// isFirst tells whether nothing of the trace was passed on before, as far as agentrun knows.
func (g *group) isFirst() bool { return g.marked && g.items > 0 && g.spans >= g.items }

// isLate tells whether agentrun has passed on other evidence of the trace before.
func (g *group) isLate() bool { return g.marked && g.items > g.spans }

// pick copies some traces as they are, for another attempt.
func pick(td ptrace.Traces, keep map[groupKey]bool) ptrace.Traces {
	g := &group{traces: ptrace.NewTraces(), resource: -1, scope: -1}
	take := func(rs ptrace.ResourceSpans, ss ptrace.ScopeSpans, span ptrace.Span, at position) {
		if keep[groupKey{at.tenant, span.TraceID()}] {
			g.add(rs, ss, span, at)
		}
	}
	each(td, take, take)
	for _, rs := range td.ResourceSpans().All() {
		if key, ok := loneTag(rs); ok && keep[key] {
			rs.CopyTo(g.traces.ResourceSpans().AppendEmpty())
		}
	}
	return g.traces
}

func (g *group) add(rs ptrace.ResourceSpans, ss ptrace.ScopeSpans, span ptrace.Span, at position) {
	if g.resource != at.resource {
		g.resource, g.scope = at.resource, -1
		g.rs = g.traces.ResourceSpans().AppendEmpty()
		rs.Resource().CopyTo(g.rs.Resource())
		g.rs.SetSchemaUrl(rs.SchemaUrl())
	}
	if g.scope != at.scope {
		g.scope = at.scope
		g.ss = g.rs.ScopeSpans().AppendEmpty()
		ss.Scope().CopyTo(g.ss.Scope())
		g.ss.SetSchemaUrl(ss.SchemaUrl())
	}
	span.CopyTo(g.ss.Spans().AppendEmpty())
}

// position tells where a span stands in a call.
type position struct {
	tenant          string
	resource, scope int
}

type visit func(ptrace.ResourceSpans, ptrace.ScopeSpans, ptrace.Span, position)

// each calls evidence for every span that is evidence and has a trace id, and other for the rest.
func each(td ptrace.Traces, evidence, other visit) {
	for i, rs := range td.ResourceSpans().All() {
		at := position{tenant: handover.ReadRun(rs.Resource().Attributes()).Tenant(defaultTenant), resource: i}
		for j, ss := range rs.ScopeSpans().All() {
			at.scope = j
			for _, span := range ss.Spans().All() {
				if !span.TraceID().IsEmpty() && genai.IsEvidence(ss.Scope().Name(), span) {
					evidence(rs, ss, span, at)
				} else {
					other(rs, ss, span, at)
				}
			}
		}
	}
}
