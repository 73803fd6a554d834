// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import "unique"

// The order of emissions is start-time fair queueing: each emission gets a turn, and the one with the lowest
// turn goes next. The emissions of one flow get turns one stride apart. The first one of a flow gets the turn
// of what was emitted last. So it waits for about one emission of each other flow, however many of them wait,
// and flows share the workers by their strides.

// flowKey names a flow. Debris is what leaves without its root because nothing more came, or because others
// came: it may be anything, and much of it may come at once.
type flowKey struct {
	tenant unique.Handle[string]
	debris bool
}

// flow is emissions that take turns with those of other flows.
type flow struct {
	key  flowKey
	next int64 // turn of its next emission
	n    int   // emissions in the queue, those in flight included
}

// The strides: of a tenant, four runs that are complete leave for each piece of debris while both wait.
const (
	strideComplete = 1
	strideDebris   = 4
)

// stride is how many turns lie between two emissions of a flow.
func (k flowKey) stride() int64 {
	if k.debris {
		return strideDebris
	}
	return strideComplete
}

// isDebris tells whether a trace that leaves for a reason is debris.
func (t *openTrace) isDebris(reason Reason, o *Options) bool {
	switch {
	case t.rootCame, reason == RootEnded, reason == Spans, reason == Bytes && t.bytes >= o.MaxTraceBytes:
		return false
	}
	return true
}

// before tells whether the turn of e comes before that of other.
func (e *Emission) before(other *Emission) bool {
	if e.turn != other.turn {
		return e.turn < other.turn
	}
	return e.number < other.number
}

// line puts an emission into its flow and gives it its turn, which it keeps when it fails. So an outage, in
// which everything fails, changes no order.
func (b *emitQueue) line(e *Emission) {
	key := flowKey{unique.Make(e.Key.Tenant), e.debris}
	f := b.flows[key]
	if f == nil {
		f = &flow{key: key}
		b.flows[key] = f
	}
	e.flow, e.turn, e.number = f, max(f.next, b.turn), b.pushed
	f.next = e.turn + key.stride()
	f.n++
	b.pushed++
	b.queued++
	b.counters.waiting.Store(int64(b.queued))
}

// leave takes an emission out of its flow. A flow without emissions is forgotten, so that there are no more
// flows than emissions. Retries tell whose turn it is only when all of them are due: until then they come out
// of order.
func (b *emitQueue) leave(e *Emission) {
	if !e.suspect() && (e.failures == 0 || len(b.small.retries)+len(b.large.retries) == 0) {
		b.turn = max(b.turn, e.turn)
	}
	f := e.flow
	if f.n--; f.n == 0 {
		delete(b.flows, f.key)
	}
	b.queued--
	b.counters.waiting.Store(int64(b.queued))
}

// waitingPerOpen is how many traces may wait for emission, for each that may be open.
const waitingPerOpen = 4

// maxQueued bounds the emissions of all tenants that wait, before requests are refused.
func (o *Options) maxQueued() int { return waitingPerOpen * o.MaxTraces }

// room tells whether requests of tenants may bring traces. A tenant may have as many emissions in the queue
// as the bound leaves free. So one tenant alone has half of it at most, two have a third each, and there is
// room for one that comes newly. A request with few traces finds room where one with many does not.
func (b *emitQueue) room(tenants []string, traces int) bool {
	if b.counters.waiting.Load() == 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	free, traces := b.o.maxQueued()-b.queued, min(traces, b.o.MaxTraces)
	for _, tenant := range tenants {
		own := traces
		for _, debris := range [...]bool{false, true} {
			if f := b.flows[flowKey{unique.Make(tenant), debris}]; f != nil {
				own += f.n
			}
		}
		if own > free {
			return false
		}
	}
	return true
}
