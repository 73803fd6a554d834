// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/tapedeck/tapedeck/internal/assembly/spool"
)

func TestTraceIsLookedAtOnceAndNotBeforeItsDeadline(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 3))
			const tick = 10 * time.Millisecond
			w := newWheel(tick)
			due := map[*openTrace]int64{}
			now := int64(0)
			for range 2000 {
				tr := &openTrace{}
				for range 1 + rnd.IntN(3) {
					// Later deadlines may wait for the old slot, earlier ones must not.
					due[tr] = now + rnd.Int64N(int64(2*wheelSlots*tick))
					w.schedule(tr, due[tr])
				}
				if rnd.IntN(4) == 0 {
					w.remove(tr)
					delete(due, tr)
				}
				now += rnd.Int64N(int64(3 * tick))
				if rnd.IntN(500) == 0 {
					now += int64(2 * wheelSlots * tick)
				}
				w.advance(now, func(tr *openTrace) {
					at, waits := due[tr]
					switch {
					case !waits:
						t.Fatal("a trace is looked at that does not wait")
					case at > now:
						w.schedule(tr, at)
					default:
						delete(due, tr)
					}
				})
				for _, at := range due {
					if at < now-int64(tick) {
						t.Fatalf("a deadline passed %s ago", time.Duration(now-at))
					}
				}
			}
			w.advance(now+int64(3*wheelSlots*tick), func(tr *openTrace) { delete(due, tr) })
			for i := range w.slots {
				if w.slots[i].front != nil || w.slots[i].back != nil {
					t.Errorf("something is left in slot %d", i)
				}
			}
			if len(due) > 0 {
				t.Errorf("%d traces were never looked at", len(due))
			}
		})
	}
}

// setClock is a wall clock that somebody sets; time goes on as before.
type setClock struct {
	clockwork.Clock
	by atomic.Int64
}

func (c *setClock) Now() time.Time { return c.Clock.Now().Add(time.Duration(c.by.Load())) }

func TestClockThatIsSetEndsNoTraceEarlyOrLate(t *testing.T) {
	for _, by := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		d := &downstream{}
		o := options(d)
		clock := &setClock{Clock: clockwork.NewRealClock()}
		o.Clock = clock
		run(t, o, func(m *Assembler) {
			admit(t, m, evidence(1, node{id: 1, run: true}))
			admit(t, m, evidence(2, node{id: 2, parent: 1}))
			clock.by.Store(int64(by))
			pass(quiet / 2)
			wantNone(t, d, 0)
			admit(t, m, evidence(3, node{id: 1, run: true}))
			pass(quiet * 3 / 4)
			if e := wantOne(t, d, 0, RootEnded); e.Key != key(1) {
				t.Errorf("set by %s: %s left", by, e.Key)
			}
			pass(idle)
			if got := len(d.emissions()); got != 3 {
				t.Errorf("set by %s: %d emissions, want 3", by, got)
			}
		})
	}
}

func TestRecordsOfAClockThatWasAheadOrBehindAreTakenUp(t *testing.T) {
	for _, by := range []time.Duration{-1000 * time.Hour, 1000 * time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				d := &downstream{}
				o := options(d)
				clock := &setClock{Clock: clockwork.NewRealClock()}
				clock.by.Store(int64(by))
				o.Clock = clock
				l := begin(t, o, t.TempDir(), spool.Options{})
				l.admit(evidence(1, node{id: 2, parent: 1}))
				l.park()
				l = begin(t, options(d), l.dir, spool.Options{})
				pass(quiet / 2)
				wantNone(t, d, 0)
				pass(age)
				if got := len(d.emissions()); got != 1 {
					t.Errorf("%d emissions, want 1", got)
				}
				l.park()
			})
		})
	}
}

func TestTimeThatOpeningTheSpoolTakesIsNoSilence(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{}
		l := begin(t, options(d), t.TempDir(), spool.Options{})
		l.admit(evidence(1, node{id: 1, run: true}))
		l.park()
		o := options(d)
		o.Park = true
		o.OpenSpool = func(recovered func(spool.Held) error) (Spool, error) {
			log, err := spool.Open(l.dir, spool.Options{}, recovered)
			time.Sleep(2 * idle) // of the bubble's clock
			return log, err
		}
		a := New(o)
		if err := a.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		pass(quiet / 2)
		wantNone(t, d, 0)
		pass(quiet)
		wantOne(t, d, 0, RootEnded)
		if err := a.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
