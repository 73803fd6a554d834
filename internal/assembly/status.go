// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"cmp"
	"slices"
	"time"
)

// OpenTrace describes a trace that waits for its end.
type OpenTrace struct {
	Key   Key
	Items int
	// Bytes as in Size, and how many of them are in memory.
	Bytes, InMemory int64
	// Age since the first item, Quiet since the last one.
	Age, Quiet time.Duration
	// Due is when it leaves if nothing more comes, and Reason why.
	Due    time.Duration
	Reason Reason
	// RootCame: a span without a parent came. RunCame: the span of an agent run came. Late: some of it has been emitted before.
	RootCame, RunCame, Late bool
}

// oldest describes the open traces of a shard that are open for the longest time.
func (s *shard) oldest(limit int) []OpenTrace {
	now := s.clock.now()
	all := make([]OpenTrace, 0, min(len(s.open), limit))
	for t := s.age.front; t != nil && len(all) < limit; t = t.places[byAge].next {
		due, reason := s.due(t)
		inMemory := int64(0)
		if t.warm != nil {
			inMemory = t.inMemory
		}
		all = append(all, OpenTrace{
			Key: t.key.key(), Items: int(t.items), Bytes: t.bytes, InMemory: inMemory,
			Age: time.Duration(now - t.first), Quiet: time.Duration(now - t.last), Due: time.Duration(due - now), Reason: reason,
			RootCame: t.rootCame, RunCame: t.runCame, Late: t.late,
		})
	}
	return all
}

func oldestOf(all []OpenTrace, limit int) []OpenTrace {
	slices.SortFunc(all, func(a, b OpenTrace) int {
		if c := cmp.Compare(b.Age, a.Age); c != 0 {
			return c
		}
		return cmp.Compare(a.Key.String(), b.Key.String())
	})
	return all[:min(limit, len(all))]
}

// FailingRun describes an emission that failed, or that is parked.
type FailingRun struct {
	Key   Key
	Items int
	Bytes int64
	// Attempts that failed, and for how long they do; Next is the time to the next one, 0 when it is due or in flight.
	Attempts int
	Failing  time.Duration
	Next     time.Duration
	// Parked: it is tried rarely. Crashes counts the processes that crashed while it was in flight.
	Parked  bool
	Crashes int
	// Why is the last failure, empty when there was none in this process.
	Why string
}

// failingRuns describes at most limit emissions, those first that are parked or fail for the longest time.
func (b *emitQueue) failingRuns(limit int) []FailingRun {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.now()
	var all []*Emission
	add := func(e *Emission) {
		if e.failures > 0 || e.parked {
			all = append(all, e)
		}
	}
	for _, l := range b.classes() {
		for _, s := range [][]*Emission{l.retries, l.again, l.suspects} {
			for _, e := range s {
				add(e)
			}
		}
	}
	for e := range b.inFlight {
		add(e)
	}
	slices.SortFunc(all, func(x, y *Emission) int {
		if x.parked != y.parked {
			if x.parked {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(x.since, y.since), cmp.Compare(x.Key.String(), y.Key.String()))
	})
	list := make([]FailingRun, 0, min(limit, len(all)))
	for _, e := range all[:min(limit, len(all))] {
		r := FailingRun{
			Key: e.Key, Items: e.accepted, Bytes: e.bytes, Attempts: e.failures, Parked: e.parked, Crashes: e.crashes,
			Next: time.Duration(max(e.due-now, 0)),
		}
		if e.failures > 0 {
			r.Failing, r.Why = time.Duration(now-e.since), e.why.Error()
		}
		list = append(list, r)
	}
	return list
}
