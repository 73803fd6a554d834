// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/collector/consumer/consumererror"
)

func TestFailedEmissionIsRepeatedUntilItSucceeds(t *testing.T) {
	d := &downstream{fail: func(call int, _ *Emission) error {
		if call <= 20 {
			return errStore
		}
		return nil
	}}
	run(t, options(d), func(m *Assembler) {
		admit(t, m, evidence(1, node{id: 1, run: true}))
		pass(30 * time.Second)
		if s := m.Stats(); s.Held != 1 || s.HeldBytes != 1000 || s.Emitted != 0 || s.Retries == 0 {
			t.Errorf("while the store is down: %+v", s)
		}
		pass(5 * time.Minute)
		wantOne(t, d, 0, RootEnded)
		if s := m.Stats(); s.Retries != 20 || s.Emitted != 1 {
			t.Errorf("after the store came back: %+v", s)
		}
	})
}

func TestPermanentErrorDropsAndCounts(t *testing.T) {
	d := &downstream{fail: func(int, *Emission) error { return consumererror.NewPermanent(errStore) }}
	run(t, options(d), func(m *Assembler) {
		admit(t, m, evidence(1, node{id: 1, run: true}))
		pass(2 * quiet)
		if s := m.Stats(); s.DroppedPermanent != 1 || s.Held != 0 || s.HeldBytes != 0 || s.Retries != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestEmissionsOfOneTraceGoOneAfterTheOther(t *testing.T) {
	d := &downstream{}
	run(t, options(d), func(m *Assembler) {
		gate := make(chan struct{})
		d.gate = gate
		admit(t, m, evidence(1, node{id: 1, run: true}))
		pass(2 * quiet)
		admit(t, m, evidence(1, node{id: 2, parent: 1}))
		pass(2 * quiet)
		gate <- struct{}{}
		synctest.Wait()
		wantOne(t, d, 0, RootEnded)
		close(gate)
		synctest.Wait()
		if e := wantOne(t, d, 1, RootEnded); e.Items != 2 {
			t.Errorf("%d items, want 2", e.Items)
		}
	})
}

func TestShutdownEmitsInOrderOfArrival(t *testing.T) {
	d := &downstream{}
	o := options(d)
	o.EmitConcurrency = 1
	synctest.Test(t, func(t *testing.T) {
		m := New(o)
		if err := m.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := byte(1); i <= 50; i++ {
			admit(t, m, evidence(i, node{id: 2, parent: 1}))
		}
		if err := m.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
		for i, e := range d.emissions() {
			if e.Key != key(byte(i+1)) || e.Reason != Shutdown {
				t.Fatalf("emission %d is %s for %s", i, e.Key, e.Reason)
			}
		}
		if s := m.Stats(); s.Emitted != 50 || s.Held != 0 {
			t.Errorf("%+v", s)
		}
		if err := tryAdmit(m, evidence(1, node{id: 1})); !errors.Is(err, ErrClosed) {
			t.Errorf("admission after shutdown: %v", err)
		}
	})
}

func TestShutdownThatRunsOutOfTimeCountsWhatIsLost(t *testing.T) {
	d := &downstream{fail: func(int, *Emission) error { return errStore }}
	synctest.Test(t, func(t *testing.T) {
		m := New(options(d))
		if err := m.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i := byte(1); i <= 50; i++ {
			admit(t, m, evidence(i, node{id: 2, parent: 1}))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := m.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("unexpected error %v", err)
		}
		conserved(t, m)
		if s := m.Stats(); s.DroppedShutdown != 50 || s.HeldBytes != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestShutdownEndsThePauseBetweenAttempts(t *testing.T) {
	down := true
	d := &downstream{fail: func(int, *Emission) error {
		if down {
			return errStore
		}
		return nil
	}}
	o := options(d)
	o.InitialBackoff, o.MaxBackoff = time.Hour, time.Hour
	synctest.Test(t, func(t *testing.T) {
		m := New(o)
		if err := m.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		admit(t, m, evidence(1, node{id: 1, run: true}))
		pass(2 * quiet)
		down = false
		begin := time.Now()
		if err := m.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begin); d > time.Second {
			t.Errorf("shutdown waited %s", d)
		}
		wantOne(t, d, 0, RootEnded)
	})
}

func TestShutdownWithoutStartIsHarmless(t *testing.T) {
	m := New(options(&downstream{}))
	if err := m.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestNothingIsLostWhateverHappens admits random requests while the next component fails at random, and shuts down at a random moment.
func TestNothingIsLostWhateverHappens(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			fails := rand.New(rand.NewPCG(seed, 2))
			back := false // at shutdown the store answers: whoever fails a third of all calls fails five in a row now and then, which takes longer than a shutdown may
			d := &downstream{idle: seed%2 == 1, fail: func(int, *Emission) error {
				if fails.IntN(3) == 0 && !back {
					return errStore
				}
				return nil
			}}
			o := options(d)
			o.MaxTraceSpans, o.MaxTraces, o.MaxBytes = 2+rnd.IntN(20), 1+rnd.IntN(10), int64(5000+rnd.IntN(50_000))
			admitted := 0
			run(t, o, func(m *Assembler) {
				next := map[byte]byte{}
				for range 200 {
					var r Request
					items := 0
					for _, trace := range rnd.Perm(12)[:1+rnd.IntN(4)] {
						var nodes []node
						for range 1 + rnd.IntN(4) {
							next[byte(trace)]++
							id := next[byte(trace)]
							nodes = append(nodes, node{id: id, parent: byte(rnd.IntN(int(id))), run: rnd.IntN(9) == 0, payload: fmt.Sprint(items)})
							items++
						}
						r.Chunks = append(r.Chunks, chunk(byte(trace), nodes...))
					}
					if tryAdmit(m, r) == nil {
						admitted += items
					}
					pass(time.Duration(rnd.IntN(3000)) * time.Millisecond)
					if s := m.Stats(); s.MemoryBytes > o.MaxBytes {
						t.Fatalf("%d bytes are in memory, the bound is %d", s.MemoryBytes, o.MaxBytes)
					}
				}
				d.mu.Lock()
				back = true
				d.mu.Unlock()
			})
			emitted := 0
			for _, e := range d.emissions() {
				emitted += e.Traces.SpanCount()
			}
			if emitted != admitted {
				t.Errorf("%d spans came out, %d were admitted", emitted, admitted)
			}
		})
	}
}
