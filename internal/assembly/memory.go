// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.uber.org/zap"
)

// Options configure a Memory.
type Options struct {
	// QuietPeriod without a new item ends a trace whose root has ended, IdleTimeout any trace; MaxAge after its first item ends any
	// trace.
	QuietPeriod, IdleTimeout, MaxAge time.Duration

	// MaxTraceBytes and MaxTraceSpans bound one trace: reaching one emits it at once.
	MaxTraceBytes int64
	MaxTraceSpans int
	// MaxTraces bounds the open traces: exceeding it emits the oldest of the shard that brought the last one.
	MaxTraces int
	// MaxBytes bounds everything held: a request that would exceed it is refused whole. Open traces get three quarters of it, beyond
	// which the oldest are emitted; the rest is for what is on its way out, so that a few slow emissions do not refuse requests.
	MaxBytes int64

	// Emit passes an emission on; EmitConcurrency calls run at once.
	Emit            EmitFunc
	EmitConcurrency int
	// InitialBackoff doubles with each failure of one emission, up to MaxBackoff.
	InitialBackoff, MaxBackoff time.Duration

	// Shards is the number of goroutines that group; 0 is one for each CPU.
	Shards int
	// Clock is the wall clock when nil.
	Clock clockwork.Clock
	// Logger is silent when nil.
	Logger *zap.Logger
}

func (o *Options) maxOpenBytes() int64 { return o.MaxBytes / 4 * 3 }

// tick is the accuracy of deadlines: an eighth of the shortest one, between 10 ms (finer only burns CPU) and 1 s.
func (o *Options) tick() time.Duration {
	return min(max(min(o.QuietPeriod, o.IdleTimeout, o.MaxAge)/8, 10*time.Millisecond), time.Second)
}

// abandonAfter is how long Shutdown waits for calls that were told to end by their context.
const abandonAfter = time.Second

// Memory is an Assembler that holds evidence in memory. What it holds is lost when the process dies.
//
// Evidence is held as pdata that was moved, not as bytes: marshalling and unmarshalling again costs several times more CPU than
// keeping the structs (BenchmarkHold), and what is held in memory at all does not wait for long.
type Memory struct {
	o        Options
	counters counters
	filter   filter
	seed     maphash.Seed
	seq      atomic.Uint64
	shards   []*shard
	out      *outbox
	running  sync.WaitGroup // shards

	// mu is held for reading by Admit, so that Shutdown closes no queue that somebody writes to.
	mu      sync.RWMutex
	started bool
	closed  bool
	cancel  context.CancelFunc
}

var _ Assembler = (*Memory)(nil)

// NewMemory returns an assembler that is not started.
func NewMemory(o Options) *Memory {
	if o.Shards == 0 {
		o.Shards = runtime.GOMAXPROCS(0)
	}
	if o.Clock == nil {
		o.Clock = clockwork.NewRealClock()
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	m := &Memory{o: o, seed: maphash.MakeSeed()}
	m.out = newOutbox(&m.o, &m.counters)
	for range o.Shards {
		m.shards = append(m.shards, &shard{
			o: &m.o, counters: &m.counters, filter: &m.filter, seq: &m.seq, out: m.out,
			inbox:      make(chan shardRequest, shardQueue),
			open:       map[Key]*openTrace{},
			wheel:      newWheel(o.tick(), o.Clock.Now()),
			remembered: map[Key]past{},
			maxNodes:   rememberedNodes / o.Shards,
		})
	}
	return m
}

// Start begins to emit. The context of Start does not bound the life of the assembler.
func (m *Memory) Start(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started || m.closed {
		return errors.New("assembly: started twice or after shutdown")
	}
	m.started = true
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	m.out.start(ctx)
	for _, s := range m.shards {
		m.running.Go(s.run)
	}
	return nil
}

// Admit implements Assembler. It does not look at ctx: shards never wait for anything, and a request must not be admitted in part.
func (m *Memory) Admit(_ context.Context, size Size, take func() Request) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if !m.started || m.closed {
		return ErrClosed
	}
	if size.Bytes > m.o.MaxBytes {
		m.counters.refusedTooLarge.Add(1)
		return fmt.Errorf("%w: %d bytes, max_bytes is %d", ErrTooLarge, size.Bytes, m.o.MaxBytes)
	}
	if size.Items > 0 && m.counters.bytes.Add(size.Bytes) > m.o.MaxBytes {
		m.counters.bytes.Add(-size.Bytes)
		m.counters.refusedFull.Add(1)
		return ErrFull
	}
	m.dispatch(take())
	return nil
}

// dispatch hands each shard its part of the request.
func (m *Memory) dispatch(r Request) {
	parts := make([]shardRequest, len(m.shards))
	for _, f := range r.Fragments {
		hash := m.hash(f.Key.TraceID)
		part := &parts[m.shardOf(hash)]
		part.fragments = append(part.fragments, hashedFragment{f, hash})
	}
	for _, l := range r.Links {
		part := &parts[m.shardOf(m.hash(l.Key.TraceID))]
		part.links = append(part.links, l)
	}
	for i, part := range parts {
		if len(part.fragments)+len(part.links) > 0 {
			m.shards[i].inbox <- part
		}
	}
}

// hash is seeded: trace ids are chosen by the sender, who must not choose the shard.
func (m *Memory) hash(id pcommon.TraceID) uint64 { return maphash.Bytes(m.seed, id[:]) }

// shardOf uses the upper bits, because the filter uses the lower ones.
func (m *Memory) shardOf(hash uint64) int { return int((hash >> 32) % uint64(len(m.shards))) }

// MayHold implements Assembler.
func (m *Memory) MayHold(id pcommon.TraceID) bool {
	return m.counters.openTraces.Load() > 0 && m.filter.mayHold(m.hash(id))
}

// Stats implements Assembler.
func (m *Memory) Stats() Stats { return m.counters.stats() }

// Shutdown implements Assembler.
func (m *Memory) Shutdown(ctx context.Context) error {
	m.mu.Lock()
	if !m.started || m.closed {
		m.closed = true
		m.mu.Unlock()
		return nil
	}
	m.closed = true
	for _, s := range m.shards {
		close(s.inbox)
	}
	m.mu.Unlock()
	m.running.Wait()

	// The shards have ended; what they own belongs to this goroutine now.
	type owned struct {
		shard *shard
		trace *openTrace
	}
	var open []owned
	for _, s := range m.shards {
		for t := s.order.front; t != nil; t = t.next {
			open = append(open, owned{s, t})
		}
	}
	slices.SortFunc(open, func(a, b owned) int { return cmp.Compare(a.trace.seq, b.trace.seq) })
	for _, o := range open {
		o.shard.emit(o.trace, Shutdown)
	}
	m.out.close()

	done := make(chan struct{})
	go func() {
		m.out.workers.Wait()
		close(done)
	}()
	defer m.cancel()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	m.cancel()
	select {
	case <-done:
	case <-m.o.Clock.After(abandonAfter):
	}
	return fmt.Errorf("assembly: shutdown ran out of time, %d items lost: %w", m.counters.droppedShutdown.Load()+m.counters.held.Load(), ctx.Err())
}
