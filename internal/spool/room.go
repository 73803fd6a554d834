// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// Room on the disk. Batches fill a segment up to SegmentBytes, release markers and copies of compaction ("upkeep") may go on to
// a quarter more. A segment takes its room when it is created, so a full disk is met there. The reserve is a file that takes room for
// one more segment: upkeep gets it when there is no other, so that a full log can drain. Without the reserve batches are refused.

// errQuota is the quota's way of saying that the disk is full.
var errQuota = fmt.Errorf("%w: max bytes reached", syscall.ENOSPC)

// roomForUpkeep makes sure that markers and copies of the group fit into the open segment.
func (l *Log) roomForUpkeep(g *group) error {
	need := g.upkeepBytes()
	if need == 0 || l.active != nil && int64(l.active.end)+need <= l.o.markerLimit() {
		return nil
	}
	return l.rotate(true)
}

// admit keeps the batches that fit into the open segment beside the upkeep, begins a new segment if none does, answers those that find
// no room at all and leaves the rest for the next commit.
func (l *Log) admit(g *group) {
	waiting := g.batches
	g.batches = nil
	if len(waiting) == 0 {
		return
	}
	if !l.reserved && !l.restoreReserve() {
		l.refuse(&group{batches: waiting}, errQuota)
		return
	}
	upkeep := g.upkeepBytes()
	var taken int64
	rotated := false
	for k, r := range waiting {
		size := int64(len(r.buf))
		if !l.fits(taken+size, upkeep) {
			if len(g.batches) > 0 {
				l.queue.putBack(waiting[k:])
				return
			}
			var err error
			if !rotated {
				rotated = true
				err = l.rotate(false)
			}
			if err == nil && !l.fits(taken+size, upkeep) {
				if upkeep > 0 { // a large copy; the batch comes next
					l.queue.putBack(waiting[k:])
					return
				}
				err = errQuota
			}
			if err != nil {
				l.refuse(&group{batches: waiting[k : k+1]}, err)
				continue
			}
		}
		taken += size
		g.batches = append(g.batches, r)
	}
}

// fits says whether the open segment takes so many bytes of batches more, and of upkeep.
func (l *Log) fits(n, upkeep int64) bool {
	s := l.active
	if s == nil || int64(s.end)+n > l.o.SegmentBytes || int64(s.end)+n+upkeep > l.o.markerLimit() {
		return false
	}
	return s.unsealed.entries == 0 || s.unsealed.size() < l.o.SegmentBytes/4
}

// rotate begins a new segment and leaves the old one to the keeper. On an error the old one stays open.
func (l *Log) rotate(upkeep bool) error {
	if l.o.MaxBytes > 0 {
		l.lookAside()
		room := l.o.MaxBytes - l.used(false) - l.o.footprint()
		switch {
		case room < 0, !upkeep && room < l.o.footprint():
			return errQuota
		case room < l.o.footprint():
			l.giveUpReserve()
		}
	}
	s, err := l.create()
	if upkeep && isFull(err) && l.giveUpReserve() {
		s, err = l.create()
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	if l.active != nil {
		l.active.sealed = true
	}
	l.active = s
	l.segments = append(l.segments, s)
	l.openFiles++
	l.logBytes += int64(s.end)
	l.mu.Unlock()
	l.wakeKeeper()
	return nil
}

// create makes the file of a new segment, durable with its name.
func (l *Log) create() (*segment, error) {
	var salt [8]byte
	if _, err := rand.Read(salt[:]); err != nil {
		return nil, err
	}
	if l.nextNumber == 0 {
		return nil, errors.New("segment numbers are used up")
	}
	h := segmentHeader{number: l.nextNumber, salt: le.Uint64(salt[:]), created: now()}
	l.nextNumber++
	f, err := l.fs.Open(segmentName(h.number), os.O_CREATE|os.O_EXCL|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	err = f.Preallocate(l.o.SegmentBytes)
	if err == nil {
		_, err = f.WriteAt(h.encode(), 0)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = l.fs.SyncDir()
	}
	var size int64
	if err == nil {
		size, err = f.Size()
	}
	if err != nil {
		_ = f.Close()
		_ = l.fs.Remove(segmentName(h.number))
		return nil, fmt.Errorf("create %s: %w", segmentName(h.number), err)
	}
	return &segment{segmentHeader: h, f: f, size: size, end: segmentHeaderBytes, unsealed: newSidecar(h)}, nil
}

// used is what the files take, without the reserve; the open segment counts as what it may become, or as what it is.
func (l *Log) used(open bool) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.setAside
	for _, s := range l.segments {
		switch {
		case open && s == l.active:
			n += l.o.footprint()
		case s.unsealed != nil: // sealed soon: cut, and with its sidecar
			n += int64(s.end) + s.unsealed.size()
		default:
			n += s.size + s.sidecarBytes
		}
	}
	return n
}

// lookAside counts the damaged files again, which a person may have deleted.
func (l *Log) lookAside() {
	l.mu.Lock()
	none := l.stats.QuarantinedFiles == 0
	l.mu.Unlock()
	if none {
		return
	}
	list, err := l.fs.List()
	if err != nil {
		return // what is known stays
	}
	size, n := int64(0), 0
	for _, f := range list {
		if _, aside := fileNumber(f.name, segmentSuffix+damagedSuffix); aside {
			size += f.size
			n++
		}
	}
	l.mu.Lock()
	l.setAside, l.stats.QuarantinedFiles = size, n
	l.mu.Unlock()
}

// restoreReserve takes the room of the reserve again, if there is room.
func (l *Log) restoreReserve() bool {
	if l.o.MaxBytes > 0 {
		l.lookAside()
		if l.used(true)+l.o.footprint() > l.o.MaxBytes {
			return false
		}
	}
	if err := l.createReserve(); err != nil {
		_ = l.fs.Remove(reserveName)
		if !isFull(err) {
			l.o.Logger.Error("spool: the reserve cannot be created", zap.Error(err))
		}
		return false
	}
	l.setReserved(true)
	return true
}

func (l *Log) createReserve() error {
	if !canReserve {
		return nil
	}
	f, err := l.fs.Open(reserveName, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return err
	}
	err = f.Preallocate(l.o.footprint())
	if err == nil {
		err = f.Truncate(l.o.footprint()) // that of another configuration may be larger
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// giveUpReserve makes its room free and says whether it was there.
func (l *Log) giveUpReserve() bool {
	if !l.reserved {
		return false
	}
	l.setReserved(false)
	if canReserve {
		if err := l.fs.Remove(reserveName); err != nil {
			l.o.Logger.Error("spool: the reserve cannot be given up", zap.Error(err))
		}
	}
	if t := time.Now(); t.Sub(l.warned) > time.Minute {
		l.warned = t
		l.o.Logger.Warn("spool: no room left but the reserve; batches are refused until records were released")
	}
	return true
}

func (l *Log) setReserved(v bool) {
	l.mu.Lock()
	l.reserved = v
	l.mu.Unlock()
}
