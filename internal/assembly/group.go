// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.uber.org/zap"

	"github.com/tapedeck/tapedeck/internal/assembly/spool"
)

// Options configure an Assembler.
type Options struct {
	// QuietPeriod without a new item ends a trace whose root has ended, IdleTimeout any trace; MaxAge after its first item ends any
	// trace.
	QuietPeriod, IdleTimeout, MaxAge time.Duration

	// MaxTraceBytes and MaxTraceSpans bound one trace: reaching one emits it at once. With a spool, an eighth of MaxBytes bounds it too.
	MaxTraceBytes int64
	MaxTraceSpans int
	// MaxTraces bounds the open traces. Exceeding it emits the least recently used trace of the shard that
	// opened the last one. Four times as many may wait to be emitted, half of them of one tenant. Requests
	// that would exceed that are refused.
	MaxTraces int
	// MaxBytes bounds all evidence in memory. A request that would exceed it is refused whole. Open traces get a part of it. Beyond that part
	// the least recently used ones are spilled, or emitted when there is no spool. The rest is for requests and emissions in progress, so
	// that a few slow emissions do not cause refusals.
	MaxBytes int64

	// OpenSpool opens the spool when the assembler starts. Without one, evidence is held in memory only.
	OpenSpool OpenSpool
	// Park lets Shutdown leave open traces in the spool for the next start.
	Park bool

	// Emit passes an emission on; EmitConcurrency calls work at once. Calls that are idle are bounded by the memory of their emissions. EmitTimeout ends the context of a call; 0 is no bound.
	// EmitBatch, if there is one, passes tiny emissions of a backlog on together.
	Emit            EmitFunc
	EmitBatch       EmitBatchFunc
	EmitConcurrency int
	EmitTimeout     time.Duration
	// InitialBackoff doubles with each failure of one emission, up to MaxBackoff.
	InitialBackoff, MaxBackoff time.Duration
	// ParkAfter is how long an emission fails, while others do not, before it is tried only every ParkedInterval.
	ParkAfter, ParkedInterval time.Duration

	// Shards is the number of goroutines that group; 0 is one for each CPU.
	Shards int
	// Clock is the wall clock when nil.
	Clock clockwork.Clock
	// Logger is silent when nil.
	Logger *zap.Logger
}

// With a spool, evidence in memory is a cache: it saves reading it back, which costs about what the garbage collector takes for holding it. So these bound it,
// however large MaxBytes is, in bytes of evidence as it is counted.
const (
	maxCachedOpen    = 32 << 20 // of open traces
	maxCachedWaiting = 8 << 20  // of emissions that wait
	// maxWorking is how much the next component works on at a time in each size class, beyond one emission: deriving takes several times the bytes.
	maxWorking = 8 << 20
)

// maxOpenMemory is the part of MaxBytes for open traces. With a spool it is one half at most, because reading back needs memory too.
func (o *Options) maxOpenMemory() int64 {
	if o.OpenSpool != nil {
		return min(o.MaxBytes/2, maxCachedOpen)
	}
	return o.MaxBytes / 4 * 3
}

// maxLoaded is the part of MaxBytes that each size class of the emit queue may take in flight. So a slow large emission delays other large
// ones only. maxWaiting is the part for emissions that wait with their evidence in memory although the spool has it. So calls that do not
// return never take the memory that requests need.
func (o *Options) maxLoaded() int64  { return max(o.MaxBytes/8, 1) }
func (o *Options) maxWaiting() int64 { return min(o.MaxBytes/8, maxCachedWaiting) }

// tick is the accuracy of deadlines: an eighth of the shortest one, between 10 ms (finer only burns CPU) and 1 s.
func (o *Options) tick() time.Duration {
	return min(max(min(o.QuietPeriod, o.IdleTimeout, o.MaxAge)/8, 10*time.Millisecond), time.Second)
}

const (
	// parkTimeout is how long a Shutdown that parks waits for calls in progress. Most take less. While the store is away they do not end at
	// all.
	parkTimeout = 2 * time.Second
	// cancelTimeout is how long Shutdown waits for calls whose context it has cancelled.
	cancelTimeout = time.Second
)

// Assembler groups evidence.
//
// What is in memory is pdata that was moved, not bytes: marshalling and unmarshalling again costs several times more CPU than
// keeping the structs (BenchmarkHold). With a spool it is marshalled once, on its way in, and unmarshalled only if it left memory.
type Assembler struct {
	o        Options
	counters counters
	limited  rateLimitedLog
	filter   *filter
	seed     maphash.Seed
	clock    monotonicClock
	store    *store
	shards   []*shard
	emits    *emitQueue
	running  sync.WaitGroup // shards

	// mu is held for reading by Admit, so that Shutdown closes no queue that somebody writes to.
	mu      sync.RWMutex
	started bool
	closed  bool
	cancel  context.CancelFunc
}

// New returns an assembler that is not started.
func New(o Options) *Assembler {
	if o.Shards == 0 {
		o.Shards = runtime.GOMAXPROCS(0)
	}
	if o.Clock == nil {
		o.Clock = clockwork.NewRealClock()
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	o.Park = o.Park && o.OpenSpool != nil
	if o.OpenSpool != nil {
		// A trace that is larger could not be read back within the bound.
		o.MaxTraceBytes = min(o.MaxTraceBytes, o.maxLoaded())
	}
	a := &Assembler{o: o, seed: maphash.MakeSeed(), clock: monotonicClock{o.Clock, o.Clock.Now()}, filter: newFilter(o.MaxTraces)}
	a.limited = rateLimitedLog{logger: o.Logger, clock: a.clock}
	a.emits = newEmitQueue(&a.o, &a.counters, &a.limited, a.clock)
	for range o.Shards {
		a.shards = append(a.shards, &shard{
			o: &a.o, clock: a.clock, counters: &a.counters, limited: &a.limited, filter: a.filter, emits: a.emits,
			inbox:  make(chan shardRequest, shardQueue),
			open:   map[runKey]*openTrace{},
			age:    traceList{order: byAge},
			wheel:  newWheel(o.tick()),
			seed:   a.seed,
			recent: newRecentTraces(rememberedNodes / o.Shards),
		})
	}
	return a
}

// Start opens the spool, opens the traces in it again, and begins to emit. The context of Start does not bound the life of the assembler.
func (a *Assembler) Start(context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.started || a.closed {
		return errors.New("assembly: started twice or after shutdown")
	}
	if a.o.OpenSpool != nil {
		if err := a.recover(); err != nil {
			return fmt.Errorf("open the spool: %w", err)
		}
	}
	a.started = true
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel = cancel
	a.emits.start(ctx)
	for _, s := range a.shards {
		a.running.Go(s.run)
	}
	return nil
}

// Admit admits a request whole or refuses it whole. size is what the request will hold. If that fits, take is called once and returns the
// evidence, which the assembler then owns. When Admit returns an error, the caller owns the evidence again. With a spool, Admit returns when
// the evidence is durable. It ignores the deadline of ctx, because a request must not be admitted in part.
func (a *Assembler) Admit(ctx context.Context, size Size, take func() Request) error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if !a.started || a.closed {
		return ErrClosed
	}
	if size.Bytes > a.o.MaxBytes {
		a.counters.refusedTooLarge.Add(1)
		a.limited.warn(requestTooLarge, zap.Int64("bytes", size.Bytes))
		return fmt.Errorf("%w: %d bytes, the bound is %d", ErrTooLarge, size.Bytes, a.o.MaxBytes)
	}
	if size.Items > 0 && a.counters.memory.Add(size.Bytes) > a.o.MaxBytes {
		a.counters.memory.Add(-size.Bytes)
		a.counters.refusedFull.Add(1)
		a.limited.warn(memoryFull, zap.Int64("held_items", a.counters.held.Load()))
		return ErrFull
	}
	if size.Items > 0 && !a.emits.room(size.Tenants, size.Traces) {
		a.counters.memory.Add(-size.Bytes)
		a.counters.refusedBacklog.Add(1)
		a.limited.warn(backlogFull, zap.Int64("waiting_traces", a.counters.waiting.Load()))
		return fmt.Errorf("%w: too many traces wait to be passed on", ErrFull)
	}
	whole := a.sort(take())
	if a.store != nil {
		if err := a.store.append(ctx, &whole, a.clock); err != nil {
			if size.Items > 0 {
				a.counters.memory.Add(-size.Bytes)
			}
			return a.refused(err)
		}
	}
	a.dispatch(whole)
	return nil
}

// refused names the cause of a refusal by the spool.
func (a *Assembler) refused(err error) error {
	if errors.Is(err, spool.ErrTooLarge) {
		a.counters.refusedTooLarge.Add(1)
		a.limited.warn(requestTooLarge, zap.Error(err))
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	a.counters.refusedSpool.Add(1)
	a.limited.warn(spoolRefuses, zap.Error(err))
	if errors.Is(err, spool.ErrFull) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return fmt.Errorf("spool: %w", err)
}

// sort puts links to the chunks that they belong to, as far as one record takes them.
func (a *Assembler) sort(r Request) shardRequest {
	whole := shardRequest{chunks: make([]recorded, len(r.Chunks))}
	for i, f := range r.Chunks {
		whole.chunks[i] = recorded{TraceChunk: f, hash: a.hash(f.Key.TraceID)}
	}
	if len(r.Links) == 0 {
		return whole
	}
	chunks, unattached := map[Key]int{}, map[Key]int{}
	for i, f := range r.Chunks {
		chunks[f.Key] = i
	}
	for _, l := range r.Links {
		e := edge{l.ID, l.Parent, l.Remote}
		if i, ok := chunks[l.Key]; ok && len(whole.chunks[i].links) < maxLinks {
			whole.chunks[i].links = append(whole.chunks[i].links, e)
			continue
		}
		i, ok := unattached[l.Key]
		if !ok || len(whole.links[i].links) == maxLinks {
			i = len(whole.links)
			unattached[l.Key] = i
			whole.links = append(whole.links, unattachedLinks{key: l.Key})
		}
		whole.links[i].links = append(whole.links[i].links, e)
	}
	return whole
}

// dispatch hands each shard its part of the request.
func (a *Assembler) dispatch(whole shardRequest) {
	if len(a.shards) == 1 {
		a.shards[0].inbox <- whole
		return
	}
	parts := make([]shardRequest, len(a.shards))
	for _, f := range whole.chunks {
		part := &parts[a.shardOf(f.hash)]
		part.chunks = append(part.chunks, f)
	}
	for _, l := range whole.links {
		part := &parts[a.shardOf(a.hash(l.key.TraceID))]
		part.links = append(part.links, l)
	}
	for i, part := range parts {
		if len(part.chunks)+len(part.links) > 0 {
			a.shards[i].inbox <- part
		}
	}
}

// hash is seeded: trace ids are chosen by the sender, who must not choose the shard.
func (a *Assembler) hash(id pcommon.TraceID) uint64 { return hashOf(a.seed, id) }

func hashOf(seed maphash.Seed, id pcommon.TraceID) uint64 { return maphash.Bytes(seed, id[:]) }

// shardOf uses the upper bits, because the filter uses the lower ones.
func (a *Assembler) shardOf(hash uint64) int { return int((hash >> 32) % uint64(len(a.shards))) }

// MayHold tells whether evidence of the trace may be held now. It can be wrong only by saying yes, and takes a few nanoseconds. Links of
// traces for which it says no need not be sent.
func (a *Assembler) MayHold(id pcommon.TraceID) bool {
	return a.counters.openTraces.Load() > 0 && a.filter.mayHold(a.hash(id))
}

// Stats are the counters since Start.
func (a *Assembler) Stats() Stats { return a.counters.stats() }

// OpenTraces describes the open traces, the oldest first, at most limit of them.
func (a *Assembler) OpenTraces(limit int) []OpenTrace {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if !a.started || a.closed {
		return nil
	}
	found := make(chan []OpenTrace, len(a.shards))
	for _, s := range a.shards {
		s.inbox <- shardRequest{ask: func(s *shard) { found <- s.oldest(limit) }}
	}
	var all []OpenTrace
	for range a.shards {
		all = append(all, <-found...)
	}
	return oldestOf(all, limit)
}

// Shutdown emits the held evidence in arrival order until ctx ends. With a spool, evidence stays there if Options.Park is set or when time
// runs out. Without a spool, Shutdown drops and counts what is left when time runs out.
func (a *Assembler) Shutdown(ctx context.Context) error {
	a.mu.Lock()
	if !a.started || a.closed {
		a.closed = true
		a.mu.Unlock()
		return nil
	}
	a.closed = true
	for _, s := range a.shards {
		close(s.inbox)
	}
	a.mu.Unlock()
	a.running.Wait()
	if !a.o.Park {
		a.emitAll()
	}
	a.emits.close(a.o.Park)
	err := a.drain(ctx)
	if a.store != nil {
		err = errors.Join(err, a.store.spool.Close())
	}
	return err
}

// emitAll emits the open traces. The shards have ended; what they own belongs to this goroutine now.
func (a *Assembler) emitAll() {
	type owned struct {
		shard *shard
		trace *openTrace
	}
	var open []owned
	for _, s := range a.shards {
		for _, t := range s.open {
			open = append(open, owned{s, t})
		}
	}
	slices.SortFunc(open, func(x, y owned) int { return olderFirst(x.trace, y.trace) })
	for _, o := range open {
		o.shard.emit(o.trace, Shutdown)
	}
}

func olderFirst(x, y *openTrace) int {
	return cmp.Or(cmp.Compare(x.first, y.first), bytes.Compare(x.key.trace[:], y.key.trace[:]), cmp.Compare(x.key.tenant.Value(), y.key.tenant.Value()))
}

// FailingRuns describes emissions that failed, at most limit of them, the parked ones first.
func (a *Assembler) FailingRuns(limit int) []FailingRun { return a.emits.failingRuns(limit) }

// drain waits for the workers until ctx ends. When open traces are parked it waits for calls in progress no longer than parkTimeout, because
// the spool keeps what they do not deliver.
func (a *Assembler) drain(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		a.emits.workers.Wait()
		close(done)
	}()
	defer a.cancel()
	var timeout <-chan time.Time
	if a.o.Park {
		timer := a.o.Clock.NewTimer(parkTimeout)
		defer timer.Stop()
		timeout = timer.Chan()
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	case <-timeout:
	}
	a.cancel()
	select {
	case <-done:
	case <-a.o.Clock.After(cancelTimeout):
	}
	if a.store != nil {
		a.o.Logger.Info("calls were cancelled by shutdown; what they did not deliver stays in the spool", zap.Int64("items", a.counters.held.Load()))
		return nil
	}
	return fmt.Errorf("assembly: shutdown ran out of time, %d items lost: %w", a.counters.droppedShutdown.Load()+a.counters.held.Load(), ctx.Err())
}
