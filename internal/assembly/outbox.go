// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"
)

// outbox is the queue of emissions and the workers that carry them out. Emissions of one key go out one after the other, in order.
// It has no bound of its own: what waits here in memory counts against the bound on evidence in memory, and with a spool only a part
// of that waits there.
//
// Workers never sleep and never wait for room. An emission that fails goes back with the time of its next attempt, and what may
// not go on now waits in its lane while others pass it:
//
//   - What workers hold in memory is bounded for each lane, also while their calls do not return.
//   - While nothing succeeds, a few of those that failed try at a time, at a pace that does not depend on how many wait.
//   - What failed while others succeeded gets a part of the workers only, and is parked when that goes on.
//   - What was on its way when a process died goes alone among its kind and after what was not, and is parked when that comes twice.
type outbox struct {
	o        *Options
	counters *counters
	announce *announcer
	watch    stopwatch
	store    *store // nil without a spool

	mu           sync.Mutex
	wake         *sync.Cond
	small, large lane
	busy         map[Key][]*Emission // keys in a lane or with a worker, and what waits behind them
	waiting      int64               // bytes in memory of the emissions that no worker has
	timer        clockwork.Timer     // wakes a worker for what waits for a time
	flying       map[*Emission]struct{}

	successes int64 // calls that the next component answered, for good or ill
	streak    int   // failures since the last of them
	nextProbe int64 // while nothing succeeds: when the next one of those that failed may try
	retrying  int   // emissions with workers that had failed before
	doubtful  int   // suspects with workers
	died      int   // of them, those that were on their way when a process died

	closed  bool
	parked  bool // when closed, what waits is left to the spool
	stopped bool // out of time
	workers sync.WaitGroup
}

// attempts is what the outbox knows of an emission.
type attempts struct {
	due      int64 // of the next attempt, as stopwatch.now
	pause    time.Duration
	failures int
	// guilty counts the failures while others succeeded, or that happened here. seen is outbox.successes at the last failure.
	guilty int
	seen   int64
	since  int64 // of the first failure
	deaths int   // processes that ended while it was on its way
	parked bool
	why    error // of the last failure
}

// A trace is parked when it failed so often while others did not, for as long as Options.ParkAfter; or when two processes died with it.
const (
	parkGuilty = 3
	parkDeaths = 2
	// maxParkedInterval ends the doubling.
	maxParkedInterval = 24 * time.Hour
)

func (a *attempts) suspect() bool { return a.guilty > 0 || a.deaths > 0 }

func newOutbox(o *Options, c *counters, a *announcer, w stopwatch) *outbox {
	b := &outbox{o: o, counters: c, announce: a, watch: w, busy: map[Key][]*Emission{}, flying: map[*Emission]struct{}{}}
	b.wake = sync.NewCond(&b.mu)
	return b
}

// start runs the workers; ctx ends what they are doing.
func (b *outbox) start(ctx context.Context) {
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.stopped = true
		b.wake.Broadcast()
	})
	for range b.o.EmitConcurrency {
		b.workers.Go(func() {
			for e := b.take(); e != nil; e = b.take() {
				b.settle(ctx, e, b.attempt(ctx, e))
			}
		})
	}
}

// close lets the workers end when nothing is left, or, when it is parked, after what they are doing. What waits for a time is tried
// now.
func (b *outbox) close(park bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.parked = true, park
	now := b.watch.now()
	for _, l := range b.lanes() {
		for _, s := range []schedule{l.again, l.suspects} {
			for _, e := range s {
				e.due = min(e.due, now) // all that were later are equal now: the heap stays one
			}
		}
	}
	if b.timer != nil {
		b.timer.Stop()
	}
	b.wake.Broadcast()
}

func (b *outbox) lanes() [2]*lane { return [2]*lane{&b.small, &b.large} }

// weight is the room that an emission takes while a worker has it; one that exceeds all room gets it alone.
func (b *outbox) weight(e *Emission) int64 { return min(e.bytes, b.o.maxLoaded()) }

func (b *outbox) laneOf(e *Emission) *lane {
	if b.weight(e) > b.o.maxLoaded()/4 {
		return &b.large
	}
	return &b.small
}

func (b *outbox) push(e *Emission) {
	if b.store != nil {
		e.deaths = b.store.spool.Life().Deaths(e.Key.bytes())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	e.due = b.watch.now()
	if e.deaths >= parkDeaths {
		b.park(e)
		b.o.Logger.Error("a run is parked: processes died while it was on its way; it stays in the spool and is tried rarely",
			zap.Stringer("run_key", e.Key), zap.Int("deaths", e.deaths), zap.Int64("bytes", e.bytes))
	}
	if b.waiting+e.inMemory > b.o.maxWaiting() {
		b.spill(e)
	}
	b.waiting += e.inMemory
	if behind, busy := b.busy[e.Key]; busy {
		b.busy[e.Key] = append(behind, e)
		return
	}
	b.busy[e.Key] = nil
	b.laneOf(e).enter(e)
	b.wake.Signal()
}

// park puts the next attempt far off. Where processes died, the time begins with the longest pause and doubles with each of them: two that
// somebody killed may have met the same innocent run, ten did not.
func (b *outbox) park(e *Emission) {
	if !e.parked {
		e.parked = true
		b.counters.parked.Add(1)
	}
	wait := b.o.ParkedInterval
	if e.deaths >= parkDeaths {
		wait = b.o.MaxBackoff
		for n := parkDeaths; n < e.deaths && wait < maxParkedInterval; n++ {
			wait *= 2
		}
		wait = min(wait, maxParkedInterval)
	}
	e.due = b.watch.now() + int64(wait)
}

// spill lets the evidence of an emission be in the spool only, if there is one.
func (b *outbox) spill(e *Emission) {
	if b.store == nil || e.inMemory == 0 {
		return
	}
	b.counters.memory.Add(-e.inMemory)
	b.counters.spilled.Add(1)
	e.Traces, e.inMemory, e.cold = ptrace.Traces{}, 0, len(e.records)
}

// take waits for an emission that may go on now. It returns nil when the outbox is closed and nothing is left that this process
// will try.
func (b *outbox) take() *Emission {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		if b.closed && (b.parked || b.stopped && b.store != nil || len(b.busy) == 0) {
			return nil
		}
		now := b.watch.now()
		if e := b.next(now); e != nil {
			return e
		}
		b.arm(now)
		b.wake.Wait()
	}
}

// down tells that the next component takes nothing at all, as far as is known.
func (b *outbox) down() bool { return b.streak >= b.o.EmitConcurrency }

// share is how many workers doubtful emissions may have.
func (b *outbox) share() int { return max(b.o.EmitConcurrency/4, 1) }

// next takes the emission out that is due for the longest time among those that may go on.
func (b *outbox) next(now int64) *Emission {
	var best, died *Emission
	var from, diedFrom source
	probe := !b.down() || b.retrying < b.share() && now >= b.nextProbe
	for _, l := range b.lanes() {
		for _, s := range [...]source{&l.fresh, &l.again, &l.suspects} {
			e := s.head()
			switch {
			case e == nil:
			case b.stopped:
				best, from = e, s // to be given up
			case e.due > now, !b.room(l, e), e.failures > 0 && !probe, e.suspect() && b.doubtful >= b.share():
			case e.deaths > 0:
				if b.died == 0 && (died == nil || e.due < died.due) {
					died, diedFrom = e, s
				}
			case best == nil || e.due < best.due:
				best, from = e, s
			}
		}
	}
	if died != nil && (best == nil || died.due+int64(b.o.MaxBackoff) <= now) {
		best, from = died, diedFrom
	}
	if best == nil {
		return nil
	}
	from.pop()
	b.waiting -= best.inMemory
	if best.failures > 0 && b.down() {
		b.nextProbe = now + int64(b.o.InitialBackoff)
	}
	if best.failures == 0 {
		best.seen = b.successes
	}
	b.hold(best, 1)
	b.flying[best] = struct{}{}
	return best
}

// hold counts an emission that a worker takes (1) or brings back (-1).
func (b *outbox) hold(e *Emission, n int) {
	l := b.laneOf(e)
	l.calls += n
	l.flying += int64(n) * b.weight(e)
	if e.failures > 0 {
		b.retrying += n
	}
	if e.suspect() {
		b.doubtful += n
	}
	if e.deaths > 0 {
		b.died += n
	}
}

// room tells whether a worker may take an emission into memory, or keep it there while its call does not return. Half of the workers at
// most have large ones.
func (b *outbox) room(l *lane, e *Emission) bool {
	if b.store == nil || l.calls == 0 {
		return true
	}
	if l == &b.large && l.calls >= max(b.o.EmitConcurrency/2, 1) {
		return false
	}
	return l.flying+b.weight(e) <= b.o.maxLoaded()
}

// arm makes sure that a worker wakes when the next emission is due. What is due and may not go on is looked at when a call returns.
func (b *outbox) arm(now int64) {
	next := int64(math.MaxInt64)
	for _, l := range b.lanes() {
		for _, s := range [...]source{&l.again, &l.suspects} {
			e := s.head()
			if e == nil {
				continue
			}
			at := e.due
			if b.down() && e.failures > 0 {
				at = max(at, b.nextProbe)
			}
			if at > now {
				next = min(next, at)
			}
		}
	}
	if next == math.MaxInt64 {
		return
	}
	if d := time.Duration(next - now); b.timer == nil {
		b.timer = b.o.Clock.AfterFunc(d, func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.wake.Broadcast()
		})
	} else {
		b.timer.Reset(d)
	}
}

// attempt calls the next component once. Between attempts nothing that the spool has stays in memory: while a store is down, or fails
// for a few large runs only, the room belongs to those that go on.
func (b *outbox) attempt(ctx context.Context, e *Emission) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.store != nil {
		life := b.store.spool.Life()
		life.Begin(e.Key.bytes())
		defer func() { life.End(e.Key.bytes(), err == nil || consumererror.IsPermanent(err)) }()
	}
	defer func() {
		if err != nil && !consumererror.IsPermanent(err) {
			b.spill(e)
		}
	}()
	if e.cold > 0 {
		if err := b.store.load(e); err != nil {
			return &ownError{err}
		}
	}
	if e.Held == 0 {
		return nil
	}
	if b.o.EmitTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.o.EmitTimeout)
		defer cancel()
	}
	return b.o.Emit(ctx, e)
}

// ownError is a failure that says nothing about the next component.
type ownError struct{ error }

func (e *ownError) Unwrap() error { return e.error }

// settle does with an emission what the result of its attempt asks for.
func (b *outbox) settle(ctx context.Context, e *Emission, err error) {
	gone := true
	switch {
	case err == nil:
		b.counters.emitted.Add(int64(e.Held))
		b.counters.byReason[e.Reason].emissions.Add(1)
		b.counters.byReason[e.Reason].items.Add(int64(e.Held))
	case b.store != nil && ctx.Err() != nil:
		gone = false // the next start takes it up
	case ctx.Err() != nil:
		b.o.Logger.Error("evidence is lost: shutdown ran out of time",
			zap.Stringer("run_key", e.Key), zap.Int("items", e.Held), zap.Error(err))
		b.counters.droppedShutdown.Add(int64(e.Held))
	case consumererror.IsPermanent(err):
		b.o.Logger.Error("evidence is lost: the next component refused it for good",
			zap.Stringer("run_key", e.Key), zap.Int("items", e.Held), zap.Error(err))
		b.counters.droppedPermanent.Add(int64(e.Held))
	default:
		gone = false
		b.counters.retries.Add(1)
	}
	if gone {
		b.letGo(e)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hold(e, -1)
	delete(b.flying, e)
	if gone {
		b.done(e, err == nil && e.Held == 0)
	} else {
		b.failed(e, err)
		if b.closed && e.parked && b.store != nil {
			delete(b.busy, e.Key) // the spool keeps it, and what waits behind it
		} else {
			b.waiting += e.inMemory
			b.laneOf(e).enter(e)
		}
	}
	// Room, a part of the workers or the end of an outage may be what several others waited for.
	b.wake.Broadcast()
}

// done takes an emission out of the books; what waits behind it is next. An unheard one says nothing about the next component.
func (b *outbox) done(e *Emission, unheard bool) {
	if !unheard {
		b.successes++
		b.streak = 0
	}
	if e.failures > 0 {
		b.counters.failing.Add(-1)
	}
	if e.parked {
		b.counters.parked.Add(-1)
	}
	behind := b.busy[e.Key]
	if len(behind) == 0 {
		delete(b.busy, e.Key)
		return
	}
	b.busy[e.Key] = behind[1:]
	b.laneOf(behind[0]).enter(behind[0])
}

// failed decides when an emission is tried again.
func (b *outbox) failed(e *Emission, err error) {
	now := b.watch.now()
	_, own := err.(*ownError)
	if !own {
		b.streak++
	}
	if own || b.successes != e.seen {
		e.guilty++
	}
	e.seen = b.successes
	if e.failures == 0 {
		e.since = now
		b.counters.failing.Add(1)
	}
	e.failures++
	e.why = err
	e.pause = min(max(2*e.pause, b.o.InitialBackoff), b.o.MaxBackoff)
	e.due = now + int64(jitter(e.pause))
	fields := []zap.Field{zap.Stringer("run_key", e.Key), zap.Int("attempts", e.failures), zap.Error(err)}
	switch {
	case e.parked:
		b.park(e)
	case e.guilty >= parkGuilty && now-e.since >= int64(b.o.ParkAfter):
		b.park(e)
		b.announce.fail(traceParked, fields...)
	default:
		b.announce.warn(emissionFails, append(fields, zap.Duration("after", e.pause))...)
	}
}

// jitter spreads the attempts of what failed together: between half of d and d.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2+1)
}

func (b *outbox) letGo(e *Emission) {
	if missing := int64(e.accepted - e.Held); e.damaged {
		b.counters.droppedCorrupt.Add(max(missing, 0))
		b.counters.duplicates.Add(min(missing, 0))
	} else {
		b.counters.duplicates.Add(missing)
	}
	b.counters.held.Add(-int64(e.accepted))
	b.counters.heldBytes.Add(-e.bytes)
	b.counters.memory.Add(-e.inMemory)
	if len(e.records) > 0 {
		b.store.release(e.records)
	}
}
