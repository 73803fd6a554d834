// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

const (
	// shardQueue is how many requests may wait for a shard. The shard does no waiting of its own, so a few are enough to keep it
	// busy; Admit waits beyond.
	shardQueue = 64
	// rememberedNodes is how many span ids all shards together remember of traces that have been emitted, at about 30 bytes each: with
	// them, a late span finds its parent and the number of items stays true. Enough for the last 37,000 traces of 20 spans.
	rememberedNodes = 1 << 20
	// rememberedTrace is what a remembered trace costs beside its span ids, in the same unit.
	rememberedTrace = 8
)

// shard owns the open traces of its part of the keys. Only its goroutine touches its fields.
type shard struct {
	o        *Options
	counters *counters
	filter   *filter
	seq      *atomic.Uint64
	out      *outbox

	inbox chan shardRequest
	open  map[Key]*openTrace
	order traceList
	wheel *wheel

	// remembered traces, forgotten in the order of their emission when nodes exceeds maxNodes.
	remembered map[Key]past
	forget     []Key
	nodes      int
	maxNodes   int
}

type shardRequest struct {
	fragments []hashedFragment
	links     []Link
}

type hashedFragment struct {
	Fragment
	hash uint64
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
			s.adopt(r)
		case <-ticker.Chan():
			s.wheel.advance(s.o.Clock.Now(), s.look)
		}
	}
}

func (s *shard) adopt(r shardRequest) {
	now := s.o.Clock.Now()
	for i := range r.fragments {
		s.adoptFragment(&r.fragments[i], now)
	}
	// After the fragments: a link may be the parent that a span of the same request names.
	for _, l := range r.links {
		if t := s.open[l.Key]; t != nil {
			t.link(l.ID, l.Parent)
			s.reschedule(t)
		}
	}
	s.relieve()
}

func (s *shard) adoptFragment(f *hashedFragment, now time.Time) {
	t := s.trace(f, now)
	fresh := 0
	for _, rs := range f.Traces.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				if !t.came(span.SpanID(), span.ParentSpanID()) {
					fresh++
				}
			}
		}
	}
	t.runCame = t.runCame || f.RunSpan
	t.rooted = t.rooted || f.Rooted
	items, bytes := f.Items, f.Bytes
	// A known id is a repetition, or another payload under the same id, which is evidence of its own.
	if fresh < items && t.digests == nil {
		t.digests = digestsOf(t.traces)
	}
	if t.digests != nil {
		if removed := t.digests.removeHeld(f.Traces); removed > 0 {
			s.counters.duplicates.Add(int64(removed))
			items -= removed
			bytes = bytes * int64(items) / int64(f.Items)
			s.counters.bytes.Add(bytes - f.Bytes)
			if items == 0 {
				s.reschedule(t)
				return
			}
		}
	}
	if t.late {
		// What has been emitted can not be compared any more: a known id counts as a repetition.
		t.items += fresh
		s.counters.late.Add(int64(items))
	} else {
		t.items += items
	}
	t.held += items
	t.bytes += bytes
	t.last = now
	merge(t.traces, f.Traces)
	s.counters.accepted.Add(int64(items))
	s.counters.held.Add(int64(items))
	s.counters.openBytes.Add(bytes)

	switch {
	case t.bytes >= s.o.MaxTraceBytes:
		s.emit(t, Bytes)
	case t.held >= s.o.MaxTraceSpans:
		s.emit(t, Spans)
	default:
		s.reschedule(t)
	}
}

// trace finds the open trace of a fragment or opens it.
func (s *shard) trace(f *hashedFragment, now time.Time) *openTrace {
	if t := s.open[f.Key]; t != nil {
		return t
	}
	t := &openTrace{key: f.Key, hash: f.hash, seq: s.seq.Add(1), traces: ptrace.NewTraces(), first: now, last: now}
	if t.past, t.late = s.remembered[f.Key]; t.late {
		delete(s.remembered, f.Key)
		s.nodes -= t.weight()
	} else {
		// Most spans name a parent that comes too: one node for each span.
		t.nodes = make(map[pcommon.SpanID]bool, f.Items)
	}
	s.open[f.Key] = t
	s.order.pushBack(t)
	s.filter.add(f.hash)
	s.counters.openTraces.Add(1)
	return t
}

func (s *shard) reschedule(t *openTrace) {
	due, _ := t.due(s.o)
	s.wheel.schedule(t, due)
}

// look is called when the slot of a trace has come.
func (s *shard) look(t *openTrace) {
	if due, reason := t.due(s.o); due.After(s.o.Clock.Now()) {
		s.wheel.schedule(t, due)
	} else {
		s.emit(t, reason)
	}
}

// relieve emits the oldest traces of this shard while all shards together hold too much open.
func (s *shard) relieve() {
	for s.order.front != nil {
		switch {
		case s.counters.openBytes.Load() > s.o.maxOpenBytes():
			s.emit(s.order.front, Bytes)
		case s.counters.openTraces.Load() > int64(s.o.MaxTraces):
			s.emit(s.order.front, Traces)
		default:
			return
		}
	}
}

// emit hands the evidence of a trace over. It stays counted as held until the next component has taken it.
func (s *shard) emit(t *openTrace, reason Reason) {
	t.closed = true
	delete(s.open, t.key)
	s.order.remove(t)
	s.filter.remove(t.hash)
	s.counters.openTraces.Add(-1)
	s.counters.openBytes.Add(-t.bytes)
	s.out.push(&Emission{
		Key:      t.key,
		Traces:   t.traces,
		Held:     t.held,
		Items:    t.items,
		Complete: t.complete(),
		Reason:   reason,
		bytes:    t.bytes,
	})
	s.remember(t.key, t.past)
	// The wheel may still point here.
	t.traces, t.digests, t.past = ptrace.Traces{}, nil, past{}
}

// remember keeps what late spans of the trace need, and forgets the traces that were emitted the longest time ago.
func (s *shard) remember(k Key, p past) {
	s.remembered[k] = p
	s.nodes += p.weight()
	s.forget = append(s.forget, k)
	for s.nodes > s.maxNodes || len(s.forget) > 2*len(s.remembered)+1 {
		oldest := s.forget[0]
		s.forget = s.forget[1:]
		// A trace that was opened again stands twice in the list; forgetting it early is harmless.
		if gone, ok := s.remembered[oldest]; ok {
			delete(s.remembered, oldest)
			s.nodes -= gone.weight()
		}
	}
}
