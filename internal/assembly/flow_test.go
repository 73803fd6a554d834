// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tapedeck/tapedeck/internal/assembly/spool"
)

// small makes segments small, which are copied when a process dies.
var small = spool.Options{SegmentBytes: 64 << 10}

// distinct is the traces that were taken, each once.
func (d *downstream) distinct() map[Key]bool {
	keys := map[Key]bool{}
	for _, e := range d.emissions() {
		keys[e.Key] = true
	}
	return keys
}

// failing fails for some traces, at once or when the call runs out of time.
func failing(o Options, d *downstream, blocks bool, poison ...byte) Options {
	o.EmitTimeout = time.Minute
	o.Emit = func(ctx context.Context, e *Emission) error {
		for _, p := range poison {
			if e.Key == key(p) {
				if blocks {
					<-ctx.Done()
					return ctx.Err()
				}
				return errStore
			}
		}
		return d.emit(ctx, e)
	}
	return o
}

func TestTracesThatFailHoldUpNoOthers(t *testing.T) {
	for name, blocks := range map[string]bool{"at once": false, "when their time is up": true} {
		for spoolName, spooled := range map[string]bool{"spool": true, "memory": false} {
			t.Run(name+"/"+spoolName, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					d := &downstream{}
					o := failing(options(d), d, blocks, 1, 2)
					o.EmitConcurrency = 2
					var a *Assembler
					if spooled {
						a = begin(t, o, t.TempDir(), small).Assembler
					} else {
						a = New(o)
						if err := a.Start(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					admit(t, a, evidence(1, node{id: 1, run: true}))
					admit(t, a, evidence(2, node{id: 1, run: true}))
					pass(2 * quiet)
					for i := byte(3); i < 50; i++ {
						admit(t, a, evidence(i, node{id: 1, run: true}))
					}
					pass(2 * time.Minute)
					if got := len(d.distinct()); got != 47 {
						t.Errorf("%d healthy traces were delivered, want 47", got)
					}
					if s := a.Stats(); s.Failing != 2 || s.Held != 2 {
						t.Errorf("%+v", s)
					}
					ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
					defer cancel()
					_ = a.Shutdown(ctx) // without a spool, what fails for ever is lost
					conserved(t, a)
				})
			})
		}
	}
}

func TestWhatFailsForLongIsParkedNamedAndTriedRarely(t *testing.T) {
	bubble(t, func(t *testing.T) {
		core, logs := observer.New(zap.ErrorLevel)
		d := &downstream{}
		var mended atomic.Bool
		var tried atomic.Int64
		o := options(d)
		o.Logger = zap.New(core)
		o.Emit = func(ctx context.Context, e *Emission) error {
			if e.Key == key(1) && !mended.Load() {
				tried.Add(1)
				return errStore
			}
			return d.emit(ctx, e)
		}
		l := begin(t, o, t.TempDir(), small)
		l.admit(evidence(1, node{id: 1, run: true}))
		for i := byte(2); i < 100; i++ {
			l.admit(evidence(i, node{id: 1, run: true}))
			pass(10 * time.Second)
		}
		if s := l.Stats(); s.Parked != 1 || s.Failing != 1 {
			t.Fatalf("%+v", s)
		}
		runs := l.FailingRuns(10)
		if len(runs) != 1 || runs[0].Key != key(1) || !runs[0].Parked || runs[0].Why != errStore.Error() || runs[0].Next <= 0 || runs[0].Failing < o.ParkAfter {
			t.Errorf("%+v", runs)
		}
		if n := logs.FilterMessage(eventTexts[traceParked]).FilterField(zap.Stringer("run_key", key(1))).Len(); n != 1 {
			t.Errorf("the parked run is named %d times in the log", n)
		}
		before := tried.Load()
		pass(10 * o.ParkedInterval)
		if n := tried.Load() - before; n < 9 || n > 10 {
			t.Errorf("%d attempts in ten intervals", n)
		}
		mended.Store(true)
		pass(o.ParkedInterval)
		if s := l.Stats(); s.Parked != 0 || s.Failing != 0 || s.Held != 0 || len(l.FailingRuns(10)) != 0 {
			t.Errorf("after it was mended: %+v", s)
		}
		l.park()
	})
}

// A store that is away is nobody's fault: nothing is parked, few try at a time, and all goes out when it is back.
func TestAnOutageParksNothing(t *testing.T) {
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
		l := begin(t, o, t.TempDir(), small)
		for i := byte(1); i <= 200; i++ {
			l.admit(evidence(i, node{id: 1, run: true}))
		}
		pass(2 * quiet)
		before := l.Stats().Retries
		pass(6 * time.Hour)
		s := l.Stats()
		if s.Parked != 0 || s.Failing != 200 {
			t.Errorf("%+v", s)
		}
		if n := s.Retries - before; n > int64(6*time.Hour/o.InitialBackoff)+1 {
			t.Errorf("%d attempts in six hours", n)
		}
		down.Store(false)
		pass(2 * o.MaxBackoff)
		if got := len(d.distinct()); got != 200 {
			t.Errorf("%d of 200 traces were delivered", got)
		}
		l.park()
	})
}

func TestCallsThatDoNotReturnLeaveRoomForWhatComes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{gate: make(chan struct{})}
		o := options(d)
		o.MaxBytes, o.EmitConcurrency, o.MaxTraceBytes = 64_000, 16, 8_000
		l := begin(t, o, t.TempDir(), small)
		for i := byte(1); i <= 60; i++ {
			l.admit(evidence(i, node{id: 1}, node{id: 2, parent: 1}, node{id: 3, parent: 1}, node{id: 4, parent: 1}))
			pass(2 * quiet)
		}
		if s := l.Stats(); s.RefusedFull != 0 || s.Held != 240 || s.MemoryBytes > o.MaxBytes/2 {
			t.Errorf("%+v", s)
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		if err := l.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > parkTimeout+cancelTimeout { // of the bubble
			t.Errorf("shutdown took %s", took)
		}
		close(d.gate)
		l = begin(t, o, l.dir, small)
		pass(2 * quiet)
		if got := len(d.distinct()); got != 60 {
			t.Errorf("%d of 60 traces were delivered", got)
		}
		l.park()
	})
}

// A call that ends soon is waited for.
func TestParkingLetsACallEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{}
		o := options(d)
		o.Emit = func(ctx context.Context, e *Emission) error {
			select {
			case <-time.After(parkTimeout / 2):
				return d.emit(ctx, e)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		l := begin(t, o, t.TempDir(), small)
		l.admit(evidence(1, node{id: 1, run: true}))
		pass(quiet + quiet/4)
		l.park()
		wantOne(t, d, 0, RootEnded)
	})
}

func TestEmittingShutdownLeavesWhatIsParkedToTheSpool(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{}
		o := failing(options(d), d, false, 1)
		o.ParkAfter = time.Second
		l := begin(t, o, t.TempDir(), small)
		l.o.Park = false
		for i := byte(1); i < 20; i++ {
			l.admit(evidence(i, node{id: 1, run: true}))
			pass(quiet)
		}
		pass(2 * quiet)
		if s := l.Stats(); s.Parked != 1 {
			t.Fatalf("%+v", s)
		}
		l.admit(evidence(30, node{id: 2, parent: 1}))
		began := time.Now()
		l.park()
		if took := time.Since(began); took > time.Second { // of the bubble
			t.Errorf("shutdown took %s", took)
		}
		if s := l.Stats(); s.Held != 1 || !d.distinct()[key(30)] {
			t.Errorf("%+v", s)
		}
		l = begin(t, options(d), l.dir, small)
		pass(2 * quiet)
		if !d.distinct()[key(1)] {
			t.Error("the parked trace did not come out of the spool")
		}
		l.park()
	})
}

// Six lives, each shorter than the quiet period.
func TestCrashLoopMakesProgress(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{}
		o := options(d)
		o.IdleTimeout = 4 * quiet
		l := begin(t, o, t.TempDir(), small)
		for i := byte(1); i <= 20; i++ {
			l.admit(evidence(i, node{id: 1, run: true}))
		}
		l.admit(evidence(21, node{id: 2, parent: 1})) // its root has not come
		pass(quiet * 4 / 5)
		wantNone(t, d, 0)
		dir := l.crash()
		time.Sleep(idle) // nobody listens
		l = begin(t, o, dir, small)
		pass(quiet / 10)
		wantNone(t, d, 0) // that was no silence
		pass(quiet * 4 / 10)
		if got := len(d.distinct()); got != 20 {
			t.Errorf("%d of 20 traces were delivered in the second life", got)
		}
		for range 5 {
			l = begin(t, o, l.crash(), small)
			pass(quiet * 4 / 5)
		}
		if !d.distinct()[key(21)] {
			t.Error("what has waited for the idle timeout in many lives is still there")
		}
		l.park()
	})
}

// The time is up when the process dies: no life is too short.
func TestWhatIsDueLeavesWithTheStartTheSmallOnesFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{gate: make(chan struct{})}
		o := options(d)
		o.EmitConcurrency, o.Shards = 1, 1
		l := begin(t, o, t.TempDir(), small)
		for _, i := range []byte{1, 6, 5, 4, 3, 2} {
			var nodes []node
			for n := range i {
				nodes = append(nodes, node{id: n + 1, parent: n, run: n == 0})
			}
			l.admit(evidence(i, nodes...))
		}
		pass(2 * quiet)
		dir := l.crash()
		d.gate = nil
		o.Shards = 2
		l = begin(t, o, dir, small)
		pass(0)
		// The first was in flight when the process crashed: it comes after the others.
		var order []byte
		for _, e := range d.emissions() {
			order = append(order, e.Key.TraceID[15])
		}
		if string(order) != string([]byte{2, 3, 4, 5, 6, 1}) {
			t.Errorf("order %v", order)
		}
		l.park()
	})
}

// A run that ends every process that handles it does not keep the others, and is parked and named after the second.
func TestRunThatKillsProcessesIsParkedAndNamed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{}
		core, logs := observer.New(zap.ErrorLevel)
		o := options(d)
		o.Logger = zap.New(core)
		var killer atomic.Int64
		dead := make(chan struct{})
		o.Emit = func(ctx context.Context, e *Emission) error {
			if e.Key == key(1) {
				killer.Add(1)
				<-dead
				return errors.New("the process is dead")
			}
			return d.emit(ctx, e)
		}
		dir := t.TempDir()
		for range 2 {
			l := begin(t, o, dir, small)
			if killer.Load() == 0 {
				l.admit(evidence(1, node{id: 1, run: true}))
			}
			pass(2 * quiet)
			dir = l.crash()
		}
		if killer.Load() != 2 {
			t.Fatalf("%d attempts in two lives", killer.Load())
		}
		l := begin(t, o, dir, small)
		for i := byte(2); i < 30; i++ {
			l.admit(evidence(i, node{id: 1, run: true}))
		}
		pass(o.MaxBackoff - time.Second)
		if s := l.Stats(); s.Parked != 1 || s.Held != 1 || killer.Load() != 2 || len(d.distinct()) != 28 {
			t.Errorf("%d attempts, %+v", killer.Load(), s)
		}
		if runs := l.FailingRuns(1); len(runs) != 1 || runs[0].Key != key(1) || runs[0].Crashes != 2 || runs[0].Next <= 0 {
			t.Errorf("%+v", runs)
		}
		if n := logs.FilterField(zap.Stringer("run_key", key(1))).FilterField(zap.Int("deaths", 2)).Len(); n != 1 {
			t.Errorf("the run is named %d times in the log", n)
		}
		pass(2 * time.Second)
		if killer.Load() != 3 {
			t.Errorf("%d attempts: the parked run was not tried again", killer.Load())
		}
		dir = l.crash()
		l = begin(t, o, dir, small)
		pass(2*o.MaxBackoff - time.Second) // doubled by the third crash
		if killer.Load() != 3 {
			t.Errorf("%d attempts", killer.Load())
		}
		close(dead)
		pass(time.Second) // the processes that are gone
		o.Emit = d.emit
		l.park()
		l = begin(t, o, l.dir, small)
		pass(2*o.MaxBackoff + time.Second)
		if !d.distinct()[key(1)] {
			t.Error("the parked run was not tried again")
		}
		l.park()
		l = begin(t, o, l.dir, small)
		l.admit(evidence(1, node{id: 2, parent: 1}))
		pass(2 * idle)
		if s := l.Stats(); s.Held != 0 {
			t.Errorf("crashes are counted of a run that was emitted: %+v", s)
		}
		l.park()
	})
}

// Records of version 1, which earlier versions wrote, hold no uptime: their idle time begins anew.
func TestRecordsOfTheFirstVersionAreRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := &downstream{}
		dir := t.TempDir()
		old, err := spool.Open(dir, small, nil)
		if err != nil {
			t.Fatal(err)
		}
		f := chunk(1, node{id: 1, run: true})
		payload, err := (&store{}).marshal.MarshalTraces(f.Traces)
		if err != nil {
			t.Fatal(err)
		}
		meta := []byte{1, flagRunSpan | flagRoot, 1, 100}
		meta = binary.LittleEndian.AppendUint64(meta, uint64(time.Now().UnixNano()))
		meta = append(meta, 0)
		if err := old.Append(t.Context(), []spool.Entry{{Key: key(1).bytes(), Meta: meta, Payload: payload}}, make([]spool.ID, 1)); err != nil {
			t.Fatal(err)
		}
		if err := old.Close(); err != nil {
			t.Fatal(err)
		}
		l := begin(t, options(d), dir, small)
		pass(quiet / 2)
		wantNone(t, d, 0)
		pass(quiet)
		if e := wantOne(t, d, 0, RootEnded); e.Held != 1 {
			t.Errorf("%+v", e)
		}
		l.park()
	})
}

// A power loss may lose the state that a process leaves beside the records. That costs nothing but what the state says.
func TestStartWithoutWhatOutlivesAProcess(t *testing.T) {
	for name, body := range map[string][]byte{"gone": nil, "empty": {}, "damaged": []byte("tapelif\n and nothing that makes sense behind it")} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				d := &downstream{}
				l := begin(t, options(d), t.TempDir(), small)
				l.admit(evidence(1, node{id: 1, run: true}))
				pass(quiet / 2)
				l.park()
				file := filepath.Join(l.dir, "LIFE")
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
				if body != nil {
					if err := os.WriteFile(file, body, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				l = begin(t, options(d), l.dir, small)
				pass(quiet / 2)
				wantNone(t, d, 0)
				pass(quiet)
				wantOne(t, d, 0, RootEnded)
				l.park()
			})
		})
	}
}
