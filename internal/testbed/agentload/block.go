// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentload

import (
	"bytes"
	"crypto/rand"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Block is a number of runs, cut into OTLP requests so that each request holds a share of every run: spans of one run come in
// several requests, between those of others. The requests are marshalled once; renew gives the runs new trace ids in place.
type Block struct {
	requests []request
	ids      [][16]byte
}

type request struct {
	body  []byte
	spans int
	at    [][]int // where the trace id of each run stands in body
}

// Block makes the runs of a load that are sent together.
func (g *Generator) Block(load Load) (*Block, error) {
	b := &Block{}
	traces := make([]ptrace.Traces, 0, load.Runs+load.Web)
	for range load.Runs {
		traces = append(traces, g.Trace(load.Shape))
	}
	for range load.Web {
		traces = append(traces, g.WebTrace())
	}
	for _, td := range traces {
		b.ids = append(b.ids, td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).TraceID())
	}
	parts := Interleave(traces, load.Requests)
	var m ptrace.ProtoMarshaler
	for _, part := range parts {
		body, err := m.MarshalTraces(part)
		if err != nil {
			return nil, err
		}
		r := request{body: body, spans: part.SpanCount(), at: make([][]int, len(b.ids))}
		for run, id := range b.ids {
			r.at[run] = positions(body, id[:])
		}
		b.requests = append(b.requests, r)
	}
	return b, nil
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
func (b *Block) put(request int, ids [][16]byte) {
	r := b.requests[request]
	for run := range ids {
		for _, at := range r.at[run] {
			copy(r.body[at:], ids[run][:])
		}
	}
}

func newIDs(n int) [][16]byte {
	ids := make([][16]byte, n)
	for i := range ids {
		rand.Read(ids[i][:]) // never fails
	}
	return ids
}
