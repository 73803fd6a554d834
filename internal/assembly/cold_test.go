// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"context"
	"encoding/binary"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/assembly/spool"
)

// shortMemory are options with one shard and memory for twenty spans.
func shortMemory(d *downstream) Options {
	o := options(d)
	o.MaxBytes, o.Shards = 40_000, 1
	return o
}

// evictAll makes the evidence of the traces that are open leave memory.
func (l *process) evictAll(trace byte) {
	l.t.Helper()
	for i := range byte(6) {
		l.admit(evidence(trace+i, node{id: 2, parent: 1}, node{id: 3, parent: 1}, node{id: 4, parent: 1}, node{id: 5, parent: 1}))
	}
}

func TestRunThatWasWholeWhenItLeftMemoryEndsAfterTheQuietPeriod(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{}
		l := begin(t, shortMemory(d), t.TempDir(), spool.Options{})
		l.admit(evidence(1, node{id: 2, parent: 2, run: true}))
		l.evictAll(100)
		pass(2 * quiet)
		if e := wantOne(t, d, 0, RootEnded); !e.Complete || e.Items != 1 {
			t.Errorf("unexpected emission %+v", e)
		}
		l.park()
	})
}

func TestSpanIDsLeaveMemoryWithTheEvidence(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{}
		l := begin(t, shortMemory(d), t.TempDir(), spool.Options{})
		// A run span whose parent never comes waits for the idle timeout, with as many spans as the sender likes.
		l.admit(evidence(1, node{id: 2, parent: 9, run: true}))
		for i := range byte(3) {
			l.evictAll(100 + 6*i)
			pass(2 * quiet)
			asked := make(chan int, 1)
			l.shards[0].inbox <- shardRequest{ask: func(s *shard) { asked <- len(s.open[key(1).kept()].nodes) }}
			if n := <-asked; n != 0 {
				t.Fatalf("%d span ids are held of a trace that left memory", n)
			}
			l.admit(evidence(1, node{id: 3, parent: 9}))
		}
		wantNone(t, d, 0)
		l.admit(evidence(1, node{id: 9, parent: 9}))
		pass(2 * idle)
		for _, e := range d.emissions() {
			if e.Key == key(1) && (!e.Complete || e.Items != 3) {
				t.Errorf("unexpected emission %+v", e)
			}
		}
		l.park()
	})
}

func TestLinksOfATraceThatIsPartlyInMemoryCount(t *testing.T) {
	for name, sameRequest := range map[string]bool{"with evidence": true, "alone": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				d := &downstream{}
				l := begin(t, options(d), t.TempDir(), spool.Options{})
				l.admit(evidence(1, node{id: 3, parent: 2}))
				l.park()
				l = begin(t, options(d), l.dir, spool.Options{})
				r := evidence(1, node{id: 4, parent: 3})
				links := []Link{{Key: key(1), ID: spanID(2), Parent: spanID(2)}}
				if sameRequest {
					r.Links = links
				}
				l.admit(r)
				if !sameRequest {
					l.admit(Request{Links: links})
				}
				pass(2 * idle)
				if e := wantOne(t, d, 0, Idle); !e.Complete || e.Items != 2 {
					t.Errorf("unexpected emission %+v", e)
				}
				if s := l.Stats(); s.MemoryBytes != 0 || s.HeldBytes != 0 {
					t.Errorf("%+v", s)
				}
				l.park()
			})
		})
	}
}

func TestLateSpanThatLeavesMemoryIsEmittedWithTheCountOfTheWholeTrace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{}
		l := begin(t, shortMemory(d), t.TempDir(), spool.Options{})
		l.admit(evidence(1, node{id: 1, run: true}, node{id: 2, parent: 1}))
		pass(2 * quiet)
		wantOne(t, d, 0, RootEnded)
		l.admit(evidence(1, node{id: 3, parent: 2}))
		l.evictAll(100)
		l.admit(evidence(1, node{id: 3, parent: 2}, node{id: 4, parent: 2}))
		pass(2 * quiet)
		if e := wantOne(t, d, 1, RootEnded); e.Held != 2 || e.Items != 4 || !e.Complete {
			t.Errorf("unexpected emission: held %d, items %d, complete %t", e.Held, e.Items, e.Complete)
		}
		l.park()
	})
}

func TestTraceThatIsOpenedAgainBeforeItWasReadBackCountsAllItsSpans(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{gate: make(chan struct{})}
		o := shortMemory(d)
		o.EmitConcurrency = 1
		l := begin(t, o, t.TempDir(), spool.Options{})
		l.admit(evidence(50, node{id: 1, run: true})) // keeps the worker busy
		pass(2 * quiet)
		l.admit(evidence(1, node{id: 1, run: true}, node{id: 2, parent: 1}))
		l.evictAll(100)
		pass(2 * quiet)
		l.admit(evidence(1, node{id: 3, parent: 1}, node{id: 4, parent: 1}))
		close(d.gate)
		pass(2 * idle)
		items := []int{}
		for _, e := range d.emissions() {
			if e.Key == key(1) {
				items = append(items, e.Items)
			}
		}
		if len(items) != 2 || items[0] != 2 || items[1] != 4 {
			t.Errorf("emissions say %d items, want 2 and 4", items)
		}
		l.park()
	})
}

func TestNonAgentSpansThatTellNothingLeaveNothingBehind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{}
		var log *spool.Log
		o := options(d)
		dir := t.TempDir()
		o.Park = true
		o.OpenSpool = func(recovered func(spool.Held) error) (_ Spool, err error) {
			log, err = spool.Open(dir, spool.Options{}, recovered)
			return log, err
		}
		a := New(o)
		if err := a.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		admit(t, a, evidence(1, node{id: 3, parent: 2}))
		for i := range byte(100) {
			admit(t, a, Request{Links: []Link{{Key: key(1), ID: spanID(100 + i), Parent: spanID(99)}}})
		}
		if s := log.Stats(); s.Held != 1 {
			t.Errorf("%d records are held", s.Held)
		}
		if err := a.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func TestStoreThatIsDownKeepsNoMemory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var down atomic.Bool
		down.Store(true)
		d := &downstream{fail: func(int, *Emission) error {
			if down.Load() {
				return errStore
			}
			return nil
		}}
		o := options(d)
		o.MaxBytes, o.EmitConcurrency = 32_000, 16
		l := begin(t, o, t.TempDir(), spool.Options{})
		for i := byte(1); i <= 100; i++ {
			l.admit(evidence(i, node{id: 1, run: true}, node{id: 2, parent: 1}))
			pass(2 * quiet)
		}
		if s := l.Stats(); s.Held != 200 || s.MemoryBytes > o.maxWaiting() || s.RefusedFull != 0 {
			t.Errorf("%+v", s)
		}
		down.Store(false)
		pass(2 * o.MaxBackoff)
		if got := len(d.emissions()); got != 100 {
			t.Errorf("%d emissions, want 100", got)
		}
		if s := l.Stats(); s.MemoryBytes != 0 {
			t.Errorf("%+v", s)
		}
		l.park()
	})
}

func TestLargeRunsThatFailDoNotHoldUpThoseThatAreReadBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{fail: func(_ int, e *Emission) error {
			if e.Held > 1 {
				return errStore
			}
			return nil
		}}
		o := options(d)
		o.MaxBytes, o.EmitConcurrency, o.MaxBackoff = 16_000, 2, idle
		l := begin(t, o, t.TempDir(), spool.Options{})
		l.admit(evidence(1, node{id: 1}, node{id: 2, parent: 1}, node{id: 3, parent: 1}))
		l.admit(evidence(2, node{id: 1}))
		l.park()
		l = begin(t, o, l.dir, spool.Options{})
		pass(quiet * 3)
		if e := wantOne(t, d, 0, RootEnded); e.Key != key(2) {
			t.Errorf("unexpected emission %+v", e)
		}
		l.park()
	})
}

func TestTraceThatCouldNotBeReadBackWithinTheBoundLeavesInParts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{}
		o := options(d)
		o.MaxBytes, o.MaxTraceBytes = 40_000, 40_000
		l := begin(t, o, t.TempDir(), spool.Options{})
		for i := range byte(20) {
			l.admit(evidence(1, node{id: i + 2, parent: 1}))
		}
		got := d.emissions()
		if len(got) != 4 {
			t.Fatalf("%d emissions, want 4", len(got))
		}
		for _, e := range got {
			if e.Reason != Bytes || e.Held != 5 {
				t.Errorf("unexpected emission: %s, held %d", e.Reason, e.Held)
			}
		}
		l.park()
	})
}

// TestRunsOfAMegabyteStayWithinTheBoundAndComplete is 400 open runs of 1 MB each in an assembler that may hold 32 MiB.
func TestRunsOfAMegabyteStayWithinTheBoundAndComplete(t *testing.T) {
	const runs, parts, spansPerPart = 400, 8, 4
	id := func(run uint64) (id pcommon.TraceID) {
		binary.BigEndian.PutUint64(id[8:], run)
		return id
	}
	payload := strings.Repeat("a megabyte of messages ", (1<<20)/parts/spansPerPart/23)
	part := func(run uint64, part int) Request {
		f := TraceChunk{Key: Key{Tenant: "acme", TraceID: id(run)}, Traces: ptrace.NewTraces(), Items: spansPerPart}
		spans := f.Traces.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
		for i := range spansPerPart {
			s := spans.AppendEmpty()
			s.SetTraceID(f.Key.TraceID)
			// The root comes last.
			n := byte(parts*spansPerPart - part*spansPerPart - i)
			s.SetSpanID(spanID(n))
			if n > 1 {
				s.SetParentSpanID(spanID(n / 2))
			}
			f.RunSpan = f.RunSpan || n == 1
			s.Attributes().PutStr("gen_ai.input.messages", payload)
			f.Bytes += int64((&ptrace.ProtoMarshaler{}).SpanSize(s)) + ItemOverhead
		}
		f.Bytes += ChunkOverhead
		return Request{Chunks: []TraceChunk{f}}
	}
	bubble(t, func(t *testing.T) {
		d := &downstream{}
		o := options(d)
		o.MaxBytes, o.MaxTraceBytes = 32<<20, 4<<20
		spans := map[Key]int{}
		o.Emit = func(_ context.Context, e *Emission) error {
			d.mu.Lock()
			defer d.mu.Unlock()
			if !e.Complete || e.Reason != RootEnded || e.Held != parts*spansPerPart {
				t.Errorf("unexpected emission of %s: %s, held %d, complete %t", e.Key, e.Reason, e.Held, e.Complete)
			}
			spans[e.Key] += e.Traces.SpanCount()
			return nil
		}
		l := begin(t, o, t.TempDir(), spool.Options{Sync: spool.SyncNone})
		most := int64(0)
		for p := range parts {
			for run := range uint64(runs) {
				l.admit(part(run, p))
				most = max(most, l.Stats().MemoryBytes)
			}
			if p < parts-1 {
				if s := l.Stats(); s.OpenTraces != runs || len(spans) != 0 {
					t.Fatalf("%+v", s)
				}
			}
		}
		for range 20 {
			pass(quiet / 10)
			most = max(most, l.Stats().MemoryBytes)
		}
		pass(idle)
		synctest.Wait()
		if most > o.MaxBytes {
			t.Errorf("%d bytes were in memory, the bound is %d", most, o.MaxBytes)
		}
		if s := l.Stats(); len(spans) != runs || s.Emitted != runs*parts*spansPerPart || s.MemoryBytes != 0 || s.HeldBytes != 0 || s.RefusedFull != 0 {
			t.Errorf("%d runs, %+v", len(spans), s)
		}
		l.park()
	})
}
