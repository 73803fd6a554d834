// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"hash/maphash"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"

	"github.com/tapedeck/tapedeck/internal/assembly/spool"
)

// shardQueue is how many requests may wait for a shard. A shard never blocks, so a few are enough to keep it busy. When the queue is full,
// Admit waits.
const shardQueue = 64

// shard owns the open traces of its part of the keys. Only its goroutine touches its fields.
type shard struct {
	o        *Options
	clock    monotonicClock
	counters *counters
	limited  *rateLimitedLog
	filter   *filter
	emits    *emitQueue
	store    *store // nil without a spool
	recent   *recentTraces

	inbox chan shardRequest
	open  map[runKey]*openTrace
	// hot are the traces that have evidence in memory, cold those whose evidence is in the spool only.
	hot, cold traceList
	age       traceList // all of them
	wheel     *wheel
	seed      maphash.Seed
	// heartbeat stores the uptime for the next process. Only one shard has it.
	heartbeat func(now int64)
}

// shardRequest is the part of a request that concerns one shard, or a question to it.
type shardRequest struct {
	chunks []recorded
	links  []unattachedLinks
	ask    func(*shard)
}

// recorded is a chunk with the name of its record, 0 without a spool.
type recorded struct {
	TraceChunk
	hash  uint64
	links []edge
	id    spool.ID
}

// unattachedLinks are links of a trace that has no evidence in the request.
type unattachedLinks struct {
	key   Key
	links []edge
	id    spool.ID
}

func (s *shard) run() {
	ticker := s.o.Clock.NewTicker(s.wheel.tick)
	defer ticker.Stop()
	for {
		select {
		case r, more := <-s.inbox:
			if !more {
				return
			}
			if r.ask != nil {
				r.ask(s)
			} else {
				s.adopt(r)
			}
		case <-ticker.Chan():
			now := s.clock.now()
			if s.heartbeat != nil {
				s.heartbeat(now)
			}
			s.wheel.advance(now, s.look)
		}
	}
}

func (s *shard) adopt(r shardRequest) {
	now := s.clock.now()
	for i := range r.chunks {
		s.adoptChunk(&r.chunks[i], now)
	}
	for _, l := range r.links {
		s.adoptLinks(l)
	}
	s.evict()
}

// adoptLinks keeps the record of links that the open trace needs. Links of traces that are not open are dropped.
func (s *shard) adoptLinks(l unattachedLinks) {
	t := s.open[l.key.kept()]
	if t == nil || t.rootCame {
		s.release(l.id)
		return
	}
	needed := t.allLinked(l.links)
	if t.nodes == nil {
		// Reading them back tells which of them are wanted.
		needed, t.probed = true, false
	}
	if !needed {
		s.release(l.id)
		return
	}
	if l.id != 0 {
		t.records = append(t.records, l.id)
	}
	if t.cold > 0 {
		s.evictTrace(t)
	}
	s.reschedule(t)
}

func (s *shard) adoptChunk(f *recorded, now int64) {
	t := s.trace(f, now)
	s.touch(t)
	s.counters.accepted.Add(int64(f.Items))
	s.counters.held.Add(int64(f.Items))
	fresh := int32(f.Items)
	if t.nodes != nil {
		fresh = t.allCame(f.Traces)
	} else {
		t.rootCame = t.rootCame || hasRoot(f.Traces)
		t.whole, t.probed = false, false
	}
	t.runCame = t.runCame || f.RunSpan
	// After the spans: a link may be the parent that one of them names.
	t.allLinked(f.links)

	items, bytes := int32(f.Items), f.Bytes
	// A known id is a repetition, or another payload under the same id, which is evidence of its own. Evidence that is only in the spool is
	// compared when it is read back.
	if t.cold == 0 && t.nodes != nil {
		if fresh < items && t.digests == nil {
			t.digests = digestsOf(t.traces)
		}
		if t.digests != nil {
			removed := int32(t.digests.removeHeld(f.Traces))
			items -= removed
			bytes = bytes * int64(items) / int64(f.Items)
			s.counters.duplicates.Add(int64(removed))
			s.counters.held.Add(-int64(removed))
			s.counters.memory.Add(bytes - f.Bytes)
			if items == 0 && len(f.links) == 0 {
				s.release(f.id)
				s.reschedule(t)
				return
			}
		}
	}
	if t.late {
		// Emitted spans cannot be compared any more, so a known id counts as a duplicate.
		t.distinct += fresh
		s.counters.late.Add(int64(items))
	} else {
		t.distinct += items
	}
	t.items += items
	t.bytes += bytes
	t.inMemory += bytes
	t.last = now
	if f.id != 0 {
		t.records = append(t.records, f.id)
	}
	merge(t.traces, f.Traces)
	s.counters.heldBytes.Add(bytes)
	s.counters.openMemory.Add(bytes)
	if t.cold > 0 && len(f.links) > 0 {
		s.evictTrace(t)
	}

	switch {
	case t.bytes >= s.o.MaxTraceBytes:
		s.emit(t, Bytes)
	case int(t.items) >= s.o.MaxTraceSpans:
		s.emit(t, Spans)
	default:
		s.reschedule(t)
	}
}

func hasRoot(td ptrace.Traces) bool {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				if span.ParentSpanID().IsEmpty() {
					return true
				}
			}
		}
	}
	return false
}

// trace finds the open trace of a chunk or opens it.
func (s *shard) trace(f *recorded, now int64) *openTrace {
	key := f.Key.kept()
	if t := s.open[key]; t != nil {
		return t
	}
	t := &openTrace{key: key, first: now, last: now, warm: &warm{traces: ptrace.NewTraces()}}
	if t.past, t.late = s.recent.recall(f.Key); !t.late {
		// Most spans name a parent that comes too: one node for each span.
		t.nodes = make(map[pcommon.SpanID]presence, f.Items)
	}
	s.add(t, f.hash)
	s.hot.pushBack(t)
	return t
}

// add opens a trace, as the youngest one. The caller adds it to hot or cold.
func (s *shard) add(t *openTrace, hash uint64) {
	s.open[t.key] = t
	s.age.pushBack(t)
	s.filter.add(hash)
	s.counters.openTraces.Add(1)
}

// remove removes a trace from all lists.
func (s *shard) remove(t *openTrace) {
	s.listOf(t).remove(t)
	s.age.remove(t)
	s.wheel.remove(t)
	delete(s.open, t.key)
	s.filter.remove(hashOf(s.seed, t.key.trace))
	s.counters.openTraces.Add(-1)
}

// touch makes a trace the most recently used one.
func (s *shard) touch(t *openTrace) {
	s.listOf(t).remove(t)
	if t.warm == nil {
		t.warm = &warm{traces: ptrace.NewTraces()}
	}
	s.hot.pushBack(t)
}

func (s *shard) listOf(t *openTrace) *traceList {
	if t.warm == nil {
		return &s.cold
	}
	return &s.hot
}

func (s *shard) reschedule(t *openTrace) {
	due, _ := s.due(t)
	s.wheel.schedule(t, due)
}

// look is called when the slot of a trace has come.
func (s *shard) look(t *openTrace) {
	now := s.clock.now()
	due, reason := s.due(t)
	if due <= now && t.undecidable() && reason == RootEnded {
		s.probe(t)
		due, reason = s.due(t)
	}
	if due > now {
		s.wheel.schedule(t, due)
	} else {
		s.emit(t, reason)
	}
}

// evict enforces the bounds on memory and on open traces while all shards together exceed them. Evidence that is in the spool leaves
// memory; without a spool it is emitted. The least recently used trace goes first.
func (s *shard) evict() {
	for {
		t := s.hot.front
		switch {
		case t != nil && s.counters.openMemory.Load() > s.o.maxOpenMemory():
			if s.store != nil {
				s.spill(t)
			} else {
				s.emit(t, Bytes)
			}
		case s.counters.openTraces.Load() > int64(s.o.MaxTraces):
			if s.cold.front != nil {
				t = s.cold.front
			}
			if t == nil {
				return
			}
			s.emit(t, Traces)
		default:
			return
		}
	}
}

// spill evicts a trace because the cache is full.
func (s *shard) spill(t *openTrace) {
	s.counters.spilled.Add(1)
	s.evictTrace(t)
}

// evictTrace removes the evidence of a trace from memory; the spool has it. Its span ids are removed too, because nothing bounds their
// memory. Those of earlier emissions go back to the recent traces.
func (s *shard) evictTrace(t *openTrace) {
	s.listOf(t).remove(t)
	if t.warm != nil {
		s.counters.openMemory.Add(-t.inMemory)
		s.counters.memory.Add(-t.inMemory)
		t.warm = nil
	}
	t.cold = int32(len(t.records))
	if t.nodes != nil {
		t.whole = t.ended()
		if t.late {
			s.recent.remember(t.key.key(), t.past)
		}
		t.nodes, t.wanted, t.elsewhere = nil, 0, 0
	}
	s.cold.pushBack(t)
}

// emit queues the evidence of a trace for emission. It stays counted as held until the next component has accepted it.
func (s *shard) emit(t *openTrace, reason Reason) {
	key := t.key.key()
	switch reason {
	case Bytes, Spans:
		s.limited.warn(traceBound, zap.Stringer("run_key", key), zap.Stringer("reason", reason), zap.Int32("items", t.items), zap.Int64("bytes", t.bytes))
	case Traces:
		s.limited.warn(traceCount, zap.Stringer("run_key", key))
	}
	e := &Emission{
		Key: key, Reason: reason,
		bytes: t.bytes, records: t.records, cold: int(t.cold), accepted: int(t.items),
		debris: t.isDebris(reason, s.o),
	}
	if t.warm != nil {
		e.Traces, e.inMemory = t.traces, t.inMemory
		s.counters.openMemory.Add(-t.inMemory)
	}
	if t.cold > 0 {
		e.past, e.remember = t.past, s.recent
	} else {
		if earlier, ok := s.recent.recall(key); ok {
			t.after(earlier, t.traces) // became known while this trace was open
		}
		e.Held, e.Items, e.Complete = int(t.items), int(t.distinct), t.complete()
		s.recent.remember(key, t.past)
	}
	s.remove(t)
	s.emits.push(e)
}

// release releases a record that is not needed.
func (s *shard) release(id spool.ID) {
	if id != 0 {
		s.store.release([]spool.ID{id})
	}
}
