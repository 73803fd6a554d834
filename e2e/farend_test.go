// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// farEnd is an OTLP/gRPC endpoint that notes what comes.
type farEnd struct {
	ptraceotlp.UnimplementedGRPCServer
	address string

	mu     sync.Mutex
	away   bool // as a backend that cannot take anything just now
	spans  map[pcommon.TraceID]map[pcommon.SpanID]int
	points []string // service names
}

type farMetrics struct {
	pmetricotlp.UnimplementedGRPCServer
	*farEnd
}

func newFarEnd(t *testing.T) *farEnd {
	t.Helper()
	f := &farEnd{spans: map[pcommon.TraceID]map[pcommon.SpanID]int{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.address = l.Addr().String()
	server := grpc.NewServer()
	ptraceotlp.RegisterGRPCServer(server, f)
	pmetricotlp.RegisterGRPCServer(server, &farMetrics{farEnd: f})
	go func() { _ = server.Serve(l) }() // ends with Stop
	t.Cleanup(server.Stop)
	return f
}

func (f *farEnd) Export(_ context.Context, r ptraceotlp.ExportRequest) (ptraceotlp.ExportResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away {
		return ptraceotlp.NewExportResponse(), status.Error(codes.Unavailable, "away")
	}
	for span := range spans(r.Traces()) {
		if f.spans[span.TraceID()] == nil {
			f.spans[span.TraceID()] = map[pcommon.SpanID]int{}
		}
		f.spans[span.TraceID()][span.SpanID()]++
	}
	return ptraceotlp.NewExportResponse(), nil
}

func (f *farMetrics) Export(_ context.Context, r pmetricotlp.ExportRequest) (pmetricotlp.ExportResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, rm := range r.Metrics().ResourceMetrics().All() {
		name, _ := rm.Resource().Attributes().Get("service.name")
		f.points = append(f.points, name.AsString())
	}
	return pmetricotlp.NewExportResponse(), nil
}

// traces is how many spans of each trace came.
func (f *farEnd) traces() map[pcommon.TraceID]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[pcommon.TraceID]int{}
	for id, spans := range f.spans {
		for _, n := range spans {
			all[id] += n
		}
	}
	return all
}

// distinct is how many spans came, however often.
func (f *farEnd) distinct() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, spans := range f.spans {
		n += len(spans)
	}
	return n
}

func (f *farEnd) setAway(away bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away = away
}

func (f *farEnd) count() (n int) {
	for _, spans := range f.traces() {
		n += spans
	}
	return n
}

func (f *farEnd) services() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.points...)
}

// dial is a connection as an SDK holds one.
func dial(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// retryable are the codes after which a sender tries again, by the specification of OTLP/gRPC. A load balancer whose member starts again answers
// with the second.
var retryable = []codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Aborted, codes.OutOfRange, codes.DataLoss}

// sdk repeats a request until it is acknowledged, as SDKs do.
func sdk(t *testing.T, export func(context.Context) error, headers ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), headers...), patience)
	defer cancel()
	pause := time.NewTicker(100 * time.Millisecond)
	defer pause.Stop()
	for {
		err := export(ctx)
		if err == nil {
			return
		}
		if !slices.Contains(retryable, status.Code(err)) || ctx.Err() != nil {
			t.Error(err)
			return
		}
		<-pause.C
	}
}

func exportTraces(t *testing.T, conn *grpc.ClientConn, td ptrace.Traces, headers ...string) {
	t.Helper()
	sdk(t, func(ctx context.Context) error {
		_, err := ptraceotlp.NewGRPCClient(conn).Export(ctx, ptraceotlp.NewExportRequestFromTraces(td))
		return err
	}, headers...)
}

func exportLogs(t *testing.T, conn *grpc.ClientConn, ld plog.Logs) {
	t.Helper()
	sdk(t, func(ctx context.Context) error {
		_, err := plogotlp.NewGRPCClient(conn).Export(ctx, plogotlp.NewExportRequestFromLogs(ld))
		return err
	})
}
