// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

func TestTraceAtItsSpanBoundLeavesAtOnce(t *testing.T) {
	d := &downstream{}
	o := options(d)
	o.MaxTraceSpans = 3
	run(t, o, func(m *Assembler) {
		admit(t, m, evidence(1, node{id: 2, parent: 1}, node{id: 3, parent: 1}))
		wantNone(t, d, 0)
		admit(t, m, evidence(1, node{id: 4, parent: 1}))
		if e := wantOne(t, d, 0, Spans); e.Items != 3 || e.Complete {
			t.Errorf("unexpected emission %+v", e)
		}
	})
}

func TestTraceAtItsByteBoundLeavesAtOnce(t *testing.T) {
	d := &downstream{}
	o := options(d)
	o.MaxTraceBytes = 2000
	run(t, o, func(m *Assembler) {
		admit(t, m, evidence(1, node{id: 2, parent: 1}))
		admit(t, m, evidence(1, node{id: 3, parent: 1}))
		wantOne(t, d, 0, Bytes)
	})
}

func TestOneTraceTooManyEmitsTheOldest(t *testing.T) {
	d := &downstream{}
	o := options(d)
	o.MaxTraces, o.Shards = 2, 1
	run(t, o, func(m *Assembler) {
		for i := byte(1); i <= 3; i++ {
			admit(t, m, evidence(i, node{id: 2, parent: 1}))
		}
		if e := wantOne(t, d, 0, Traces); e.Key != key(1) {
			t.Errorf("%s left, want the oldest", e.Key)
		}
	})
}

func TestOpenTracesLeaveRoomForWhatIsOnItsWayOut(t *testing.T) {
	d := &downstream{}
	o := options(d)
	o.MaxBytes, o.Shards = 8000, 1
	run(t, o, func(m *Assembler) {
		for i := byte(1); i <= 7; i++ {
			admit(t, m, evidence(i, node{id: 2, parent: 1}))
		}
		if e := wantOne(t, d, 0, Bytes); e.Key != key(1) {
			t.Errorf("%s left, want the oldest", e.Key)
		}
	})
}

func TestFullAssemblyRefusesTheWholeRequestUntilDownstreamRecovers(t *testing.T) {
	d := &downstream{}
	o := options(d)
	o.MaxBytes = 8000
	run(t, o, func(m *Assembler) {
		d.gate = make(chan struct{})
		admitted := 0
		for i := byte(1); i <= 20; i++ {
			err := tryAdmit(m, evidence(i, node{id: 1, run: true}, node{id: 2, parent: 1}))
			synctest.Wait()
			if err == nil {
				admitted++
				continue
			}
			if !errors.Is(err, ErrFull) || consumererror.IsPermanent(err) {
				t.Fatalf("unexpected error %v", err)
			}
		}
		pass(2 * quiet)
		s := m.Stats()
		if admitted != 4 || s.Held != 8 || s.HeldBytes != 8000 || s.RefusedFull != 16 {
			t.Errorf("admitted %d, %+v", admitted, s)
		}
		called := false
		err := m.Admit(context.Background(), Size{Items: 1, Bytes: 1}, func() Request { called = true; return Request{} })
		if !errors.Is(err, ErrFull) || called {
			t.Errorf("take was called: %t, error %v", called, err)
		}
		close(d.gate)
		pass(time.Second)
		if got := len(d.emissions()); got != 4 {
			t.Errorf("%d emissions, want 4", got)
		}
		admit(t, m, evidence(30, node{id: 1, run: true}))
	})
}

func TestRequestThatCanNeverFitIsRefusedAsSuch(t *testing.T) {
	d := &downstream{}
	run(t, options(d), func(m *Assembler) {
		err := m.Admit(context.Background(), Size{Items: 1, Bytes: 17 << 20}, func() Request {
			t.Error("take was called")
			return Request{}
		})
		if !errors.Is(err, ErrTooLarge) {
			t.Errorf("unexpected error %v", err)
		}
	})
}

func TestOldTracesAreForgotten(t *testing.T) {
	m := newRecentTraces(100)
	for i := range 100 {
		m.remember(key(byte(i)), past{})
	}
	if len(m.traces) > 100/rememberedTrace || m.nodes > 100 {
		t.Errorf("%d traces with weight %d are remembered", len(m.traces), m.nodes)
	}
	if _, ok := m.traces[key(99)]; !ok {
		t.Error("the last trace was forgotten first")
	}
}

func TestFewOfManyOpenTracesAreTakenForAnother(t *testing.T) {
	for _, traces := range []int{1, 1000, 100_000, 600_000} {
		a := New(Options{MaxTraces: traces, MaxBytes: 1, QuietPeriod: 1, IdleTimeout: 1, MaxAge: 1})
		id := func(n int) (id pcommon.TraceID) {
			binary.BigEndian.PutUint64(id[8:], uint64(n))
			return id
		}
		for n := range traces {
			a.filter.add(a.hash(id(n)))
			a.counters.openTraces.Add(1)
		}
		mistakes := 0
		for n := range 10_000 {
			if a.MayHold(id(traces + n)) {
				mistakes++
			}
		}
		if mistakes > 10_000/6 {
			t.Errorf("%d open: %d of 10,000 traces are taken for open ones", traces, mistakes)
		}
	}
}

// TestResourceOfManyRepeatedSpansIsHashedOnce counts what comparing allocates: a sender chooses how large a resource is, and how
// many spans below it have the same id.
func TestResourceOfManyRepeatedSpansIsHashedOnce(t *testing.T) {
	const spans = 200
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("large", strings.Repeat("x", 1<<20))
	ss := rs.ScopeSpans().AppendEmpty()
	for i := range spans {
		ss.Spans().AppendEmpty().SetName(fmt.Sprint(i % 100))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	removeRepeated(td)
	runtime.ReadMemStats(&after)
	if n := td.SpanCount(); n != 100 {
		t.Errorf("%d spans are left, want 100", n)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 20<<20 {
		t.Errorf("%d MiB were allocated", n>>20)
	}
}
