// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import "sync/atomic"

// Stats counts items (spans) unless a name says otherwise.
type Stats struct {
	// Accepted + Recovered = Emitted + Duplicates + Held + DroppedPermanent + DroppedShutdown + DroppedCorrupt.
	Accepted int64
	// Recovered were in the spool at the start.
	Recovered int64
	Emitted   int64
	Held      int64
	// DroppedPermanent were refused for good by the next component.
	DroppedPermanent int64
	// DroppedShutdown were still held in memory alone when shutdown ran out of time.
	DroppedShutdown int64
	// DroppedCorrupt were in damaged records of the spool.
	DroppedCorrupt int64

	// Duplicates were held already, whatever the order of their attributes, and were removed.
	Duplicates int64
	// Late came after their trace had been emitted. They are among Accepted.
	Late int64

	// HeldBytes is the accounted size of what is held, MemoryBytes of what is in memory.
	HeldBytes   int64
	MemoryBytes int64
	OpenTraces  int64
	// Waiting counts the emissions that wait, in flight or parked ones included.
	Waiting int64
	// Spilled counts the times that the evidence of a trace left memory for the spool, Loaded the times that some was read back.
	Spilled, Loaded int64
	// ReleaseErrors counts releases that the spool refused; their records come back with the next start.
	ReleaseErrors int64
	// Retries counts emissions that failed and were tried again. Failing are those that have failed and have not gone out since, Parked
	// those that are tried rarely.
	Retries         int64
	Failing, Parked int64
	// RefusedFull (memory), RefusedBacklog (too many traces wait to be emitted), RefusedSpool (disk full, or
	// failing) and RefusedTooLarge count requests.
	RefusedFull     int64
	RefusedBacklog  int64
	RefusedSpool    int64
	RefusedTooLarge int64

	ByReason [reasons]ReasonStats
}

// ReasonStats counts what was emitted for one reason.
type ReasonStats struct {
	Emissions int64
	Items     int64
}

type counters struct {
	accepted, recovered, emitted, held                atomic.Int64
	droppedPermanent, droppedShutdown, droppedCorrupt atomic.Int64
	duplicates, late                                  atomic.Int64
	retries, failing, parked, releaseErrors           atomic.Int64
	spilled, loaded                                   atomic.Int64
	refusedFull, refusedSpool, refusedTooLarge        atomic.Int64
	refusedBacklog, waiting                           atomic.Int64
	// memory is the size of all evidence in memory: requests that wait for a shard, open traces, emissions that are not finished.
	// heldBytes is the size of all evidence that is held, in memory or in the spool.
	memory, heldBytes atomic.Int64
	// openMemory is the part of memory that open traces take.
	openMemory, openTraces atomic.Int64
	byReason               [reasons]struct{ emissions, items atomic.Int64 }
}

func (c *counters) stats() Stats {
	s := Stats{
		Accepted:         c.accepted.Load(),
		Recovered:        c.recovered.Load(),
		Emitted:          c.emitted.Load(),
		Held:             c.held.Load(),
		DroppedPermanent: c.droppedPermanent.Load(),
		DroppedShutdown:  c.droppedShutdown.Load(),
		DroppedCorrupt:   c.droppedCorrupt.Load(),
		Duplicates:       c.duplicates.Load(),
		Late:             c.late.Load(),
		HeldBytes:        c.heldBytes.Load(),
		MemoryBytes:      c.memory.Load(),
		OpenTraces:       c.openTraces.Load(),
		Spilled:          c.spilled.Load(),
		Loaded:           c.loaded.Load(),
		Retries:          c.retries.Load(),
		Failing:          c.failing.Load(),
		Parked:           c.parked.Load(),
		ReleaseErrors:    c.releaseErrors.Load(),
		RefusedFull:      c.refusedFull.Load(),
		RefusedBacklog:   c.refusedBacklog.Load(),
		Waiting:          c.waiting.Load(),
		RefusedSpool:     c.refusedSpool.Load(),
		RefusedTooLarge:  c.refusedTooLarge.Load(),
	}
	for i := range s.ByReason {
		s.ByReason[i] = ReasonStats{Emissions: c.byReason[i].emissions.Load(), Items: c.byReason[i].items.Load()}
	}
	return s
}
