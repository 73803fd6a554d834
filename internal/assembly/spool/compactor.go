// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"go.uber.org/zap"
)

// bytesPerCopy bounds what compaction adds to one commit, so that batches do not wait for it.
const bytesPerCopy = 256 << 10

// compactorLoop is the goroutine of the compactor. It seals segments, deletes the oldest and copies live records forward.
func (l *Log) compactorLoop() {
	defer close(l.compacted)
	for {
		select {
		case <-l.stopCompactor:
			return
		case <-l.maintenance:
		}
		for l.maintainNext() {
			select {
			case <-l.stopCompactor:
				return
			default:
			}
		}
	}
}

// maintainNext does one step of the maintenance that is due and says whether there may be another. A step that fails is tried again when
// the compactor is woken next.
func (l *Log) maintainNext() bool {
	l.mu.Lock()
	i := slices.IndexFunc(l.segments, func(s *segment) bool { return s.sealed && s.unsealed != nil })
	var unsealed, oldest *segment
	if i >= 0 {
		unsealed = l.segments[i]
	}
	empty, due := false, false
	if unsealed == nil && len(l.segments) > 0 && l.segments[0].sealed {
		oldest = l.segments[0]
		empty = oldest.live == 0 && oldest.readers == 0
		due = oldest.live > 0 && l.compactionDue()
	}
	l.mu.Unlock()
	var err error
	switch {
	case unsealed != nil:
		_ = l.seal(unsealed) // logged; it is not tried again
	case empty:
		err = l.remove(oldest)
	case due:
		err = l.compact(oldest)
	default:
		return false
	}
	if err != nil {
		l.o.Logger.Warn("spool: maintenance failed and is tried again later", zap.Error(err))
	}
	return err == nil
}

// maintenanceDue says whether a release has left the compactor something to do. Log.mu is held.
func (l *Log) maintenanceDue() bool {
	if len(l.segments) == 0 || !l.segments[0].sealed {
		return false
	}
	return l.segments[0].live == 0 || l.compactionDue()
}

// seal cuts what was preallocated, syncs what was not synced and writes the segment index. Without the index the next start scans the
// segment. A sync that fails may lose records and is an error.
func (l *Log) seal(s *segment) error {
	err := l.trySeal(s)
	var unsynced *syncError
	errors.As(err, &unsynced)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case unsynced != nil:
		l.o.Logger.Error("spool: sync failed; records acknowledged since the last sync may not be on the disk", zap.String("segment", s.name()), zap.Error(err))
		err = fmt.Errorf("%s: records acknowledged since the last sync may not be on the disk: %w", s.name(), unsynced)
	case err != nil:
		l.o.Logger.Warn("spool: the index of a segment cannot be written; the next start scans the segment", zap.String("segment", s.name()), zap.Error(err))
		err = nil
	default:
		s.indexFileBytes = s.unsealed.size()
	}
	s.unsealed = nil
	return err
}

// trySeal writes the segment index also when cutting fails, because the index names the end.
func (l *Log) trySeal(s *segment) error {
	cut := s.f.Truncate(int64(s.end))
	l.mu.Lock()
	if cut == nil {
		s.size = int64(s.end)
	} else {
		l.o.Logger.Warn("spool: a segment cannot be cut to its length", zap.String("segment", s.name()), zap.Error(cut))
	}
	dirty := s.dirty
	s.dirty = false
	l.mu.Unlock()
	if dirty {
		if err := s.f.Sync(); err != nil {
			l.count(func(st *Stats) { st.SyncErrors++ })
			return &syncError{err}
		}
	}
	return writeSegmentIndex(l.fs, s.unsealed)
}

// sealLast is the end of Close, when nothing runs any more. A segment that holds nothing is deleted.
func (l *Log) sealLast() error {
	l.mu.Lock()
	var last []*segment
	for _, s := range l.segments {
		if s.unsealed != nil {
			last = append(last, s)
		}
	}
	l.mu.Unlock()
	var errs []error
	for _, s := range last {
		s.sealed = true
		if s.end == segmentHeaderBytes {
			l.closeFile(s)
			errs = append(errs, l.fs.Remove(s.name()))
			continue
		}
		errs = append(errs, l.seal(s))
	}
	return errors.Join(errs...)
}

// remove deletes the oldest segment, which holds no live record. A damaged segment is renamed instead (quarantined). The directory is
// synced before the next segment may be deleted.
func (l *Log) remove(s *segment) error {
	l.mu.Lock()
	l.closeFile(s)
	l.mu.Unlock()
	err := l.removeFiles(s)
	if err != nil {
		return fmt.Errorf("remove %s: %w", s.name(), err)
	}
	l.mu.Lock()
	if s.damaged {
		l.quarantined += s.size
		l.stats.QuarantinedFiles++
	}
	l.logBytes -= int64(s.end)
	l.segments = slices.Delete(l.segments, 0, 1)
	l.mu.Unlock()
	return nil
}

func (l *Log) removeFiles(s *segment) error {
	var err error
	if s.damaged {
		l.o.Logger.Error("spool: a damaged segment is quarantined; its readable records were copied", zap.String("file", s.name()+damagedSuffix))
		err = l.fs.Rename(s.name(), s.name()+damagedSuffix)
	} else {
		err = l.fs.Remove(s.name())
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) { // gone already: the directory was not synced last time
		return err
	}
	if err := l.fs.Remove(s.indexName()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return l.fs.SyncDir()
}

// copyForward has the committer write copies and waits until they are on the disk, whatever Options.Sync says.
func (l *Log) copyForward(moves []move) error {
	r := newRequest()
	defer r.recycle()
	r.moves = moves
	if err := l.queue.push(r); err != nil {
		return err
	}
	l.wakeCommitter()
	return <-r.done
}
