// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"hash/maphash"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"

	"github.com/tapedeck/tapedeck/internal/spool"
)

// shardQueue is how many requests may wait for a shard. The shard does no waiting of its own, so a few are enough to keep it
// busy; Admit waits beyond.
const shardQueue = 64

// shard owns the open traces of its part of the keys. Only its goroutine touches its fields.
type shard struct {
	o        *Options
	watch    stopwatch
	counters *counters
	announce *announcer
	filter   *filter
	out      *outbox
	store    *store // nil without a spool
	memo     *memo

	inbox chan shardRequest
	open  map[runKey]*openTrace
	// hot are the traces that have evidence in memory, cold those whose evidence is in the spool only.
	hot, cold traceList
	age       traceList // all of them
	wheel     *wheel
	seed      maphash.Seed
	// beat, of one shard alone, tells the next process how long this one has listened.
	beat func(now int64)
}

// shardRequest is the part of a request that concerns one shard, or a question to it.
type shardRequest struct {
	fragments []recorded
	links     []unattachedLinks
	ask       func(*shard)
}

// recorded is a fragment with the name of its record, 0 without a spool.
type recorded struct {
	Fragment
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
			now := s.watch.now()
			if s.beat != nil {
				s.beat(now)
			}
			s.wheel.advance(now, s.look)
		}
	}
}

func (s *shard) adopt(r shardRequest) {
	now := s.watch.now()
	for i := range r.fragments {
		s.adoptFragment(&r.fragments[i], now)
	}
	for _, l := range r.links {
		s.adoptLinks(l)
	}
	s.relieve()
}

// adoptLinks keeps the record of links that tell something with the evidence that they belong to. Links of traces that are not open
// are nothing.
func (s *shard) adoptLinks(l unattachedLinks) {
	t := s.open[l.key.kept()]
	if t == nil || t.rootCame {
		s.release(l.id)
		return
	}
	needed := t.allLinked(l.links)
	if t.nodes == nil {
		// Which of them are wanted is known when they are read back.
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
		s.cool(t)
	}
	s.reschedule(t)
}

func (s *shard) adoptFragment(f *recorded, now int64) {
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
	// A known id is a repetition, or another payload under the same id, which is evidence of its own. What is in the spool only is
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
		// What has been emitted can not be compared any more: a known id counts as a repetition.
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
		s.cool(t)
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

// trace finds the open trace of a fragment or opens it.
func (s *shard) trace(f *recorded, now int64) *openTrace {
	key := f.Key.kept()
	if t := s.open[key]; t != nil {
		return t
	}
	t := &openTrace{key: key, first: now, last: now, warm: &warm{traces: ptrace.NewTraces()}}
	if t.past, t.late = s.memo.recall(f.Key); !t.late {
		// Most spans name a parent that comes too: one node for each span.
		t.nodes = make(map[pcommon.SpanID]presence, f.Items)
	}
	s.add(t, f.hash)
	s.hot.pushBack(t)
	return t
}

// add makes a trace an open one, the youngest; the caller puts it into the order of use.
func (s *shard) add(t *openTrace, hash uint64) {
	s.open[t.key] = t
	s.age.pushBack(t)
	s.filter.add(hash)
	s.counters.openTraces.Add(1)
}

// remove is the opposite, order of use included.
func (s *shard) remove(t *openTrace) {
	s.listOf(t).remove(t)
	s.age.remove(t)
	s.wheel.remove(t)
	delete(s.open, t.key)
	s.filter.remove(hashOf(s.seed, t.key.trace))
	s.counters.openTraces.Add(-1)
}

// touch makes a trace the last one that leaves memory.
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
	now := s.watch.now()
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

// relieve makes room while all shards together hold too much: evidence that is in the spool leaves memory, evidence that is not is
// emitted. Those go first that were touched the longest time ago.
func (s *shard) relieve() {
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

// spill makes room.
func (s *shard) spill(t *openTrace) {
	s.counters.spilled.Add(1)
	s.announce.warn(spills, zap.Int64("memory_bytes", s.counters.memory.Load()))
	s.cool(t)
}

// cool lets the evidence of a trace be in the spool only. Its span ids go too: a run of many spans would go on taking memory that
// nothing bounds. Those of earlier emissions are remembered where they came from.
func (s *shard) cool(t *openTrace) {
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
			s.memo.remember(t.key.key(), t.past)
		}
		t.nodes, t.wanted, t.elsewhere = nil, 0, 0
	}
	s.cold.pushBack(t)
}

// emit hands the evidence of a trace over. It stays counted as held until the next component has taken it.
func (s *shard) emit(t *openTrace, reason Reason) {
	key := t.key.key()
	switch reason {
	case Bytes, Spans:
		s.announce.warn(traceBound, zap.Stringer("run_key", key), zap.Stringer("reason", reason), zap.Int32("items", t.items), zap.Int64("bytes", t.bytes))
	case Traces:
		s.announce.warn(traceCount, zap.Stringer("run_key", key))
	}
	e := &Emission{
		Key: key, Reason: reason,
		bytes: t.bytes, records: t.records, cold: int(t.cold), accepted: int(t.items),
	}
	if t.warm != nil {
		e.Traces, e.inMemory = t.traces, t.inMemory
		s.counters.openMemory.Add(-t.inMemory)
	}
	if t.cold > 0 {
		e.past, e.remember = t.past, s.memo
	} else {
		if earlier, ok := s.memo.recall(key); ok {
			t.after(earlier, t.traces) // became known while this trace was open
		}
		e.Held, e.Items, e.Complete = int(t.items), int(t.distinct), t.complete()
		s.memo.remember(key, t.past)
	}
	s.remove(t)
	s.out.push(e)
}

// release lets go of a record that brought nothing.
func (s *shard) release(id spool.ID) {
	if id != 0 {
		s.store.release([]spool.ID{id})
	}
}
