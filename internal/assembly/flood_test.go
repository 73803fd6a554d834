// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/assembly/spool"
)

// of is a request with the spans of one trace of a tenant. Traces are numbered beyond a byte here.
func of(tenant string, trace int, nodes ...node) Request {
	r := evidence(1, nodes...)
	k := Key{Tenant: tenant, TraceID: pcommon.TraceID{0: 1}}
	binary.BigEndian.PutUint64(k.TraceID[8:], uint64(trace))
	c := &r.Chunks[0]
	c.Key = k
	for _, rs := range c.Traces.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				span.SetTraceID(k.TraceID)
			}
		}
	}
	return r
}

// The spans of a trace that never has a root, and of one that is complete.
var (
	orphan = []node{{id: 2, parent: 1}}
	whole  = []node{{id: 1, run: true}, {id: 2, parent: 1}}
)

// together is one request with many traces.
func together(tenant string, first, n int, nodes []node) (r Request) {
	for i := range n {
		r.Chunks = append(r.Chunks, of(tenant, first+i, nodes...).Chunks...)
	}
	return r
}

// slow is a next component that takes one call at a time, and remembers the keys of each.
type slow struct {
	gate  chan struct{}
	fail  func(es []*Emission) error
	mu    sync.Mutex
	calls [][]Key
}

func (s *slow) batch(ctx context.Context, es []*Emission) error {
	select {
	case <-s.gate:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []Key
	for _, e := range es {
		keys = append(keys, e.Key)
	}
	s.calls = append(s.calls, keys)
	if s.fail != nil {
		return s.fail(es)
	}
	return nil
}

func (s *slow) one(ctx context.Context, e *Emission) error { return s.batch(ctx, []*Emission{e}) }

func (s *slow) taken() [][]Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// let lets n calls through.
func (s *slow) let(n int) {
	for range n {
		s.gate <- struct{}{}
		synctest.Wait()
	}
}

// flooded are options with one worker, one shard and few open traces.
func flooded(s *slow) Options {
	o := options(nil)
	o.Emit, o.EmitConcurrency, o.Shards, o.MaxTraces = s.one, 1, 1, 10
	return o
}

func TestWhatWaitsForEmissionIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &slow{gate: make(chan struct{})}
		l := begin(t, flooded(s), t.TempDir(), spool.Options{})
		refused := 0
		for i := range 200 {
			err := tryAdmit(l.Assembler, together("a", 10*i, 3, orphan))
			synctest.Wait()
			if err != nil {
				refused++
				if !errors.Is(err, ErrFull) || consumererror.IsPermanent(err) {
					t.Fatal(err)
				}
			}
		}
		// Ten are open, and half of forty wait.
		if st := l.Stats(); st.OpenTraces != 10 || st.Waiting > 20 || st.Waiting < 15 || st.RefusedBacklog != int64(refused) || refused < 180 || st.Accepted != 3*int64(200-refused) {
			t.Errorf("%d refused, %+v", refused, st)
		}
		conserved(t, l.Assembler)
		// Who brings little finds the room that one emission leaves, and who brings much does not.
		for tryAdmit(l.Assembler, of("a", 9000+refused, orphan...)) == nil {
			refused++
			synctest.Wait()
		}
		s.let(1)
		if tryAdmit(l.Assembler, together("a", 10_000, 3, orphan)) == nil {
			t.Error("a request with three traces found room for one")
		}
		if err := tryAdmit(l.Assembler, of("a", 10_100, orphan...)); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		// Another tenant does not feel it.
		for i := range 10 {
			if err := tryAdmit(l.Assembler, of("b", i, whole...)); err != nil {
				t.Errorf("run %d of another tenant: %v", i, err)
			}
			synctest.Wait()
		}
		// What waits goes out, and requests are taken again.
		close(s.gate)
		pass(quiet)
		if err := tryAdmit(l.Assembler, together("a", 20_000, 10, orphan)); err != nil {
			t.Error(err)
		}
		pass(2 * idle)
		if st := l.Stats(); st.Held != 0 || st.Waiting != 0 || len(l.emits.flows) != 0 || len(l.emits.busy) != 0 {
			t.Errorf("%+v", st)
		}
		l.park()
	})
}

func TestARequestThatBringsMoreTracesThanMayWaitIsTakenWhenNothingWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &slow{gate: make(chan struct{})}
		l := begin(t, flooded(s), t.TempDir(), spool.Options{})
		l.admit(together("a", 0, 100, orphan))
		if err := tryAdmit(l.Assembler, of("b", 1, orphan...)); !errors.Is(err, ErrFull) {
			t.Error(err)
		}
		close(s.gate)
		pass(2 * idle)
		if st := l.Stats(); st.Emitted != 100 {
			t.Errorf("%+v", st)
		}
		l.park()
	})
}

// A spool may hold more than may wait: the bound was larger, or what was open then waits now. All of it is
// taken up, and nobody brings more until it has gone out.
func TestWhatARestartFindsBeyondTheBoundGoesOutBeforeMoreIsTaken(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &slow{gate: make(chan struct{})}
		o := flooded(s)
		o.MaxTraces = 1000
		l := begin(t, o, t.TempDir(), spool.Options{})
		l.admit(together("a", 0, 500, orphan))
		l.park()
		l = begin(t, flooded(s), l.dir, spool.Options{})
		synctest.Wait()
		if st := l.Stats(); st.Recovered != 500 || st.OpenTraces != 10 || st.Waiting != 490 {
			t.Fatalf("%+v", st)
		}
		for range 451 {
			if err := tryAdmit(l.Assembler, of("b", 1, whole...)); !errors.Is(err, ErrFull) {
				t.Fatal(err)
			}
			s.let(1)
		}
		l.admit(of("b", 1, whole...))
		s.let(1)
		pass(2 * quiet)
		s.let(2)
		if n := position(t, s, keyOf("b", 1)); n > 454 {
			t.Errorf("%d emissions went out before it", n)
		}
		close(s.gate)
		pass(2 * idle)
		if st := l.Stats(); st.Held != 0 || st.Emitted != 502 {
			t.Errorf("%+v", st)
		}
		l.park()
	})
}

// position is how many emissions went out before that of a key.
func position(t *testing.T, s *slow, k Key) int {
	t.Helper()
	n := 0
	for _, call := range s.taken() {
		if i := slices.Index(call, k); i >= 0 {
			return n + i
		}
		n += len(call)
	}
	t.Errorf("%s has not come", k)
	return 0
}

func keyOf(tenant string, trace int) Key { return of(tenant, trace, orphan...).Chunks[0].Key }

func TestACompleteRunDoesNotWaitForDebris(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint("restart ", restart), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &slow{gate: make(chan struct{})}
				o := flooded(s)
				o.MaxTraces = 1000
				l := begin(t, o, t.TempDir(), spool.Options{})
				l.admit(together("a", 0, 1000, orphan))
				pass(2 * idle) // they have timed out
				if restart {
					l.park()
					l = begin(t, o, l.dir, spool.Options{})
					pass(2 * idle)
				}
				s.let(10)
				if st := l.Stats(); st.Waiting != 990 {
					t.Fatalf("%+v", st)
				}
				l.admit(of("a", 5000, whole...))
				pass(2 * quiet)
				s.let(3)
				// One call was under way when it came.
				if n := position(t, s, keyOf("a", 5000)); n > 11 {
					t.Errorf("%d emissions went out before it", n)
				}
				close(s.gate)
				pass(quiet)
				if st := l.Stats(); st.Held != 0 {
					t.Errorf("%+v", st)
				}
				l.park()
			})
		})
	}
}

// A restart finds the runs of the last process in the spool, and a run that was whole there is not behind the
// debris.
func TestACompleteRunOfTheLastProcessDoesNotWaitForItsDebris(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &slow{gate: make(chan struct{})}
		o := flooded(s)
		o.MaxTraces = 1000
		l := begin(t, o, t.TempDir(), spool.Options{})
		l.admit(together("a", 0, 500, orphan))
		pass(2 * idle)
		l.admit(of("a", 5000, whole...))
		pass(2 * quiet)
		l.park()
		l = begin(t, o, l.dir, spool.Options{})
		pass(quiet)
		// The one that was in flight comes last: it may be what ended the last process.
		s.let(5)
		if n := position(t, s, keyOf("a", 5000)); n > 3 {
			t.Errorf("%d emissions went out before it", n)
		}
		close(s.gate)
		pass(o.MaxBackoff)
		l.park()
	})
}

func TestATenantDoesNotWaitForTheBacklogOfAnother(t *testing.T) {
	for name, nodes := range map[string][]node{"debris": orphan, "complete": whole} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &slow{gate: make(chan struct{})}
				o := flooded(s)
				o.MaxTraces = 1000
				l := begin(t, o, t.TempDir(), spool.Options{})
				l.admit(together("a", 0, 900, nodes))
				pass(2 * idle)
				l.admit(together("b", 0, 20, nodes))
				pass(2 * idle)
				s.let(60)
				n := map[string]int{}
				for _, call := range s.taken() {
					n[call[0].Tenant]++
				}
				if n["b"] != 20 || n["a"] != 40 {
					t.Errorf("%v went out", n)
				}
				close(s.gate)
				pass(quiet)
				l.park()
			})
		})
	}
}

func TestDebrisIsNotStarvedByCompleteRuns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &slow{gate: make(chan struct{})}
		o := flooded(s)
		o.MaxTraces = 1000
		l := begin(t, o, t.TempDir(), spool.Options{})
		l.admit(together("a", 0, 100, orphan))
		pass(2 * idle)
		l.admit(together("a", 1000, 400, whole))
		pass(2 * quiet)
		s.let(100)
		debris := 0
		for _, call := range s.taken() {
			if call[0].TraceID[14] == 0 {
				debris++
			}
		}
		if debris < 15 || debris > 25 {
			t.Errorf("%d of 100 were debris", debris)
		}
		close(s.gate)
		pass(quiet)
		l.park()
	})
}

// After an outage everything has failed, and waits for its next attempt.
func TestAfterAnOutageACompleteRunDoesNotWaitForDebris(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &slow{gate: make(chan struct{})}
		down := true
		s.fail = func([]*Emission) error {
			if down {
				return errStore
			}
			return nil
		}
		o := flooded(s)
		o.MaxTraces = 1000
		l := begin(t, o, t.TempDir(), spool.Options{})
		l.admit(together("a", 0, 300, orphan))
		pass(2 * idle)
		s.let(300)
		l.admit(of("b", 1, orphan...))
		l.admit(of("a", 5000, whole...))
		pass(2 * idle)
		s.let(5)
		s.mu.Lock()
		down, s.calls = false, nil
		s.mu.Unlock()
		pass(2 * o.MaxBackoff)
		s.let(10)
		for _, k := range []Key{keyOf("a", 5000), keyOf("b", 1)} {
			if n := position(t, s, k); n > 6 {
				t.Errorf("%d emissions went out before that of %s", n, k)
			}
		}
		close(s.gate)
		pass(quiet)
		if st := l.Stats(); st.Held != 0 || st.Parked != 0 || st.Failing != 0 {
			t.Errorf("%+v", st)
		}
		l.park()
	})
}

// batched are options whose next component takes several traces in a call.
func batched(s *slow) Options {
	o := flooded(s)
	o.EmitBatch, o.EmitConcurrency, o.MaxTraces = s.batch, 4, 2000
	return o
}

func TestTinyRunsLeaveInBatches(t *testing.T) {
	starts(t, func(t *testing.T, o Options, start func(Options) *Assembler) {
		s := &slow{gate: make(chan struct{})}
		b := batched(s)
		b.OpenSpool = o.OpenSpool
		a := start(b)
		admit(t, a, together("a", 0, 1000, orphan))
		large := of("a", 5000, orphan...)
		large.Chunks[0].Bytes = maxBatchBytes + 1
		admit(t, a, large)
		pass(2 * idle)
		close(s.gate)
		pass(quiet)
		calls := s.taken()
		if len(calls) > 150 || len(calls) < 1000/maxBatch {
			t.Errorf("%d calls for 1000 tiny runs", len(calls))
		}
		seen := map[Key]bool{}
		for _, call := range calls {
			for _, k := range call {
				seen[k] = true
				if k == keyOf("a", 5000) && len(call) != 1 {
					t.Error("a run that is not tiny shares a call")
				}
			}
		}
		if st := a.Stats(); len(seen) != 1001 || st.Emitted != 1001 || st.Held != 0 || st.ByReason[Idle].Emissions != 1001 {
			t.Errorf("%d came, %+v", len(seen), st)
		}
		if err := a.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		conserved(t, a)
	})
}

func TestWhereNoBacklogIsNobodySharesACall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &slow{gate: make(chan struct{})}
		l := begin(t, batched(s), t.TempDir(), spool.Options{})
		l.admit(together("a", 0, 30, whole))
		pass(2 * quiet)
		close(s.gate)
		pass(quiet)
		if n := len(s.taken()); n != 30 {
			t.Errorf("%d calls", n)
		}
		l.park()
	})
}

// A batch that is refused for good takes none with it that is not to blame.
func TestOfABatchThatIsRefusedForGoodOnlyTheOneToBlameIsLost(t *testing.T) {
	starts(t, func(t *testing.T, _ Options, start func(Options) *Assembler) {
		s := &slow{gate: make(chan struct{}), fail: func(es []*Emission) error {
			for _, e := range es {
				if e.Key == keyOf("a", 77) {
					return consumererror.NewPermanent(errors.New("no"))
				}
			}
			return nil
		}}
		a := start(batched(s))
		admit(t, a, together("a", 0, 500, orphan))
		pass(2 * idle)
		close(s.gate)
		pass(quiet)
		if st := a.Stats(); st.Emitted != 499 || st.DroppedPermanent != 1 || st.Held != 0 || st.Failing != 0 {
			t.Errorf("%+v", st)
		}
		if err := a.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		conserved(t, a)
	})
}

// One that always fails fails its batch once, and is alone from then on.
func TestARunThatAlwaysFailsHoldsUpNoBatch(t *testing.T) {
	starts(t, func(t *testing.T, _ Options, start func(Options) *Assembler) {
		s := &slow{gate: make(chan struct{}), fail: func(es []*Emission) error {
			for _, e := range es {
				if e.Key == keyOf("a", 77) {
					return errStore
				}
			}
			return nil
		}}
		o := batched(s)
		a := start(o)
		admit(t, a, together("a", 0, 500, orphan))
		pass(2 * idle)
		close(s.gate)
		pass(4 * o.MaxBackoff)
		if st := a.Stats(); st.Emitted != 499 || st.Held != 1 || st.Failing != 1 || st.Waiting != 1 {
			t.Errorf("%+v", st)
		}
		s.mu.Lock()
		s.fail = nil
		s.mu.Unlock()
		pass(4 * o.MaxBackoff)
		if st := a.Stats(); st.Emitted != 500 {
			t.Errorf("%+v", st)
		}
		if err := a.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		conserved(t, a)
	})
}

// A run that shared a call with one that fails is no suspect. It is tried again by itself when it is due,
// before the backlog.
func TestARunDoesNotWaitBecauseOfWhatItSharedACallWith(t *testing.T) {
	bubble(t, func(t *testing.T) {
		fails := func(k Key) bool { return k.Tenant == "a" && k.TraceID[15]%8 == 0 }
		s := &slow{gate: make(chan struct{}), fail: func(es []*Emission) error {
			if slices.ContainsFunc(es, func(e *Emission) bool { return fails(e.Key) }) {
				return errStore
			}
			return nil
		}}
		o := batched(s)
		l := begin(t, o, t.TempDir(), spool.Options{})
		l.admit(together("a", 0, 1500, orphan))
		pass(2 * idle)
		l.admit(together("b", 0, 5, whole))
		pass(2 * quiet)
		for range 3 {
			s.let(20)
			pass(o.InitialBackoff)
		}
		for _, r := range l.FailingRuns(2000) {
			if r.Key.Tenant == "b" {
				t.Errorf("%s has not gone out", r.Key)
			}
		}
		s.mu.Lock()
		s.fail = nil
		s.mu.Unlock()
		close(s.gate)
		pass(10 * o.MaxBackoff)
		l.park()
	})
}

// TestATraceThatWaitsTakesLittleMemory measures the heap behind a next component that takes nothing.
func TestATraceThatWaitsTakesLittleMemory(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	o := options(&downstream{gate: make(chan struct{})})
	o.MaxTraces, o.Shards = 1, 1
	b := New(o).emits
	b.store = &store{spool: stateOnly{}}
	before := heap()
	const n = 50_000
	for i := range n {
		k := Key{Tenant: "a"}
		binary.BigEndian.PutUint64(k.TraceID[8:], uint64(i))
		b.push(&Emission{Key: k, bytes: 1400, records: []spool.ID{spool.ID(i + 1)}, cold: 1, accepted: 1, debris: true})
	}
	each := (heap() - before) / n
	if t.Logf("%d bytes for each", each); each > 400 {
		t.Errorf("a trace that waits takes %d bytes", each)
	}
	runtime.KeepAlive(b)
}

// stateOnly is a spool of which only the process state is asked.
type stateOnly struct{ Spool }

func (stateOnly) ProcessState() *spool.ProcessState { return &spool.ProcessState{} }
