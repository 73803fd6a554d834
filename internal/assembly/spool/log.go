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
// A log has two goroutines. Only the committer writes to the open segment. The compactor does the maintenance: it seals segments, deletes
// the oldest and hands copies of live records to the committer. These rules make that safe:
//
//   - A record is in the index only when it is in the log as durably as Options.Sync says.
//   - A release marker names the position that the record has when the marker is written. So the marker lies behind the record and its copies.
//   - Segments are deleted strictly oldest first. So a marker outlives the records that it releases.
//   - A segment is deleted only when the copies of its records are on the disk.
type Log struct {
	o     Options
	fs    fileSystem
	lockf io.Closer
	state *ProcessState

	mu          sync.Mutex
	closed      bool
	index       index
	segments    []*segment // oldest first; the last may be the open one
	openFiles   int
	released    []uint32 // slots whose release marker is not written yet
	reserved    bool     // the reserved space is there; batches are refused without it
	short       bool     // the last batch was refused for lack of space
	quarantined int64    // bytes of damaged files in the directory
	logBytes    int64    // of all segments, up to their ends
	liveBytes   int64
	stats       Stats
	reads       sync.WaitGroup

	queue queue

	// The committer's own.
	active     *segment // nil before the first write, and after the file failed
	nextNumber uint32
	buf        []byte
	frames     [][]byte
	warned     time.Time // that the reserved space is in use

	// The compactor's own.
	victim compaction

	work, maintenance         chan struct{} // something to do; one token says it
	stopCommit, stopCompactor chan struct{}
	committed, compacted      chan struct{} // closed when the goroutine has ended
}

// Open opens or creates the log in dir (mode 0700). It calls recovered, if that is not nil, once for each held record, in the order in
// which the records lie in the log. That is the order in which they were appended, except for records that compaction has moved. It reads
// no payloads. An error of recovered ends Open with that error. Damage in the files is skipped, counted and logged; it is no error. Errors:
// ErrLocked, a segment of a later format version, an unusable directory.
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
		work: make(chan struct{}, 1), maintenance: make(chan struct{}, 1),
		stopCommit: make(chan struct{}), stopCompactor: make(chan struct{}),
		committed: make(chan struct{}), compacted: make(chan struct{}),
	}
	l.state = loadProcessState(fs, o.Logger)
	if err := l.recover(recovered); err != nil {
		l.closeFiles()
		return nil, err
	}
	l.reserveSpace()
	go l.commitLoop()
	go l.compactorLoop()
	l.wakeCompactor()
	return l, nil
}

// Append stores a batch: all of it or, on an error, nothing. It returns when the batch is as durable as Options.Sync says. Then ids[i] is
// the name of entries[i]; ids has the length of entries. Append does not keep the slices of the caller. A ctx that ends while the batch
// waits for its turn removes the batch from the queue. Any error other than ErrFull, ErrTooLarge, ErrClosed and that of ctx says that the
// disk has failed. A later Open may then find a part of the batch if rolling it back failed too.
func (l *Log) Append(ctx context.Context, entries []Entry, ids []ID) error {
	if len(ids) != len(entries) {
		return fmt.Errorf("append %d entries: space for %d ids", len(entries), len(ids))
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

// Release releases records. It does not wait for the disk: the release is durable with the next commit. After a crash before that
// commit the records are recovered again. IDs that are not held are skipped and reported as ErrNotHeld.
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
	if l.maintenanceDue() {
		l.wakeCompactor()
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
	s.DiskBytes = l.quarantined
	for _, seg := range l.segments {
		s.DiskBytes += seg.size + seg.indexFileBytes
		s.IndexBytes += int64(cap(seg.slots)) * 4
		if seg.damaged {
			s.DamagedSegments++
		}
	}
	if l.reserved && canPreallocate {
		s.DiskBytes += l.o.footprint()
	}
	s.LiveBytes, s.DeadBytes = l.liveBytes, l.logBytes-l.liveBytes
	s.Held = l.index.held
	s.IndexBytes += l.index.bytes()
	return s
}

// Close commits what waits, writes the release markers, seals the open segment and unlocks the directory. It waits for Reads in
// progress. Calls after it, and a second Close, return ErrClosed.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.closed = true
	l.mu.Unlock()
	l.reads.Wait()
	close(l.stopCompactor)
	<-l.compacted // before the committer, on which it may wait
	l.queue.close()
	close(l.stopCommit)
	<-l.committed
	return errors.Join(l.sealLast(), l.closeFiles())
}

func (l *Log) closeFiles() error {
	l.state.close()
	for _, s := range l.segments {
		l.closeFile(s)
	}
	return l.lockf.Close()
}

func (l *Log) wakeCommitter() { wake(l.work) }
func (l *Log) wakeCompactor() { wake(l.maintenance) }

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// now is in unix milliseconds, for the headers of segments.
func now() int64 { return time.Now().UnixMilli() }
