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

// emitQueue is the queue of emissions and the workers that carry them out. Emissions of one key go out one
// after the other, in order. Evidence that waits here in memory counts against the bound on evidence in
// memory. With a spool only a part of that bound may wait here. The number of emissions is bounded by Admit,
// see room.
//
// The order is fair between tenants, and between runs that are complete and debris, see flow. Of a backlog
// tiny emissions leave in batches: most of what a call costs is waiting, which they share.
//
// A call that has nothing to do any more but wait for what others bring (Emission.Idle) gives its worker to
// another emission. So the number of workers bounds the work, and bytes bound the emissions that are on their
// way.
//
// Workers never sleep and never wait for memory. A failed emission returns to the queue with the time of its
// next attempt. An emission that may not start now waits in its size class while others pass it:
//
//   - The memory of emissions in flight is bounded for each size class, also while their calls do not return.
//   - During an outage (nothing succeeds) only a few failed emissions are tried at a time. Their pace does
//     not depend on how many wait.
//   - An emission that failed while others succeeded is a suspect. Suspects get a part of the workers only. A
//     suspect that keeps failing is parked.
//   - Of a batch that failed nobody knows which emission is to blame. Each is tried alone from then on. It is
//     no suspect before it fails so.
//   - An emission that was in flight when a process crashed is a suspect too. Only one of these is in flight
//     at a time, and it starts after all others that are due. After two crashes it is parked.
type emitQueue struct {
	o        *Options
	counters *counters
	limited  *rateLimitedLog
	clock    monotonicClock
	store    *store // nil without a spool

	mu           sync.Mutex
	wake         *sync.Cond
	small, large sizeClass
	// busy are the keys in a size class or with a worker, and the emissions that wait behind them; mostly
	// nil.
	busy     map[runKey]*behind
	waiting  int64             // bytes in memory of the emissions that no worker has
	flows    map[flowKey]*flow // of the emissions in the queue, those in flight included
	queued   int               // how many these are
	turn     int64             // of what was emitted last
	pushed   int64             // how many emissions came so far
	timer    clockwork.Timer   // wakes a worker for what waits for a time
	inFlight map[*Emission]struct{}

	successes   int64 // calls that ended in success or in a permanent error
	streak      int   // failures since the last success
	nextProbe   int64 // during an outage: when the next failed emission may be tried
	retriesOut  int   // emissions in flight that had failed before
	suspectsOut int   // suspects in flight
	crashedOut  int   // of them, those that were in flight when a process crashed

	closed  bool
	parked  bool // when closed: what waits stays in the spool
	stopped bool // out of time
	workers sync.WaitGroup
}

// behind are the emissions of one key that wait for an earlier one.
type behind struct{ list []*Emission }

// attempts is the state of an emission that was tried, or must not be tried yet. Hundreds of thousands may
// wait that have none.
type attempts struct {
	due      int64 // of the next attempt, as monotonicClock.now
	pause    time.Duration
	failures int
	// ownFailures counts failures while other emissions succeeded, and failures of this process. seen is emitQueue.successes at the last
	// failure.
	ownFailures int
	seen        int64
	since       int64 // of the first failure
	crashes     int   // processes that crashed while it was in flight
	parked      bool
	alone       bool  // it shares no call: one that it shared failed, and nobody knows because of which
	why         error // of the last failure

	call  *call // the attempt that is in flight
	idle  func()
	idled bool // it is counted as idle
}

// A trace is parked when it had parkOwnFailures failures and has been failing for Options.ParkAfter, or after parkCrashes crashes.
const (
	parkOwnFailures = 3
	parkCrashes     = 2
	// maxParkedInterval ends the doubling.
	maxParkedInterval = 24 * time.Hour
)

func (a *attempts) suspect() bool { return a != nil && (a.ownFailures > 0 || a.crashes > 0) }
func (a *attempts) failed() bool  { return a != nil && a.failures > 0 }
func (a *attempts) shares() bool  { return !a.suspect() && (a == nil || !a.alone) }

// tried gives an emission the state of its attempts.
func (e *Emission) tried() {
	if e.attempts == nil {
		e.attempts = &attempts{}
	}
}

func newEmitQueue(o *Options, c *counters, a *rateLimitedLog, w monotonicClock) *emitQueue {
	b := &emitQueue{o: o, counters: c, limited: a, clock: w, busy: map[runKey]*behind{}, flows: map[flowKey]*flow{}, inFlight: map[*Emission]struct{}{}}
	b.wake = sync.NewCond(&b.mu)
	return b
}

// start runs the workers; ctx ends what they are doing.
func (b *emitQueue) start(ctx context.Context) {
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.stopped = true
		b.wake.Broadcast()
	})
	for range b.o.EmitConcurrency {
		b.work(ctx)
	}
}

// work runs a worker. It ends with a call that became idle: another one has taken its place.
func (b *emitQueue) work(ctx context.Context) {
	b.workers.Go(func() {
		growStack(0)
		for es := b.take(); es != nil; es = b.take() {
			if b.finish(ctx, es, b.attempt(ctx, es)) {
				return
			}
		}
	})
}

// growStack grows the stack of a new worker at once, while little lies on it. A derivation needs so much, and
// growing in steps would copy its frames each time.
//
//go:noinline
func growStack(at int) byte {
	var room [20 << 10]byte
	return room[at]
}

// idle lets another emission have the worker of a call that only waits. The keys are not in flight any more
// as far as a crash is concerned: what can break a process is behind them.
func (b *emitQueue) idle(ctx context.Context, es []*Emission, c *call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if es[0].call != c || c.idle {
		return
	}
	c.idle = true
	for _, e := range es {
		e.idled = true
		b.countIdle(e, 1)
		if b.store != nil {
			b.store.spool.ProcessState().End(e.Key.bytes(), false)
		}
	}
	b.work(ctx)
}

// call is one attempt to pass emissions on, which share it. emitQueue.mu guards it.
type call struct{ idle bool }

// idleOverhead is the memory of a call that waits, beside its evidence: a stack, and what the components of the pipeline have on it.
const idleOverhead = 16 << 10

// close lets the workers end when the queue is empty or, with park, after their current calls. Emissions that wait for their next attempt
// are tried now.
func (b *emitQueue) close(park bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.parked = true, park
	now := b.clock.now()
	for _, l := range b.classes() {
		for _, s := range []retryHeap{l.retries, l.suspects} {
			for _, e := range s {
				e.due = min(e.due, now) // all later times become equal, so the heap order still holds
			}
		}
	}
	if b.timer != nil {
		b.timer.Stop()
	}
	b.wake.Broadcast()
}

func (b *emitQueue) classes() [2]*sizeClass { return [2]*sizeClass{&b.small, &b.large} }

// weight is the memory that an emission is counted with while it is in flight. One that exceeds the bound is counted with all of it.
func (b *emitQueue) weight(e *Emission) int64 { return min(e.bytes, b.o.maxLoaded()) }

func (b *emitQueue) classOf(e *Emission) *sizeClass {
	if b.weight(e) > b.o.maxLoaded()/4 {
		return &b.large
	}
	return &b.small
}

func (b *emitQueue) push(e *Emission) {
	crashes := 0
	if b.store != nil {
		crashes = b.store.spool.ProcessState().Crashes(e.Key.bytes())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if crashes > 0 {
		e.tried()
		e.crashes, e.due = crashes, b.clock.now()
	}
	if crashes >= parkCrashes {
		b.park(e)
		b.o.Logger.Error("a run is parked: processes crashed while it was in flight; it stays in the spool and is tried rarely",
			zap.Stringer("run_key", e.Key), zap.Int("deaths", e.crashes), zap.Int64("bytes", e.bytes))
	}
	if b.waiting+e.inMemory > b.o.maxWaiting() {
		b.spill(e)
	}
	b.waiting += e.inMemory
	b.line(e)
	key := e.Key.kept()
	if before, busy := b.busy[key]; busy {
		if before == nil {
			before = &behind{}
			b.busy[key] = before
		}
		before.list = append(before.list, e)
		return
	}
	b.busy[key] = nil
	b.classOf(e).add(e)
	b.wake.Signal()
}

// park delays the next attempt by ParkedInterval. After crashes the delay begins with MaxBackoff and doubles with each further crash. A run
// may be in flight by chance when a process is killed twice, but not ten times.
func (b *emitQueue) park(e *Emission) {
	if !e.parked {
		e.parked = true
		b.counters.parked.Add(1)
	}
	wait := b.o.ParkedInterval
	if e.crashes >= parkCrashes {
		wait = b.o.MaxBackoff
		for n := parkCrashes; n < e.crashes && wait < maxParkedInterval; n++ {
			wait *= 2
		}
		wait = min(wait, maxParkedInterval)
	}
	e.due = b.clock.now() + int64(wait)
}

// spill removes the evidence of an emission from memory, if it is in the spool.
func (b *emitQueue) spill(e *Emission) {
	if b.store == nil || e.inMemory == 0 {
		return
	}
	b.counters.memory.Add(-e.inMemory)
	b.counters.spilled.Add(1)
	e.Traces, e.inMemory, e.cold = ptrace.Traces{}, 0, len(e.records)
}

// take waits for emissions that may start now, as one call. It returns nil when the queue is closed and
// nothing is left that this process will try.
func (b *emitQueue) take() []*Emission {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		if b.closed && (b.parked || b.stopped && b.store != nil || len(b.busy) == 0) {
			return nil
		}
		now := b.clock.now()
		if es := b.next(now); es != nil {
			return es
		}
		b.arm(now)
		b.wake.Wait()
	}
}

// outage tells that as many calls in a row failed as there are workers.
func (b *emitQueue) outage() bool { return b.streak >= b.o.EmitConcurrency }

// workerShare is how many workers suspects may have, and retries during an outage.
func (b *emitQueue) workerShare() int { return max(b.o.EmitConcurrency/4, 1) }

// next takes out the emission whose turn it is among those that may start, and those that share its call.
func (b *emitQueue) next(now int64) []*Emission {
	var best, crashed *Emission
	var from, crashedFrom source
	probe := !b.outage() || b.retriesOut < b.workerShare() && now >= b.nextProbe
	for _, l := range b.classes() {
		if l.wakeUp(now); b.stopped {
			l.wakeUp(math.MaxInt64)
		}
		for _, s := range l.sources() {
			e := s.head()
			switch {
			case e == nil:
			case b.stopped:
				best, from = e, s // to be dropped
			case e.attempts != nil && e.due > now, !b.hasCapacity(l, e), e.failed() && !probe, e.suspect() && b.suspectsOut >= b.workerShare():
			case e.suspect() && e.crashes > 0:
				if b.crashedOut == 0 && (crashed == nil || e.due < crashed.due) {
					crashed, crashedFrom = e, s
				}
			case best == nil || e.before(best):
				best, from = e, s
			}
		}
	}
	if crashed != nil && (best == nil || crashed.due+int64(b.o.MaxBackoff) <= now) {
		best, from = crashed, crashedFrom
	}
	if best == nil {
		return nil
	}
	es := []*Emission{best}
	most, bytes := b.batchOf(best, from), best.bytes
	c := &call{}
	b.takeOut(best, from, c, now)
	l := b.classOf(best)
	for len(es) < most {
		e := from.head()
		if e == nil || !e.shares() || bytes+e.bytes > maxBatchBytes || !b.hasCapacity(l, e) {
			break
		}
		b.takeOut(e, from, c, now)
		es, bytes = append(es, e), bytes+e.bytes
	}
	return es
}

// takeOut takes an emission out of a source for a call.
func (b *emitQueue) takeOut(e *Emission, from source, c *call, now int64) {
	from.pop()
	b.waiting -= e.inMemory
	e.tried()
	if e.failures > 0 && b.outage() {
		b.nextProbe = now + int64(b.o.InitialBackoff)
	}
	if e.failures == 0 {
		e.seen = b.successes
	}
	e.call = c
	b.countOut(e, 1)
	b.inFlight[e] = struct{}{}
}

// A batch holds maxBatch emissions at most. They have maxBatchBytes together, so a run of some turns leaves
// alone, and a batch takes no more memory and time than one of those.
const (
	maxBatch      = 32
	maxBatchBytes = 128 << 10
	// backlogPerCall emissions for each worker are soon gone one by one.
	backlogPerCall = 8
)

// batchOf is how many emissions a call takes that begins with e: one for each backlogPerCall that wait for
// each worker. Those that may be somebody's fault are tried alone. During an outage all are: one that always
// fails must not make an outage of every call that it shares.
func (b *emitQueue) batchOf(e *Emission, from source) int {
	if b.o.EmitBatch == nil || b.stopped || !e.shares() || b.outage() {
		return 1
	}
	return min(1+from.Len()/(b.o.EmitConcurrency*backlogPerCall), maxBatch)
}

// countOut counts an emission that a worker takes (1) or brings back (-1).
func (b *emitQueue) countOut(e *Emission, n int) {
	l := b.classOf(e)
	l.calls += n
	l.inFlight += int64(n) * b.weight(e)
	if e.failures > 0 {
		b.retriesOut += n
	}
	b.countWork(e, n)
}

// countWork counts an emission that needs a worker (1), or no longer (-1).
func (b *emitQueue) countWork(e *Emission, n int) {
	b.classOf(e).working += n
	b.classOf(e).workingBytes += int64(n) * e.bytes
	if e.suspect() {
		b.suspectsOut += n
	}
	if e.crashes > 0 {
		b.crashedOut += n
	}
}

// countIdle counts a call that has become idle (1) or returns (-1). It is in flight still, and during an outage a probe.
func (b *emitQueue) countIdle(e *Emission, n int) {
	b.classOf(e).inFlight += int64(n) * idleOverhead
	b.countWork(e, -n)
}

// hasCapacity tells whether the memory of an emission fits beside that of the emissions in flight, and what is made of it beside those that are worked on.
// At most half of the workers may have large emissions.
func (b *emitQueue) hasCapacity(l *sizeClass, e *Emission) bool {
	if l.calls == 0 {
		return true
	}
	if l.working > 0 && l.workingBytes+e.bytes > maxWorking {
		return false
	}
	if b.store == nil {
		// MaxBytes bounds the evidence; what is left is the calls themselves.
		return int64(l.calls-l.working)*idleOverhead <= b.o.maxLoaded()
	}
	if l == &b.large && l.working >= max(b.o.EmitConcurrency/2, 1) {
		return false
	}
	return l.inFlight+b.weight(e) <= b.o.maxLoaded()
}

// arm sets the timer that wakes a worker when the next emission is due. An emission that is due and may not start is checked again when a
// call returns.
func (b *emitQueue) arm(now int64) {
	next := int64(math.MaxInt64)
	for _, l := range b.classes() {
		for _, s := range [...]source{&l.again, &l.retries, &l.suspects} {
			e := s.head()
			if e == nil {
				continue
			}
			at := e.due
			if b.outage() && e.failures > 0 {
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

// attempt calls the next component once, and returns the result of each emission. Evidence that is in the
// spool does not stay in memory between attempts. So while the store is away, or fails for some large runs,
// the memory is free for the other emissions.
func (b *emitQueue) attempt(ctx context.Context, es []*Emission) []error {
	errs := make([]error, len(es))
	if b.store != nil && ctx.Err() == nil {
		state := b.store.spool.ProcessState()
		for _, e := range es {
			state.Begin(e.Key.bytes())
		}
		defer func() {
			for i, e := range es {
				state.End(e.Key.bytes(), errs[i] == nil || consumererror.IsPermanent(errs[i]))
			}
		}()
	}
	defer func() {
		for i, e := range es {
			if errs[i] != nil && !consumererror.IsPermanent(errs[i]) {
				b.spill(e)
			}
		}
	}()
	loaded := make([]*Emission, 0, len(es))
	for i, e := range es {
		if errs[i] = ctx.Err(); errs[i] != nil {
			continue
		}
		if e.cold > 0 {
			if err := b.store.load(e); err != nil {
				errs[i] = &ownError{err}
				continue
			}
		}
		if e.Held > 0 {
			loaded = append(loaded, e)
		}
	}
	if len(loaded) == 0 {
		return errs
	}
	err := b.emit(ctx, loaded)
	if len(loaded) > 1 && consumererror.IsPermanent(err) && ctx.Err() == nil {
		err = &splitError{err}
	}
	for i, e := range es {
		if errs[i] == nil && e.Held > 0 {
			errs[i] = err
		}
	}
	return errs
}

// emit calls the next component with emissions that are in memory.
func (b *emitQueue) emit(workers context.Context, es []*Emission) error {
	ctx := workers
	if b.o.EmitTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, b.o.EmitTimeout)
		defer cancel()
	}
	c := es[0].call
	idle := func() { b.idle(workers, es, c) }
	for _, e := range es {
		e.idle = idle
	}
	if len(es) == 1 {
		return b.o.Emit(ctx, es[0])
	}
	return b.o.EmitBatch(ctx, es)
}

// splitError is the permanent failure of a call that several emissions shared: nobody knows which of them was
// meant. It hides that the failure is permanent.
type splitError struct{ cause error }

func (e *splitError) Error() string { return e.cause.Error() }

// ownError is a failure that says nothing about the next component.
type ownError struct{ error }

func (e *ownError) Unwrap() error { return e.error }

// finish counts the results of an attempt, and releases each emission or queues it again. It tells whether
// another worker runs in place of this one.
func (b *emitQueue) finish(ctx context.Context, es []*Emission, errs []error) (replaced bool) {
	gone := make([]bool, len(es))
	for i, e := range es {
		if gone[i] = b.count(ctx, e, errs[i]); gone[i] {
			b.release(e)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c := es[0].call
	shared, failed := len(es) > 1, false
	for i, e := range es {
		err := errs[i]
		if e.idled {
			e.idled = false
			b.countIdle(e, -1)
		}
		e.call = nil
		b.countOut(e, -1)
		delete(b.inFlight, e)
		if gone[i] {
			b.done(e, err == nil && e.Held == 0)
			continue
		}
		if shared {
			e.alone = true
		}
		if _, split := err.(*splitError); !split {
			b.failed(e, err, shared, !failed)
			failed = true
		}
		if b.closed && e.parked && b.store != nil {
			b.leave(e)
			delete(b.busy, e.Key.kept()) // the spool keeps it, and what waits behind it
		} else {
			b.waiting += e.inMemory
			b.classOf(e).add(e)
		}
	}
	// Several emissions may have waited for memory, for their share of the workers or for the end of an
	// outage.
	b.wake.Broadcast()
	return c.idle
}

// count counts the result of an attempt, and tells whether the emission is done with.
func (b *emitQueue) count(ctx context.Context, e *Emission, err error) (gone bool) {
	switch {
	case err == nil:
		b.counters.emitted.Add(int64(e.Held))
		b.counters.byReason[e.Reason].emissions.Add(1)
		b.counters.byReason[e.Reason].items.Add(int64(e.Held))
	case b.store != nil && ctx.Err() != nil:
		return false // the next start takes it up
	case ctx.Err() != nil:
		b.o.Logger.Error("evidence is lost: shutdown ran out of time",
			zap.Stringer("run_key", e.Key), zap.Int("items", e.Held), zap.Error(err))
		b.counters.droppedShutdown.Add(int64(e.Held))
	case consumererror.IsPermanent(err):
		b.o.Logger.Error("evidence is lost: the next component refused it for good",
			zap.Stringer("run_key", e.Key), zap.Int("items", e.Held), zap.Error(err))
		b.counters.droppedPermanent.Add(int64(e.Held))
	default:
		b.counters.retries.Add(1)
		return false
	}
	return true
}

// done removes an emission; the one that waits behind it is next. An empty emission was not passed on, so it is no success.
func (b *emitQueue) done(e *Emission, empty bool) {
	if !empty {
		b.successes++
		b.streak = 0
	}
	if e.failures > 0 {
		b.counters.failing.Add(-1)
	}
	if e.parked {
		b.counters.parked.Add(-1)
	}
	b.leave(e)
	key := e.Key.kept()
	waits := b.busy[key]
	if waits == nil {
		delete(b.busy, key)
		return
	}
	next := waits.list[0]
	if waits.list = waits.list[1:]; len(waits.list) == 0 {
		b.busy[key] = nil
	}
	b.classOf(next).add(next)
}

// failed decides when an emission is tried again. shared says that others had the same call, first that it is
// the first of its call to fail.
func (b *emitQueue) failed(e *Emission, err error, shared, first bool) {
	now := b.clock.now()
	_, own := err.(*ownError)
	if !own && first {
		b.streak++
	}
	if own || b.successes != e.seen && !shared {
		e.ownFailures++
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
	case e.ownFailures >= parkOwnFailures && now-e.since >= int64(b.o.ParkAfter):
		b.park(e)
		b.limited.error(traceParked, fields...)
	default:
		b.limited.warn(emissionFails, append(fields, zap.Duration("after", e.pause))...)
	}
}

// jitter spreads the attempts of what failed together: between half of d and d.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2+1)
}

func (b *emitQueue) release(e *Emission) {
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
