// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentload

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// receiver counts the spans of each trace and refuses the first request.
type receiver struct {
	ptraceotlp.UnimplementedGRPCServer
	mu       sync.Mutex
	requests int
	traces   map[pcommon.TraceID]int
	mixed    bool // a request held several traces
}

func (r *receiver) Export(_ context.Context, req ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	if r.requests == 1 {
		return ptraceotlp.NewExportResponse(), status.Error(codes.Unavailable, "not yet")
	}
	in := map[pcommon.TraceID]bool{}
	for _, rs := range req.Traces().ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				r.traces[s.TraceID()]++
				in[s.TraceID()] = true
			}
		}
	}
	r.mixed = r.mixed || len(in) > 1
	return ptraceotlp.NewExportResponse(), nil
}

func TestLoadArrivesAsWholeInterleavedRunsWithNewIDs(t *testing.T) {
	load := Load{Shape: Shape{Turns: 3, ToolBytes: 40, TextBytes: 20}, Runs: 5, Requests: 3, Connections: 2, Spans: 100, Time: time.Minute}
	t.Run("one block after the other", func(t *testing.T) { arrives(t, load) })
	load.New = 0.5
	t.Run("blocks with new texts", func(t *testing.T) { arrives(t, load) })
	load.New, load.Open = 0, 20
	t.Run("blocks that stay open", func(t *testing.T) { arrives(t, load) })
}

// The five runs of a trace stay one trace, and recorded requests keep their traces apart.
func TestBlocksOfTracesWithSeveralRunsAndOfRecordedTraces(t *testing.T) {
	load, err := NewLoad("five")
	if err != nil {
		t.Fatal(err)
	}
	b, err := New(1).Block(load)
	if err != nil {
		t.Fatal(err)
	}
	if len(b.ids) != 5 {
		t.Errorf("%d traces of 25 runs", len(b.ids))
	}
	g := New(2)
	load.Recorded = Interleave([]ptrace.Traces{g.Trace(Short), g.Trace(Short)}, 3)
	if b, err = New(1).Block(load); err != nil {
		t.Fatal(err)
	}
	b.renew()
	seen := map[pcommon.TraceID]int{}
	for _, r := range b.requests {
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(r.body)
		if err != nil {
			t.Fatal(err)
		}
		eachSpan(td, func(s ptrace.Span) { seen[s.TraceID()]++ })
	}
	if len(b.requests) != 3 || len(seen) != 2 {
		t.Errorf("%d requests with %v", len(b.requests), seen)
	}
	for id, n := range seen {
		if n != 20 || slices.Contains(b.ids, id) {
			t.Errorf("%v has %d spans of 20, renewed: %v", id, n, !slices.Contains(b.ids, id))
		}
	}
}

func arrives(t *testing.T, load Load) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{traces: map[pcommon.TraceID]int{}}
	server := grpc.NewServer()
	ptraceotlp.RegisterGRPCServer(server, r)
	done := make(chan error)
	go func() { done <- server.Serve(l) }()
	sent, err := Send(t.Context(), l.Addr().String(), load)
	server.GracefulStop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	const spansOfRun = 6
	total := 0
	for id, n := range r.traces {
		total += n
		if n != spansOfRun {
			t.Errorf("trace %s came with %d of %d spans", id, n, spansOfRun)
		}
	}
	if int64(total) != sent.Spans || total < 100 || len(r.traces) < 20 {
		t.Errorf("%d spans of %d traces came, %d were said to be sent", total, len(r.traces), sent.Spans)
	}
	if int64(len(sent.Accept)) != sent.Requests || sent.AcceptWithin(1) < sent.AcceptWithin(0.5) || sent.AcceptWithin(0) <= 0 {
		t.Errorf("%d of %d requests have a time until they were acknowledged: %v", len(sent.Accept), sent.Requests, sent.Accept)
	}
	if !r.mixed || sent.Failed != 1 {
		t.Errorf("mixed %v, failed %d", r.mixed, sent.Failed)
	}
}
