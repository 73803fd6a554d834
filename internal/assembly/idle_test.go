// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/tapedeck/tapedeck/internal/assembly/spool"
)

// gathering is a next component that answers its calls together, as a group commit does.
type gathering struct {
	downstream
	waiting, working, mostWorking atomic.Int64
	begin                         chan struct{} // each call works until it may go on
	answer                        chan error    // closed, or an answer for each call
}

func (g *gathering) emit(ctx context.Context, e *Emission) error {
	n := g.working.Add(1)
	g.mostWorking.Store(max(n, g.mostWorking.Load()))
	if g.begin != nil {
		<-g.begin
	}
	g.working.Add(-1)
	e.Idle()
	g.waiting.Add(1)
	defer g.waiting.Add(-1)
	select {
	case err := <-g.answer:
		if err != nil {
			return err
		}
		return g.downstream.emit(ctx, e)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// starts are an assembler with a spool and one without.
func starts(t *testing.T, body func(t *testing.T, o Options, start func(Options) *Assembler)) {
	t.Helper()
	for name, spooled := range map[string]bool{"memory": false, "spool": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				body(t, options(&downstream{}), func(o Options) *Assembler {
					if spooled {
						return begin(t, o, t.TempDir(), spool.Options{}).Assembler
					}
					a := New(o)
					if err := a.Start(t.Context()); err != nil {
						t.Fatal(err)
					}
					return a
				})
			})
		})
	}
}

func TestCallsThatOnlyWaitAreBoundedByBytesAndNotByTheirNumber(t *testing.T) {
	starts(t, func(t *testing.T, o Options, start func(Options) *Assembler) {
		g := &gathering{begin: make(chan struct{}), answer: make(chan error)}
		o.Emit, o.EmitConcurrency, o.MaxBytes = g.emit, 3, 16<<20
		a := start(o)
		const all = 250
		for i := range byte(all) {
			admit(t, a, evidence(i+1, node{id: 1, run: true}))
		}
		pass(2 * quiet)
		if n := g.working.Load(); n != 3 {
			t.Errorf("%d calls work, want 3", n)
		}
		close(g.begin)
		pass(quiet)
		// Each counts with its evidence, if the spool has it, and what a call takes. The bound is 2 MiB.
		n := g.waiting.Load()
		if bound := o.maxLoaded(); n*idleOverhead > bound+3*idleOverhead || n*(idleOverhead+1000) < bound-idleOverhead {
			t.Errorf("%d calls are on their way", n)
		}
		if g.mostWorking.Load() != 3 {
			t.Errorf("%d calls worked at once", g.mostWorking.Load())
		}
		close(g.answer)
		pass(quiet)
		if got := len(g.emissions()); got != all {
			t.Errorf("%d of %d were passed on", got, all)
		}
		if err := a.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		conserved(t, a)
	})
}

// One object that fails fails all that share it. They are tried again together, and are nobody's fault.
func TestTracesThatFailTogetherAreTriedTogether(t *testing.T) {
	starts(t, func(t *testing.T, o Options, start func(Options) *Assembler) {
		g := &gathering{answer: make(chan error)}
		o.Emit, o.EmitConcurrency = g.emit, 4
		a := start(o)
		admit(t, a, evidence(250, node{id: 1, run: true}))
		for i := range byte(100) {
			admit(t, a, evidence(i+1, node{id: 1, run: true}))
		}
		pass(2 * quiet)
		g.answer <- nil // one succeeds, so the others are suspects
		for range 100 {
			g.answer <- errStore
		}
		pass(2 * o.InitialBackoff)
		g.answer <- nil // so it was no outage
		pass(2 * o.InitialBackoff)
		if n := g.waiting.Load(); n != 99 {
			t.Errorf("%d of 99 are on their way again", n)
		}
		close(g.answer)
		pass(quiet)
		if s := a.Stats(); s.Held != 0 || s.Failing != 0 || s.Parked != 0 {
			t.Errorf("%+v", s)
		}
		if err := a.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A process that is killed while thousands wait for an object: none of them is what killed it.
func TestAnIdleCallIsNotInFlightWhenAProcessIsKilled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dir, o := t.TempDir(), options(nil)
		for range 3 {
			g := &gathering{answer: make(chan error)}
			o.Emit = g.emit
			l := begin(t, o, dir, spool.Options{})
			if l.Stats().Recovered == 0 {
				for i := range byte(50) {
					l.admit(evidence(i+1, node{id: 1, run: true}))
				}
			}
			pass(2 * quiet)
			if n := g.waiting.Load(); n != 50 {
				t.Errorf("%d of 50 are on their way", n)
			}
			dir = l.crash()
		}
		d := &downstream{}
		o.Emit = d.emit
		l := begin(t, o, dir, spool.Options{})
		pass(2 * quiet)
		if got := len(d.emissions()); got != 50 || l.Stats().Parked != 0 {
			t.Errorf("%d of 50 came out, %d are parked", got, l.Stats().Parked)
		}
		l.park()
	})
}

// What breaks a process before it waits is found out as before.
func TestACallThatWorksIsInFlightWhenAProcessIsKilled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		dir, o := t.TempDir(), options(nil)
		for range 2 {
			g := &gathering{begin: make(chan struct{}), answer: make(chan error)}
			o.Emit = g.emit
			l := begin(t, o, dir, spool.Options{})
			if l.Stats().Recovered == 0 {
				l.admit(evidence(1, node{id: 1, run: true}))
			}
			pass(idle)
			if n := g.working.Load(); n != 1 {
				t.Fatalf("%d calls work", n)
			}
			after := copyDir(t, l.dir)
			close(g.begin)
			close(g.answer)
			l.park()
			dir = after
		}
		g := &gathering{answer: make(chan error)}
		o.Emit = g.emit
		l := begin(t, o, dir, spool.Options{})
		if l.Stats().Parked != 1 {
			t.Errorf("%+v", l.Stats())
		}
		pass(o.MaxBackoff)
		close(g.answer)
		l.park()
	})
}
