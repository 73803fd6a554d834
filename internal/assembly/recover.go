// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"cmp"
	"math"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/tapedeck/tapedeck/internal/assembly/spool"
)

// recover opens the spool and opens every trace in it again, with its evidence on disk. Waiting times of earlier processes count: a trace
// that was due when the last process ended is emitted at once. Otherwise a process that is killed again and again before any trace is due
// would never emit anything. The time between processes counts for the age of a trace, and not as idle time.
func (a *Assembler) recover() error {
	var orphans []spool.ID
	opened, err := a.o.OpenSpool(func(r spool.Held) error {
		key, err := ParseKey(r.Key)
		var h header
		if err == nil {
			h, err = parseHeader(r.Meta)
		}
		if err != nil {
			// It stays in the spool, because another version of the program may be able to read it.
			a.o.Logger.Error("a record of the spool cannot be understood and is left alone", zap.Error(err))
			return nil
		}
		a.adoptRecord(key, &h, r.ID)
		return nil
	})
	if err != nil {
		return err
	}
	a.store = &store{spool: opened, counters: &a.counters, logger: a.o.Logger, before: opened.ProcessState().Uptime()}
	a.emits.store = a.store
	for _, s := range a.shards {
		s.store = a.store
		for _, t := range s.open {
			a.store.before = max(a.store.before, time.Duration(t.last)) // after a power loss
		}
	}
	now := a.clock.now()
	var leaving []dueTrace
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
				leaving = append(leaving, dueTrace{s, t, Bytes})
			case int(t.items) >= a.o.MaxTraceSpans:
				leaving = append(leaving, dueTrace{s, t, Spans})
			case due <= now && !(t.undecidable() && reason == RootEnded):
				leaving = append(leaving, dueTrace{s, t, reason})
			default:
				s.reschedule(t)
			}
		}
	}
	// Small traces first: one that is too large for the memory of this process must not crash it before the others are emitted.
	slices.SortStableFunc(leaving, func(x, y dueTrace) int { return cmp.Compare(x.trace.bytes, y.trace.bytes) })
	for _, l := range leaving {
		l.shard.emit(l.trace, l.reason)
	}
	for _, s := range a.shards {
		s.evict()
	}
	if len(orphans) > 0 {
		a.store.release(orphans)
	}
	if n := a.counters.recovered.Load(); n > 0 {
		a.o.Logger.Info("evidence of open runs was found in the spool", zap.Int64("items", n), zap.Int64("traces", a.counters.openTraces.Load()+int64(len(leaving))))
	}
	a.shards[0].heartbeat = func(now int64) {
		if a.counters.held.Load() > 0 {
			opened.ProcessState().RecordUptime(a.store.uptime(now))
		}
	}
	return nil
}

// dueTrace is a trace that is emitted at the start.
type dueTrace struct {
	shard  *shard
	trace  *openTrace
	reason Reason
}

// resume converts the uptimes at which a trace began and got its last evidence to times of this process.
func (a *Assembler) resume(t *openTrace, now int64) {
	first, last := t.notBefore, t.last
	t.last, t.notBefore = now, now+int64(a.o.QuietPeriod)
	if last > 0 { // else an earlier version has written the records
		t.last = now - (int64(a.store.before) - last)
	}
	if first > 0 && first != unknown {
		// Senders must have had time to continue, unless MaxAge was reached within the uptime.
		t.notBefore = min(t.notBefore, now-(int64(a.store.before)-first)+int64(a.o.MaxAge))
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
		t = &openTrace{key: kept, first: a.clock.now(), notBefore: unknown}
		s.add(t, hash)
		s.cold.pushBack(t)
	}
	t.note(h.flags)
	t.items += int32(h.items)
	t.distinct += int32(h.items)
	t.bytes += h.bytes
	// A system clock that was set back must not give a trace a negative age.
	t.first = min(t.first, a.clock.at(h.arrived))
	// Until resume, last and notBefore are the uptimes of the last and the first record.
	if h.uptime > 0 && h.items > 0 {
		t.last = max(t.last, int64(h.uptime))
		t.notBefore = min(t.notBefore, int64(h.uptime))
	}
	t.records = append(t.records, id)
	t.cold = int32(len(t.records))
	a.counters.recovered.Add(int64(h.items))
	a.counters.held.Add(int64(h.items))
	a.counters.heldBytes.Add(h.bytes)
}
