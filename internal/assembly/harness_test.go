// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errStore = errors.New("store is down")

// downstream is the next component: it keeps what it takes and fails on demand.
type downstream struct {
	mu    sync.Mutex
	taken []*Emission
	calls int
	fail  func(call int, e *Emission) error
	gate  chan struct{} // when not nil, every call waits here first
	idle  bool          // and says that it only waits
}

func (d *downstream) emit(ctx context.Context, e *Emission) error {
	if d.idle {
		e.Idle()
		e.Idle()
	}
	if d.gate != nil {
		select {
		case <-d.gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	if d.fail != nil {
		if err := d.fail(d.calls, e); err != nil {
			return err
		}
	}
	d.taken = append(d.taken, e)
	return nil
}

func (d *downstream) emissions() []*Emission {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]*Emission(nil), d.taken...)
}

// The periods of the tests; synctest makes them free.
const (
	quiet = 2 * time.Second
	idle  = time.Minute
	age   = 10 * time.Minute
)

func options(d *downstream) Options {
	return Options{
		QuietPeriod: quiet, IdleTimeout: idle, MaxAge: age,
		MaxTraceBytes: 1 << 20, MaxTraceSpans: 1000, MaxTraces: 1000, MaxBytes: 16 << 20,
		Emit: d.emit, EmitConcurrency: 4, InitialBackoff: time.Second, MaxBackoff: 8 * time.Second,
		ParkAfter: 10 * time.Minute, ParkedInterval: time.Hour,
		Shards: 2,
	}
}

// run starts an assembler inside a synctest bubble, lets body use it, shuts it down and checks conservation.
func run(t *testing.T, o Options, body func(*Assembler)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := New(o)
		if err := m.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		body(m)
		synctest.Wait()
		conserved(t, m)
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := m.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		conserved(t, m)
		if s := m.Stats(); s.Held != 0 || s.HeldBytes != 0 || s.OpenTraces != 0 {
			t.Errorf("after shutdown something is held: %+v", s)
		}
	})
}

func conserved(t *testing.T, m *Assembler) {
	t.Helper()
	s := m.Stats()
	if s.Accepted+s.Recovered != s.Emitted+s.Duplicates+s.Held+s.DroppedPermanent+s.DroppedShutdown+s.DroppedCorrupt {
		t.Errorf("accepted + recovered is not emitted + duplicates + held + dropped: %+v", s)
	}
}

// pass lets time pass and everything that it causes happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

type node struct {
	id, parent byte
	run        bool
	payload    string
	flags      uint32
}

// remoteParent are the flags of a span that says that its parent is a span of another process.
const remoteParent = 0x300

func traceID(n byte) pcommon.TraceID { return pcommon.TraceID{15: n} }
func spanID(n byte) pcommon.SpanID   { return pcommon.SpanID{7: n} }
func key(n byte) Key                 { return Key{Tenant: "acme", TraceID: traceID(n)} }

// chunk builds evidence; its byte size is what the tests say: 1,000 for each span.
func chunk(trace byte, nodes ...node) TraceChunk {
	f := TraceChunk{Key: key(trace), Traces: ptrace.NewTraces(), Items: len(nodes), Bytes: int64(1000 * len(nodes))}
	rs := f.Traces.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "agent")
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	for _, n := range nodes {
		s := spans.AppendEmpty()
		s.SetTraceID(traceID(trace))
		s.SetSpanID(spanID(n.id))
		s.SetParentSpanID(spanID(n.parent))
		s.SetFlags(n.flags)
		s.SetName(n.payload)
		f.RunSpan = f.RunSpan || n.run
	}
	return f
}

func admit(t *testing.T, m *Assembler, r Request) {
	t.Helper()
	if err := tryAdmit(m, r); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

func tryAdmit(m *Assembler, r Request) error {
	var size Size
	for _, f := range r.Chunks {
		size.Items += f.Items
		size.Bytes += f.Bytes
		size.Traces++
		if !slices.Contains(size.Tenants, f.Key.Tenant) {
			size.Tenants = append(size.Tenants, f.Key.Tenant)
		}
	}
	return m.Admit(context.Background(), size, func() Request { return r })
}

func evidence(trace byte, nodes ...node) Request {
	return Request{Chunks: []TraceChunk{chunk(trace, nodes...)}}
}

// wantOne checks that exactly one emission came since the last n and returns it.
func wantOne(t *testing.T, d *downstream, n int, reason Reason) *Emission {
	t.Helper()
	got := d.emissions()
	if len(got) != n+1 {
		t.Fatalf("%d emissions, want %d", len(got), n+1)
	}
	e := got[n]
	if e.Reason != reason {
		t.Errorf("reason %s, want %s", e.Reason, reason)
	}
	if e.Traces.SpanCount() != e.Held {
		t.Errorf("emission says %d spans and holds %d", e.Held, e.Traces.SpanCount())
	}
	return e
}

func wantNone(t *testing.T, d *downstream, n int) {
	t.Helper()
	if got := d.emissions(); len(got) != n {
		t.Fatalf("%d emissions, want %d", len(got), n)
	}
}
