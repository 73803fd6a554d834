// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"
)

const (
	// Batches of one commit. More gains nothing: a sync costs little beside writing this much.
	bytesPerCommit = 4 << 20
	// markersPerWake is the number of releases that wakes the committer. Fewer wait for the next batch.
	markersPerWake = 4096
)

// group is what one commit holds: one write, one sync.
type group struct {
	batches []*request
	moving  []*request // the compactor's: copies to make, synced in every mode
	slots   []uint32   // whose release is to be written
	moved   []moved
}

// moved is a copy that was written.
type moved struct {
	slot   uint32
	offset uint32
	bytes  uint32
}

func (g *group) entries() (n int) {
	for _, r := range g.batches {
		n += len(r.offsets)
	}
	return n
}

// commitLoop is the committer.
func (l *Log) commitLoop() {
	defer close(l.committed)
	var tick <-chan time.Time
	if l.o.Sync == SyncInterval {
		t := time.NewTicker(l.o.SyncInterval)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-l.work:
			for l.commitNext(false) {
				select {
				case <-tick:
					l.syncActive()
				default:
				}
			}
		case <-tick:
			l.syncActive()
		case <-l.stopCommit:
			for l.commitNext(true) {
			}
			return
		}
	}
}

// commitNext writes what waits, up to a bound, and says whether more may wait.
func (l *Log) commitNext(closing bool) bool {
	g := &group{}
	for _, r := range l.queue.take(bytesPerCommit) {
		if len(r.buf) > 0 {
			g.batches = append(g.batches, r)
		} else {
			g.moving = append(g.moving, r)
		}
	}
	asked := len(g.batches)+len(g.moving) > 0
	g.slots = l.takeReleased(asked || closing)
	if !asked && len(g.slots) == 0 {
		return false
	}
	if err := l.fitMaintenance(g); err != nil {
		l.failMaintenance(g, err)
		if !asked {
			return false // or releases alone would be tried again and again
		}
	}
	l.admit(g)
	err := l.write(g)
	if isFull(err) {
		l.refuse(g, err)
		if g.maintenanceBytes() > 0 && l.freeReservedSpace() {
			if err = l.fitMaintenance(g); err == nil {
				err = l.write(g)
			}
		}
	}
	if err != nil {
		l.refuse(g, err)
		l.failMaintenance(g, err)
		return asked
	}
	l.finish(g)
	return true
}

// takeReleased returns slots whose release markers the commit is to hold. A few of them alone are not worth a commit.
func (l *Log) takeReleased(worth bool) []uint32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !worth && len(l.released) < markersPerWake {
		return nil
	}
	n := min(len(l.released), l.markersPerCommit())
	slots := slices.Clone(l.released[:n])
	l.released = slices.Delete(l.released, 0, n)
	return slots
}

// refuse answers the batches of the group and takes them out.
func (l *Log) refuse(g *group, err error) {
	full := isFull(err) && !mayRemain(err)
	if full {
		err = fmt.Errorf("%w: %w", ErrFull, err)
	} else {
		err = fmt.Errorf("append to the spool: %w", err)
	}
	l.mu.Lock()
	if n := int64(len(g.batches)); full {
		l.stats.Refused += n
		l.short = l.short || n > 0
	} else {
		l.stats.CommitErrors += n
	}
	if l.short && l.maintenanceDue() {
		l.wakeCompactor()
	}
	l.mu.Unlock()
	for _, r := range g.batches {
		r.done <- err
	}
	g.batches = nil
}

// failMaintenance answers the compactor and keeps the releases for a later commit.
func (l *Log) failMaintenance(g *group, err error) {
	for _, r := range g.moving {
		r.done <- err
	}
	l.mu.Lock()
	l.released = append(l.released, g.slots...)
	l.mu.Unlock()
	g.moving, g.slots = nil, nil
}

// write puts the group into the open segment. After an error nothing of it is there, as far as the disk allows.
func (l *Log) write(g *group) error {
	s := l.active
	if s == nil {
		return nil // nothing is left of the group
	}
	start := time.Now()
	frames, size := l.encode(g, s)
	defer clear(frames) // requests are used again
	mustSync := size > 0 && (l.o.Sync == SyncAlways || len(g.moving) > 0)
	var err error
	if size > 0 {
		err = s.f.WriteFrames(frames, int64(s.end))
	}
	if err == nil && mustSync {
		if err = s.f.Sync(); err != nil {
			err = &syncError{err}
		}
	}
	if err != nil {
		return l.rollBack(s, err)
	}
	l.mu.Lock()
	s.dirty = !mustSync && (s.dirty || size > 0)
	l.mu.Unlock()
	if size == 0 {
		return nil
	}
	d, entries := time.Since(start), g.entries()
	l.count(func(st *Stats) {
		st.Commits++
		st.CommitTime += d
		st.WrittenBytes += int64(size)
	})
	if l.o.OnCommit != nil {
		l.o.OnCommit(d, int64(size), entries)
	}
	l.track(s, frames)
	return nil
}

// syncError is a failed sync. The kernel may drop pages that it could not write, so the same file is never trusted again.
type syncError struct{ err error }

func (e *syncError) Error() string { return "sync: " + e.err.Error() }
func (e *syncError) Unwrap() error { return e.err }

// rollBackError is a failed commit that could not be cut off durably.
type rollBackError struct{ err, cut error }

func (e *rollBackError) Error() string { return e.err.Error() + "; roll back: " + e.cut.Error() }
func (e *rollBackError) Unwrap() error { return e.err }

// mayRemain says whether a crash can bring back what a failed commit wrote: until the segment has its index, nothing on the disk names
// the last good byte.
func mayRemain(err error) bool {
	return errors.As(err, new(*syncError)) || errors.As(err, new(*rollBackError))
}

// rollBack cuts a failed commit off the open segment and returns the error of the commit. After a full disk the segment stays in use.
// After any other error, and after each failed sync, it is sealed at its last good byte. Its segment index then names that byte, even if
// cutting failed.
func (l *Log) rollBack(s *segment, err error) error {
	_, unsynced := err.(*syncError)
	cut := s.f.Truncate(int64(s.end))
	if cut == nil && !unsynced && isFull(err) {
		cut = s.f.Sync() // a refused batch does not come back after a crash
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if unsynced {
		l.stats.SyncErrors++
	}
	if cut == nil {
		s.size = int64(s.end)
		if isFull(err) && !unsynced {
			return err
		}
	}
	l.o.Logger.Error("spool: a commit failed; its segment is sealed and a new one begun", zap.String("segment", s.name()), zap.Error(err), zap.NamedError("truncate", cut))
	s.sealed = true
	l.active = nil
	l.wakeCompactor()
	if cut != nil {
		return &rollBackError{err, cut}
	}
	return err
}

// track adds what was written to the segment and its index.
func (l *Log) track(s *segment, written [][]byte) {
	at := s.end
	for _, buf := range written {
		for len(buf) > 0 {
			length := frameHeaderBytes + int(le.Uint32(buf[12:]))
			for off := frameHeaderBytes; off < length; {
				r, n, err := cutRecord(buf[off:length])
				if err == nil {
					err = s.unsealed.add(&r, at+uint32(off), n)
				}
				if err != nil {
					panic(err) // these bytes were encoded a moment ago
				}
				off += n
			}
			at += uint32(length)
			buf = buf[length:]
		}
	}
	l.mu.Lock()
	l.logBytes += int64(at - s.end)
	s.end = at
	s.size = max(s.size, int64(at))
	l.mu.Unlock()
	s.unsealed.end = at
}

// finish enters what was written into the index and answers those who wait.
func (l *Log) finish(g *group) {
	l.mu.Lock()
	s := l.active
	for _, r := range g.batches {
		for k, off := range r.offsets {
			end := uint32(len(r.buf))
			if k+1 < len(r.offsets) {
				end = r.offsets[k+1]
			}
			i := l.index.add(position{s.number, r.at + off}, int(end-off))
			r.ids[k] = l.index.id(i)
			s.own(i, int64(end-off))
			l.liveBytes += int64(end - off)
		}
		l.short = false
		l.stats.Appends++
		l.stats.Entries += int64(len(r.offsets))
	}
	for _, m := range g.moved {
		x := l.index.at(m.slot)
		flags := x.bytes &^ bytesMask
		if flags == 0 { // else it was released while the copy was written
			l.forget(x)
			s.own(m.slot, int64(m.bytes))
			l.liveBytes += int64(m.bytes)
		}
		x.segment, x.offset, x.bytes = s.number, m.offset, m.bytes|flags
		l.stats.CompactedBytes += int64(m.bytes)
	}
	for _, i := range g.slots {
		l.index.drop(i)
	}
	l.mu.Unlock()
	for _, r := range g.batches {
		r.done <- nil
	}
	for _, r := range g.moving {
		r.done <- nil
	}
}

// own makes a slot one of the segment's live records.
func (s *segment) own(slot uint32, bytes int64) {
	s.slots = append(s.slots, slot)
	s.live++
	s.bytes += bytes
}

// syncActive is the sync of SyncInterval. When it fails, records that were acknowledged since the last sync may be lost. They stay
// readable as long as the page cache has them.
func (l *Log) syncActive() {
	s := l.active
	if s == nil || !s.dirty {
		return
	}
	err := s.f.Sync()
	l.mu.Lock()
	defer l.mu.Unlock()
	s.dirty = false
	if err == nil {
		return
	}
	l.stats.SyncErrors++
	l.o.Logger.Error("spool: sync failed; records acknowledged since the last sync may not be on the disk", zap.String("segment", s.name()), zap.Error(err))
	s.sealed = true
	l.active = nil
	l.wakeCompactor()
}

func (l *Log) count(fn func(*Stats)) {
	l.mu.Lock()
	fn(&l.stats)
	l.mu.Unlock()
}
