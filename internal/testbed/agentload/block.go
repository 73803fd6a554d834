// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentload

import (
	"bytes"
	"crypto/rand"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Block is a number of runs, cut into OTLP requests so that each request holds a share of every run: spans of one run come in
// several requests, between those of others. Recorded requests stay as they are. The requests are marshalled once; renew gives the runs new trace ids in place.
type Block struct {
	requests []request
	ids      []pcommon.TraceID
}

type request struct {
	body  []byte
	spans int
	at    [][]int // where the trace id of each run stands in body
}

// Block makes the runs of a load that are sent together.
func (g *Generator) Block(load Load) (*Block, error) {
	b := &Block{}
	parts := load.Recorded
	if parts == nil {
		traces := make([]ptrace.Traces, 0, load.Runs+load.Web)
		for i := range load.Runs {
			td := g.Trace(load.Shape)
			if load.RunsInTrace > 1 && i%load.RunsInTrace > 0 {
				setTraceID(td, traceIDs(traces[len(traces)-1])[0])
			}
			traces = append(traces, td)
		}
		for range load.Web {
			traces = append(traces, g.WebTrace())
		}
		parts = Interleave(traces, load.Requests)
	}
	for _, part := range parts {
		for _, id := range traceIDs(part) {
			if !slices.Contains(b.ids, id) {
				b.ids = append(b.ids, id)
			}
		}
	}
	var m ptrace.ProtoMarshaler
	for _, part := range parts {
		body, err := m.MarshalTraces(part)
		if err != nil {
			return nil, err
		}
		r := request{body: body, spans: part.SpanCount(), at: make([][]int, len(b.ids))}
		held := traceIDs(part)
		for run, id := range b.ids {
			if slices.Contains(held, id) {
				r.at[run] = positions(body, id[:])
			}
		}
		b.requests = append(b.requests, r)
	}
	return b, nil
}

func eachSpan(td ptrace.Traces, do func(ptrace.Span)) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				do(s)
			}
		}
	}
}

func setTraceID(td ptrace.Traces, id pcommon.TraceID) {
	eachSpan(td, func(s ptrace.Span) { s.SetTraceID(id) })
}

// traceIDs are those of the spans, in the order in which they come first.
func traceIDs(td ptrace.Traces) (ids []pcommon.TraceID) {
	eachSpan(td, func(s ptrace.Span) {
		if id := s.TraceID(); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	})
	return ids
}

// Interleave cuts runs of a Generator into so many requests, each with a share of every run.
func Interleave(runs []ptrace.Traces, requests int) []ptrace.Traces {
	parts := make([]ptrace.Traces, requests)
	for i := range parts {
		parts[i] = ptrace.NewTraces()
	}
	for _, run := range runs {
		rs := run.ResourceSpans().At(0)
		spans := rs.ScopeSpans().At(0).Spans()
		for i, part := range parts {
			to := sameResource(part, rs)
			for k := i * spans.Len() / requests; k < (i+1)*spans.Len()/requests; k++ {
				spans.At(k).CopyTo(to.AppendEmpty())
			}
		}
	}
	return parts
}

// sameResource is where the spans of a resource go within a request.
func sameResource(part ptrace.Traces, of ptrace.ResourceSpans) ptrace.SpanSlice {
	for _, rs := range part.ResourceSpans().All() {
		if rs.Resource().Attributes().Equal(of.Resource().Attributes()) {
			return rs.ScopeSpans().At(0).Spans()
		}
	}
	to := part.ResourceSpans().AppendEmpty()
	of.Resource().CopyTo(to.Resource())
	of.ScopeSpans().At(0).Scope().CopyTo(to.ScopeSpans().AppendEmpty().Scope())
	return to.ScopeSpans().At(0).Spans()
}

func positions(body, id []byte) (at []int) {
	for from := 0; ; from += len(id) {
		i := bytes.Index(body[from:], id)
		if i < 0 {
			return at
		}
		from += i
		at = append(at, from)
	}
}

// renew gives every run another trace id.
func (b *Block) renew() {
	ids := newIDs(len(b.ids))
	for i := range b.requests {
		b.put(i, ids)
	}
}

// put gives the runs in one request these trace ids.
func (b *Block) put(request int, ids []pcommon.TraceID) {
	r := b.requests[request]
	for run := range ids {
		for _, at := range r.at[run] {
			copy(r.body[at:], ids[run][:])
		}
	}
}

func newIDs(n int) []pcommon.TraceID {
	ids := make([]pcommon.TraceID, n)
	for i := range ids {
		rand.Read(ids[i][:]) // never fails
	}
	return ids
}
