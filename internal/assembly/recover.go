// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"cmp"
	"math"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/tapedeck/tapedeck/internal/spool"
)

// recover opens the spool and takes up what is there: every trace is open again, with its evidence on disk. What has waited before
// has waited: a trace whose time was up when the last process ended leaves at once, or a process that is ended again and again, before
// anything's time is up, would never bring anything out. The time while nobody listened is not silence, and counts for the age
// only.
func (a *Assembler) recover() error {
	var orphans []spool.ID
	opened, err := a.o.OpenSpool(func(r spool.Held) error {
		key, err := ParseKey(r.Key)
		var h header
		if err == nil {
			h, err = parseHeader(r.Meta)
		}
		if err != nil {
			// It stays where it is: another version of the program may know what it is.
			a.o.Logger.Error("a record of the spool cannot be understood and is left alone", zap.Error(err))
			return nil
		}
		a.adoptRecord(key, &h, r.ID)
		return nil
	})
	if err != nil {
		return err
	}
	a.store = &store{spool: opened, counters: &a.counters, logger: a.o.Logger, before: opened.Life().Listened()}
	a.out.store = a.store
	for _, s := range a.shards {
		s.store = a.store
		for _, t := range s.open {
			a.store.before = max(a.store.before, time.Duration(t.last)) // after a power loss
		}
	}
	now := a.watch.now()
	var leaving []leaver
	for _, s := range a.shards {
		for _, t := range s.sortByAge() {
			a.resume(t, now)
			due, reason := s.due(t)
			switch {
			case t.items == 0:
				// Links whose evidence has been emitted.
				orphans = append(orphans, t.records...)
				s.remove(t)
			case t.bytes >= a.o.MaxTraceBytes:
				leaving = append(leaving, leaver{s, t, Bytes})
			case int(t.items) >= a.o.MaxTraceSpans:
				leaving = append(leaving, leaver{s, t, Spans})
			case due <= now && !(t.undecidable() && reason == RootEnded):
				leaving = append(leaving, leaver{s, t, reason})
			default:
				s.reschedule(t)
			}
		}
	}
	// The small ones first: what is too large for this process must not end it before the others are out.
	slices.SortStableFunc(leaving, func(x, y leaver) int { return cmp.Compare(x.trace.bytes, y.trace.bytes) })
	for _, l := range leaving {
		l.shard.emit(l.trace, l.reason)
	}
	for _, s := range a.shards {
		s.relieve()
	}
	if len(orphans) > 0 {
		a.store.release(orphans)
	}
	if n := a.counters.recovered.Load(); n > 0 {
		a.o.Logger.Info("evidence of open runs was found in the spool", zap.Int64("items", n), zap.Int64("traces", a.counters.openTraces.Load()+int64(len(leaving))))
	}
	a.shards[0].beat = func(now int64) {
		if a.counters.held.Load() > 0 {
			opened.Life().Listen(a.store.listened(now))
		}
	}
	return nil
}

// leaver is a trace that leaves with the start.
type leaver struct {
	shard  *shard
	trace  *openTrace
	reason Reason
}

// resume turns what the records of a trace say about the time that processes had listened when it began and when its last evidence came
// into times of this process.
func (a *Assembler) resume(t *openTrace, now int64) {
	first, last := t.ripe, t.last
	t.last, t.ripe = now, now+int64(a.o.QuietPeriod)
	if last > 0 { // else an earlier version has written the records
		t.last = now - (int64(a.store.before) - last)
	}
	if first > 0 && first != unknown {
		// Those who send must have had time to go on, unless the age was reached in the time that processes listened.
		t.ripe = min(t.ripe, now-(int64(a.store.before)-first)+int64(a.o.MaxAge))
	}
}

// unknown is later than every time.
const unknown = math.MaxInt64

// sortByAge brings the open traces, which were found in any order, into that of their age.
func (s *shard) sortByAge() []*openTrace {
	all := make([]*openTrace, 0, len(s.open))
	for _, t := range s.open {
		all = append(all, t)
	}
	slices.SortFunc(all, olderFirst)
	s.age = traceList{order: byAge}
	for _, t := range all {
		s.age.pushBack(t)
	}
	return all
}

func (a *Assembler) adoptRecord(key Key, h *header, id spool.ID) {
	hash := a.hash(key.TraceID)
	s := a.shards[a.shardOf(hash)]
	kept := key.kept()
	t := s.open[kept]
	if t == nil {
		t = &openTrace{key: kept, first: a.watch.now(), ripe: unknown}
		s.add(t, hash)
		s.cold.pushBack(t)
	}
	t.note(h.flags)
	t.items += int32(h.items)
	t.distinct += int32(h.items)
	t.bytes += h.bytes
	// A clock that was set back must not make a trace younger than no time.
	t.first = min(t.first, a.watch.at(h.arrived))
	// Until resume, last and ripe are the time that processes had listened at the last and the first record.
	if h.listened > 0 && h.items > 0 {
		t.last = max(t.last, int64(h.listened))
		t.ripe = min(t.ripe, int64(h.listened))
	}
	t.records = append(t.records, id)
	t.cold = int32(len(t.records))
	a.counters.recovered.Add(int64(h.items))
	a.counters.held.Add(int64(h.items))
	a.counters.heldBytes.Add(h.bytes)
}
