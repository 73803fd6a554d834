// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Log is an open spool directory. Its methods may be called by many goroutines at once.
//
// Two goroutines work for it. The committer alone writes to the open segment and decides what a write holds. The keeper seals
// segments, deletes the oldest and copies records forward, by handing copies to the committer. These rules make that safe:
//
//   - A record is in the index only when it is in the log as durably as Options.Sync says.
//   - A release marker names the place that the record has when the marker is written, so it lies behind the record and its copies.
//   - Segments go strictly oldest first, so a marker outlives the records that it kills.
//   - A segment goes only when the copies of its records are on the disk.
type Log struct {
	o     Options
	fs    fileSystem
	lockf io.Closer
	life  *Life

	mu        sync.Mutex
	closed    bool
	index     index
	segments  []*segment // oldest first; the last may be the open one
	openFiles int
	released  []uint32 // slots whose release marker is not written yet
	reserved  bool     // the reserve is there; batches are refused without it
	short     bool     // the last batch was refused for want of room
	setAside  int64    // bytes of damaged files in the directory
	logBytes  int64    // of all segments, up to their ends
	liveBytes int64
	stats     Stats
	reads     sync.WaitGroup

	queue queue

	// The committer's own.
	active     *segment // nil before the first write, and after the file failed
	nextNumber uint32
	buf        []byte
	warned     time.Time // of the reserve

	// The keeper's own.
	victim compaction

	work, keep           chan struct{} // something to do; one token says it
	stopCommit, stopKeep chan struct{}
	committed, kept      chan struct{} // closed when the goroutine has ended
}

// Open opens or creates the log in dir (mode 0700) and calls recovered, if it is not nil, once for each held record, in the order in
// which they lie in the log: as they were appended, except that a record that compaction has moved comes at its new place. It reads
// no payloads. An error of recovered ends Open with that error. Damage in the files is skipped, counted and logged; it is no error.
// Errors: ErrLocked, a segment of a later format version, an unusable directory.
func Open(dir string, o Options, recovered func(Held) error) (*Log, error) {
	fs, err := newOSDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	l, err := open(fs, o, recovered)
	if err != nil {
		return nil, fmt.Errorf("open spool %s: %w", dir, err)
	}
	return l, nil
}

func open(fs fileSystem, o Options, recovered func(Held) error) (*Log, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	lockf, err := fs.Lock()
	if err != nil {
		return nil, err
	}
	l := &Log{
		o: o, fs: fs, lockf: lockf,
		work: make(chan struct{}, 1), keep: make(chan struct{}, 1),
		stopCommit: make(chan struct{}), stopKeep: make(chan struct{}),
		committed: make(chan struct{}), kept: make(chan struct{}),
	}
	l.life = loadLife(fs, o.Logger)
	if err := l.recover(recovered); err != nil {
		l.closeFiles()
		return nil, err
	}
	l.restoreReserve()
	go l.commitLoop()
	go l.keepLoop()
	l.wakeKeeper()
	return l, nil
}

// Append stores a batch: all of it or, on an error, nothing. It returns when the batch is as durable as Options.Sync says, with ids[i]
// the name of entries[i]; ids has the length of entries. The slices of the caller are not kept. A ctx that ends while the batch waits
// for its turn takes it back. After an error other than ErrFull, ErrTooLarge, ErrClosed and that of ctx the disk has failed, and
// a part of the batch may be found by a later Open if taking it back failed too.
func (l *Log) Append(ctx context.Context, entries []Entry, ids []ID) error {
	if len(ids) != len(entries) {
		return fmt.Errorf("append %d entries: room for %d ids", len(entries), len(ids))
	}
	if len(entries) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r := newRequest()
	if err := r.encode(entries, &l.o); err != nil {
		r.recycle()
		return err
	}
	r.ids = ids
	if err := l.queue.push(r); err != nil {
		r.recycle()
		return err
	}
	l.wakeCommitter()
	var err error
	select {
	case err = <-r.done:
	case <-ctx.Done():
		if l.queue.remove(r) {
			err = ctx.Err()
		} else {
			err = <-r.done // being written
		}
	}
	r.recycle()
	return err
}

// Release lets go of records. It does not wait for the disk: the release is durable with the next commit, and after a crash before
// that the records are recovered again. IDs that are not held are skipped and reported as ErrNotHeld.
func (l *Log) Release(ids []ID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	unknown := 0
	for _, id := range ids {
		i, s := l.index.find(id)
		if s == nil {
			unknown++
			continue
		}
		l.forget(s)
		l.index.release(s)
		l.released = append(l.released, i)
		l.stats.Released++
	}
	if len(l.released) >= markersPerWake {
		l.wakeCommitter()
	}
	if l.keeperDue() {
		l.wakeKeeper()
	}
	if unknown > 0 {
		return fmt.Errorf("release %d of %d records: %w", unknown, len(ids), ErrNotHeld)
	}
	return nil
}

// forget takes a record that is not live any more out of the counts of its segment. Log.mu is held.
func (l *Log) forget(s *slot) {
	seg := l.segmentOf(s.segment)
	if seg == nil {
		return // lost
	}
	n := int64(s.bytes & bytesMask)
	seg.live--
	seg.bytes -= n
	l.liveBytes -= n
}

// Stats returns counters and gauges.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Segments = len(l.segments)
	s.DiskBytes = l.setAside
	for _, seg := range l.segments {
		s.DiskBytes += seg.size + seg.sidecarBytes
		s.IndexBytes += int64(cap(seg.slots)) * 4
		if seg.damaged {
			s.DamagedSegments++
		}
	}
	if l.reserved && canReserve {
		s.DiskBytes += l.o.footprint()
	}
	s.LiveBytes, s.DeadBytes = l.liveBytes, l.logBytes-l.liveBytes
	s.Held = l.index.held
	s.IndexBytes += l.index.bytes()
	return s
}

// Close commits what waits, writes the release markers, seals the open segment and lets go of the directory. It waits for Reads
// under way. Calls after it, and a second Close, return ErrClosed.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.closed = true
	l.mu.Unlock()
	l.reads.Wait()
	close(l.stopKeep)
	<-l.kept // before the committer, on which it may wait
	l.queue.close()
	close(l.stopCommit)
	<-l.committed
	return errors.Join(l.sealLast(), l.closeFiles())
}

func (l *Log) closeFiles() error {
	l.life.close()
	for _, s := range l.segments {
		l.closeFile(s)
	}
	return l.lockf.Close()
}

func (l *Log) wakeCommitter() { wake(l.work) }
func (l *Log) wakeKeeper()    { wake(l.keep) }

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// now is in unix milliseconds, for the headers of segments.
func now() int64 { return time.Now().UnixMilli() }
