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

// Disk space. Batches fill a segment up to SegmentBytes. Maintenance (release markers, and copies of compaction) may fill a quarter
// more. A segment reserves its disk space when it is created, so a full disk is noticed there. The reserved space is a file of the size
// of one more segment. When nothing else is free, that file is deleted for maintenance, so that a full log can drain. While it is
// missing, batches are refused.

// errQuota is the quota's way of saying that the disk is full.
var errQuota = fmt.Errorf("%w: max bytes reached", syscall.ENOSPC)

// fitMaintenance makes sure that markers and copies of the group fit into the open segment.
func (l *Log) fitMaintenance(g *group) error {
	need := g.maintenanceBytes()
	if need == 0 || l.active != nil && int64(l.active.end)+need <= l.o.markerLimit() {
		return nil
	}
	return l.rotate(true)
}

// admit keeps the batches that fit into the open segment beside the maintenance. If none fits, it begins a new segment. It refuses batches
// that find no space at all, and leaves the rest for the next commit.
func (l *Log) admit(g *group) {
	waiting := g.batches
	g.batches = nil
	if len(waiting) == 0 {
		return
	}
	if !l.reserved && !l.reserveSpace() {
		l.refuse(&group{batches: waiting}, errQuota)
		return
	}
	maintenance := g.maintenanceBytes()
	var taken int64
	rotated := false
	for k, r := range waiting {
		size := int64(len(r.buf))
		if !l.fits(taken+size, maintenance) {
			if len(g.batches) > 0 {
				l.queue.putBack(waiting[k:])
				return
			}
			var err error
			if !rotated {
				rotated = true
				err = l.rotate(false)
			}
			if err == nil && !l.fits(taken+size, maintenance) {
				if maintenance > 0 { // a large copy; the batch comes next
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

// fits says whether the open segment has space for n bytes of batches and for the maintenance.
func (l *Log) fits(n, maintenance int64) bool {
	s := l.active
	if s == nil || int64(s.end)+n > l.o.SegmentBytes || int64(s.end)+n+maintenance > l.o.markerLimit() {
		return false
	}
	return s.unsealed.entries == 0 || s.unsealed.size() < l.o.SegmentBytes/4
}

// rotate begins a new segment and leaves the old one to the compactor. On an error the old one stays open.
func (l *Log) rotate(maintenance bool) error {
	if l.o.MaxBytes > 0 {
		l.countQuarantined()
		remaining := l.o.MaxBytes - l.used(false) - l.o.footprint()
		switch {
		case remaining < 0, !maintenance && remaining < l.o.footprint():
			return errQuota
		case remaining < l.o.footprint():
			l.freeReservedSpace()
		}
	}
	s, err := l.create()
	if maintenance && isFull(err) && l.freeReservedSpace() {
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
	l.wakeCompactor()
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
	return &segment{segmentHeader: h, f: f, size: size, end: segmentHeaderBytes, unsealed: newSegmentIndex(h)}, nil
}

// used is what the files take, without the reserved space. With open, the open segment counts with the size that it may reach.
func (l *Log) used(open bool) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.quarantined
	for _, s := range l.segments {
		switch {
		case open && s == l.active:
			n += l.o.footprint()
		case s.unsealed != nil: // sealed soon: cut, and with its index
			n += int64(s.end) + s.unsealed.size()
		default:
			n += s.size + s.indexFileBytes
		}
	}
	return n
}

// countQuarantined counts the quarantined files again, because somebody may have deleted some.
func (l *Log) countQuarantined() {
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
	l.quarantined, l.stats.QuarantinedFiles = size, n
	l.mu.Unlock()
}

// reserveSpace creates the reserved space again, if there is space for it.
func (l *Log) reserveSpace() bool {
	if l.o.MaxBytes > 0 {
		l.countQuarantined()
		if l.used(true)+l.o.footprint() > l.o.MaxBytes {
			return false
		}
	}
	if err := l.preallocateReserved(); err != nil {
		_ = l.fs.Remove(reservedName)
		if !isFull(err) {
			l.o.Logger.Error("spool: the reserved space cannot be created", zap.Error(err))
		}
		return false
	}
	l.setReserved(true)
	return true
}

func (l *Log) preallocateReserved() error {
	if !canPreallocate {
		return nil
	}
	f, err := l.fs.Open(reservedName, os.O_CREATE|os.O_RDWR)
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

// freeReservedSpace deletes the reserved space and says whether it was there.
func (l *Log) freeReservedSpace() bool {
	if !l.reserved {
		return false
	}
	l.setReserved(false)
	if canPreallocate {
		if err := l.fs.Remove(reservedName); err != nil {
			l.o.Logger.Error("spool: the reserved space cannot be freed", zap.Error(err))
		}
	}
	if t := time.Now(); t.Sub(l.warned) > time.Minute {
		l.warned = t
		l.o.Logger.Warn("spool: only the reserved space is left; batches are refused until records are released")
	}
	return true
}

func (l *Log) setReserved(v bool) {
	l.mu.Lock()
	l.reserved = v
	l.mu.Unlock()
}
