// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/assembly/spool"
)

// TestNothingIsLostOverRestarts admits random requests, repetitions and links among them, while memory is short and the next
// component fails at random; ends in parking or a crash at a random moment, and goes on.
func TestNothingIsLostOverRestarts(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				rnd := rand.New(rand.NewPCG(seed, 4))
				fails := rand.New(rand.NewPCG(seed, 5))
				var up atomic.Bool
				d := &downstream{idle: seed%2 == 1, fail: func(int, *Emission) error {
					if !up.Load() && fails.IntN(3) == 0 {
						return errStore
					}
					return nil
				}}
				o := options(d)
				o.MaxTraceSpans, o.MaxTraces, o.MaxBytes = 2+rnd.IntN(30), 2+rnd.IntN(12), int64(16_000+rnd.IntN(50_000))
				so := spool.Options{Sync: spool.SyncNone, SegmentBytes: 64 << 10}
				type span struct {
					trace, id byte
					payload   string
				}
				admitted := map[span]bool{}
				var sent []Request
				l := begin(t, o, t.TempDir(), so)
				next := map[byte]byte{}
				for step := range 150 {
					var r Request
					var spans []span
					for _, trace := range rnd.Perm(12)[:rnd.IntN(4)] {
						tr := byte(trace)
						var nodes []node
						for range 1 + rnd.IntN(4) {
							id := byte(rnd.IntN(int(next[tr]) + 1))
							if rnd.IntN(5) > 0 && next[tr] < 200 {
								next[tr]++
								id = next[tr]
							}
							n := node{id: id, parent: byte(rnd.IntN(int(next[tr]) + 2)), run: rnd.IntN(9) == 0, payload: fmt.Sprint(step)}
							nodes = append(nodes, n)
							spans = append(spans, span{tr, n.id, n.payload})
						}
						r.Chunks = append(r.Chunks, chunk(tr, nodes...))
					}
					for range rnd.IntN(3) {
						tr := byte(rnd.IntN(12))
						r.Links = append(r.Links, Link{key(tr), spanID(byte(rnd.IntN(20))), spanID(byte(rnd.IntN(20) + 1)), false})
					}
					again := cloneRequest(r)
					if tryAdmit(l.Assembler, r) == nil {
						for _, s := range spans {
							admitted[s] = true
						}
						sent = append(sent, again)
					}
					if len(sent) > 0 && rnd.IntN(4) == 0 {
						_ = tryAdmit(l.Assembler, cloneRequest(sent[rnd.IntN(len(sent))]))
					}
					pass(time.Duration(rnd.IntN(3000)) * time.Millisecond)
					sound(t, l.Assembler)
					if s := l.Stats(); s.MemoryBytes > o.MaxBytes {
						t.Fatalf("%d bytes are in memory, the bound is %d", s.MemoryBytes, o.MaxBytes)
					}
					switch rnd.IntN(30) {
					case 0:
						l.park()
						l = begin(t, o, l.dir, so)
					case 1:
						l = begin(t, o, l.crash(), so)
					}
				}
				up.Store(true)
				pass(2*idle + age)
				sound(t, l.Assembler)
				if s := l.Stats(); s.Held != 0 || s.HeldBytes != 0 || s.MemoryBytes != 0 || s.OpenTraces != 0 {
					t.Errorf("something is left: %+v", s)
				}
				l.park()
				emitted := map[span]bool{}
				for _, e := range d.emissions() {
					if e.Items < 1 || e.Held < 1 {
						t.Errorf("emission of %s: %d items, %d held", e.Key, e.Items, e.Held)
					}
					for _, rs := range e.Traces.ResourceSpans().All() {
						for _, ss := range rs.ScopeSpans().All() {
							for _, s := range ss.Spans().All() {
								trace, id := s.TraceID(), s.SpanID()
								emitted[span{trace[15], id[7], s.Name()}] = true
							}
						}
					}
				}
				if !reflect.DeepEqual(emitted, admitted) {
					t.Errorf("%d different spans came out, %d were admitted", len(emitted), len(admitted))
				}
				l = begin(t, o, l.dir, so)
				if s := l.Stats(); s.Recovered != 0 {
					t.Errorf("%d items came back", s.Recovered)
				}
				l.park()
			})
		})
	}
}

func cloneRequest(r Request) Request {
	c := Request{Links: append([]Link(nil), r.Links...)}
	for _, f := range r.Chunks {
		td := ptrace.NewTraces()
		f.Traces.CopyTo(td)
		f.Traces = td
		c.Chunks = append(c.Chunks, f)
	}
	return c
}

// sound checks that counters count and that none went below zero.
func sound(t *testing.T, a *Assembler) {
	t.Helper()
	conserved(t, a)
	s := reflect.ValueOf(a.Stats())
	for i := range s.NumField() {
		if f := s.Field(i); f.CanInt() && f.Int() < 0 {
			t.Errorf("%s is %d", s.Type().Field(i).Name, f.Int())
		}
	}
}

func TestEmissionThatIsRefusedForGoodAfterItWasReadBackIsCounted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{fail: func(call int, _ *Emission) error {
			if call < 3 {
				return errStore
			}
			return consumererror.NewPermanent(errStore)
		}}
		l := begin(t, options(d), t.TempDir(), spool.Options{})
		l.admit(evidence(1, node{id: 1, run: true}, node{id: 2, parent: 1}))
		l.admit(evidence(1, node{id: 2, parent: 1}))
		pass(idle)
		sound(t, l.Assembler)
		if s := l.Stats(); s.DroppedPermanent != 2 || s.Duplicates != 1 || s.Held != 0 || s.MemoryBytes != 0 {
			t.Errorf("%+v", s)
		}
		l.park()
	})
}

func TestEmissionThatOutlivesShutdownComesAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{}
		o := options(d)
		deaf := make(chan struct{})
		o.Emit = func(_ context.Context, e *Emission) error {
			<-deaf // whatever the context says
			return d.emit(context.Background(), e)
		}
		l := begin(t, o, t.TempDir(), spool.Options{})
		l.admit(evidence(1, node{id: 1, run: true}))
		pass(2 * quiet)
		l.park()
		close(deaf)
		pass(time.Second)
		if s := l.Stats(); s.Emitted != 1 || s.ReleaseErrors != 1 {
			t.Errorf("%+v", s)
		}
		sound(t, l.Assembler)
		l = begin(t, options(d), l.dir, spool.Options{})
		pass(2 * quiet)
		if got := len(d.emissions()); got != 2 {
			t.Errorf("%d emissions, want 2", got)
		}
		l.park()
	})
}

func TestOneGiantRunLeavesRoomForTheOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{}
		gate := make(chan struct{})
		o := options(d)
		o.MaxBytes, o.EmitConcurrency = 64_000, 2
		o.Emit = func(ctx context.Context, e *Emission) error {
			if e.Key == key(1) {
				<-gate
			}
			return d.emit(ctx, e)
		}
		l := begin(t, o, t.TempDir(), spool.Options{})
		// Parts of the giant wait behind one another and take one worker.
		for i := range byte(200) {
			l.admit(evidence(1, node{id: i + 2, parent: 1}))
		}
		for i := byte(2); i < 100; i++ {
			l.admit(evidence(i, node{id: 1, run: true}, node{id: 2, parent: 1}))
		}
		pass(2 * quiet)
		if got := len(d.emissions()); got != 98 {
			t.Errorf("%d emissions, want 98", got)
		}
		if s := l.Stats(); s.MemoryBytes > o.MaxBytes/2 || s.RefusedFull != 0 {
			t.Errorf("%+v", s)
		}
		close(gate)
		pass(idle)
		held := 0
		for _, e := range d.emissions() {
			if e.Key == key(1) {
				held += e.Held
			}
		}
		if held != 200 {
			t.Errorf("%d spans of the giant came out", held)
		}
		l.park()
	})
}
