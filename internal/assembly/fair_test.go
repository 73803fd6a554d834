// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/jonboulle/clockwork"
	"go.opentelemetry.io/collector/consumer/consumererror"
)

// queueRig drives an emitQueue without workers, one step after the other. Calls end in a random order.
type queueRig struct {
	*emitQueue
	t       *testing.T
	random  *rand.Rand
	time    *clockwork.FakeClock
	calls   [][]*Emission
	pushed  uint64
	respond func(es []*Emission) error
}

func newQueueRig(t *testing.T, seed uint64) *queueRig {
	r := &queueRig{t: t, random: rand.New(rand.NewPCG(seed, 1)), time: clockwork.NewFakeClock()}
	r.respond = func([]*Emission) error { return nil }
	o := options(nil)
	o.Clock, o.Emit = r.time, func(_ context.Context, e *Emission) error { return r.respond([]*Emission{e}) }
	r.emitQueue = New(o).emits
	return r
}

// bring pushes n emissions of a tenant.
func (r *queueRig) bring(tenant string, debris bool, n int) {
	for range n {
		r.pushed++
		k := Key{Tenant: tenant}
		binary.BigEndian.PutUint64(k.TraceID[8:], r.pushed)
		r.counters.accepted.Add(1)
		r.counters.held.Add(1)
		r.push(&Emission{Key: k, Held: 1, accepted: 1, bytes: 1000, debris: debris})
	}
}

// begin begins a call and returns what it holds, nothing if none may begin now.
func (r *queueRig) begin() []*Emission {
	if len(r.calls) == r.o.EmitConcurrency {
		r.end()
	}
	es := r.next(r.clock.now())
	if es != nil {
		r.calls = append(r.calls, es)
	}
	return es
}

// end ends one of the calls.
func (r *queueRig) end() {
	r.t.Helper()
	if len(r.calls) == 0 {
		return
	}
	i := r.random.IntN(len(r.calls))
	es := r.calls[i]
	r.calls = slices.Delete(r.calls, i, i+1)
	r.finish(r.t.Context(), es, r.attempt(r.t.Context(), es))
	n := 0
	for _, f := range r.flows {
		n += f.n
	}
	if c := r.counters.stats(); c.Accepted != c.Emitted+c.Held+c.DroppedPermanent || c.Waiting != c.Held || n != int(c.Held) {
		r.t.Fatalf("%d are in flows: %+v", n, c)
	}
}

// shares compares what flows get while they wait.
type shares struct {
	waiting map[flowKey]int
	served  map[[2]flowKey]int64 // what the first one got more than the second one, in turns, since both wait
}

func (s *shares) came(f flowKey, n int) { s.waiting[f] += n }

// took notes what left f, and returns the largest difference to a flow that waits too.
func (s *shares) took(f flowKey) (ahead int64) {
	s.waiting[f]--
	for g, n := range s.waiting {
		if g == f {
			continue
		}
		if n == 0 || s.waiting[f] == 0 {
			delete(s.served, [2]flowKey{f, g})
			delete(s.served, [2]flowKey{g, f})
			continue
		}
		s.served[[2]flowKey{f, g}] += f.stride()
		s.served[[2]flowKey{g, f}] -= f.stride()
		ahead = max(ahead, s.served[[2]flowKey{f, g}])
	}
	return ahead
}

// fairness is how many turns a flow may be ahead of another one: its own next one, that of the other one, and
// what is under way.
func (r *queueRig) fairness() int64 { return int64(2+r.o.EmitConcurrency) * strideDebris }

// serve begins calls until nothing may begin, or most did.
func (r *queueRig) serve(s *shares, most int) {
	r.t.Helper()
	for range most {
		es := r.begin()
		if es == nil {
			return
		}
		for _, e := range es {
			if ahead := s.took(e.flow.key); ahead > r.fairness() {
				r.t.Fatalf("%s, debris %t, is %d turns ahead of another flow", e.Key.Tenant, e.debris, ahead)
			}
		}
	}
}

func newShares() *shares {
	return &shares{waiting: map[flowKey]int{}, served: map[[2]flowKey]int64{}}
}

// bringTo is bring, and notes it.
func (r *queueRig) bringTo(s *shares, tenant string, debris bool, n int) {
	r.bring(tenant, debris, n)
	s.came(flowKey{(Key{Tenant: tenant}).kept().tenant, debris}, n)
}

func TestFlowsThatWaitShareTheWorkersByTheirStrides(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r, s := newQueueRig(t, seed), newShares()
			tenants := 2 + r.random.IntN(4)
			for range 200 {
				if r.random.IntN(3) > 0 {
					r.bringTo(s, fmt.Sprint("t", r.random.IntN(tenants)), r.random.IntN(2) == 0, 1+r.random.IntN(40))
				}
				r.serve(s, r.random.IntN(40))
			}
		})
	}
}

// An outage lets everything fail, and some of it again and again. What comes when half of it has gone out
// takes turns with the rest.
func TestFlowsShareTheWorkersAfterAnOutageToo(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r, s := newQueueRig(t, seed), newShares()
			r.respond = func([]*Emission) error { return errStore }
			r.bringTo(s, "a", true, 1000)
			r.bringTo(s, "a", false, 500)
			r.bringTo(s, "b", false, 500)
			for range 3000 {
				if r.begin() == nil {
					r.end()
					r.time.Advance(r.o.InitialBackoff)
				}
			}
			for len(r.calls) > 0 {
				r.end()
			}
			r.respond = func([]*Emission) error { return nil }
			r.time.Advance(2 * r.o.MaxBackoff)
			for range 8 { // probes
				r.begin()
				r.end()
				r.time.Advance(r.o.InitialBackoff)
			}
			for k := range s.waiting {
				s.waiting[k] = r.flows[k].n
			}
			r.serve(s, 600)
			r.bringTo(s, "c", false, 500)
			r.bringTo(s, "c", true, 500)
			r.serve(s, 10_000)
			for len(r.calls) > 0 {
				r.end()
			}
			if c := r.counters.stats(); c.Held != 0 || c.Failing != 0 || c.Parked != 0 {
				t.Errorf("%+v", c)
			}
		})
	}
}

// Whatever calls answer, and whoever shares them, each emission goes out or is dropped once, and all that is
// counted comes back to nothing.
func TestWhatCallsAnswerLosesAndDoublesNothing(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := newQueueRig(t, seed)
			done := map[Key]bool{}
			r.o.EmitBatch = func(_ context.Context, es []*Emission) error { return r.respond(es) }
			r.respond = func(es []*Emission) error {
				switch refused := slices.ContainsFunc(es, func(e *Emission) bool { return e.Key.TraceID[15]%16 == 0 }); {
				case r.random.IntN(4) == 0:
					return errStore
				case refused:
					return consumererror.NewPermanent(errors.New("no"))
				}
				for _, e := range es {
					if done[e.Key] {
						t.Errorf("%s went out twice", e.Key)
					}
					done[e.Key] = true
				}
				return nil
			}
			const all = 2000
			for r.pushed < all {
				r.bring(fmt.Sprint("t", r.random.IntN(4)), r.random.IntN(2) == 0, min(1+r.random.IntN(600), all-int(r.pushed)))
				for range r.random.IntN(50) {
					r.begin()
				}
				r.time.Advance(r.o.InitialBackoff)
			}
			for range 10_000 {
				if r.queued == 0 {
					break
				}
				if r.begin() == nil {
					r.end()
					r.time.Advance(r.o.InitialBackoff)
				}
			}
			for _, l := range r.classes() {
				if l.calls+l.working != 0 || l.workingBytes+l.inFlight != 0 {
					t.Errorf("%d calls, %d work, of %d and %d bytes", l.calls, l.working, l.inFlight, l.workingBytes)
				}
			}
			if n := r.retriesOut + r.suspectsOut + r.crashedOut + len(r.busy) + len(r.flows) + len(r.inFlight); n != 0 {
				t.Errorf("%d are counted still", n)
			}
			const refused = all / 16
			if c := r.counters.stats(); c.Emitted != all-refused || c.DroppedPermanent != refused || c.Held+c.Failing+c.Parked != 0 || len(done) != all-refused {
				t.Errorf("%d went out, %+v", len(done), c)
			}
		})
	}
}
