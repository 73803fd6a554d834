// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import "sync/atomic"

// Stats counts items (spans) unless a name says otherwise.
type Stats struct {
	// Accepted = Emitted + Held + DroppedPermanent + DroppedShutdown.
	Accepted int64
	Emitted  int64
	Held     int64
	// DroppedPermanent were refused for good by the next component.
	DroppedPermanent int64
	// DroppedShutdown were still held when shutdown ran out of time.
	DroppedShutdown int64

	// Duplicates were held already, byte for byte. They vanish and are not among Accepted.
	Duplicates int64
	// Late came after their trace had been emitted. They are among Accepted.
	Late int64

	HeldBytes  int64
	OpenTraces int64
	// Retries counts emissions that failed and were tried again.
	Retries int64
	// RefusedFull and RefusedTooLarge count requests.
	RefusedFull     int64
	RefusedTooLarge int64

	ByReason [reasons]ReasonStats
}

// ReasonStats counts what was emitted for one reason.
type ReasonStats struct {
	Emissions int64
	Items     int64
}

type counters struct {
	accepted, emitted, held           atomic.Int64
	droppedPermanent, droppedShutdown atomic.Int64
	duplicates, late                  atomic.Int64
	retries                           atomic.Int64
	refusedFull, refusedTooLarge      atomic.Int64
	// bytes is the room that is taken: requests on their way into a shard, open traces, emissions that are not let go.
	bytes atomic.Int64
	// openBytes and openTraces are the part of it that waits for the end of a trace.
	openBytes, openTraces atomic.Int64
	byReason              [reasons]struct{ emissions, items atomic.Int64 }
}

func (c *counters) stats() Stats {
	s := Stats{
		Accepted:         c.accepted.Load(),
		Emitted:          c.emitted.Load(),
		Held:             c.held.Load(),
		DroppedPermanent: c.droppedPermanent.Load(),
		DroppedShutdown:  c.droppedShutdown.Load(),
		Duplicates:       c.duplicates.Load(),
		Late:             c.late.Load(),
		HeldBytes:        c.bytes.Load(),
		OpenTraces:       c.openTraces.Load(),
		Retries:          c.retries.Load(),
		RefusedFull:      c.refusedFull.Load(),
		RefusedTooLarge:  c.refusedTooLarge.Load(),
	}
	for i := range s.ByReason {
		s.ByReason[i] = ReasonStats{Emissions: c.byReason[i].emissions.Load(), Items: c.byReason[i].items.Load()}
	}
	return s
}
