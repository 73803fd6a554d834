// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

const (
	segmentSuffix = ".seg"
	indexSuffix   = ".idx"
	damagedSuffix = ".damaged"
	tempSuffix    = ".tmp"
	reservedName  = "reserve"
)

// segment is one file of the log. Log.mu guards what changes, except where said.
type segment struct {
	segmentHeader
	f       file  // nil while not open
	size    int64 // of the file; while it is written, with what is preallocated
	end     uint32
	commits uint32   // number of the last commit; the committer's
	slots   []uint32 // of its records, those too that are not its own any more
	live    int
	bytes   int64 // of the records that are live
	readers int   // Reads in progress; the file is kept as long
	sealed  bool  // nothing is written to it any more
	dirty   bool  // written since the last sync
	damaged bool

	unsealed       *segmentIndex // collected until the index file is written
	indexFileBytes int64         // of the index file
}

func (s *segment) name() string      { return segmentName(s.number) }
func (s *segment) indexName() string { return indexName(s.number) }

func segmentName(number uint32) string { return fmt.Sprintf("%020d%s", number, segmentSuffix) }
func indexName(number uint32) string   { return fmt.Sprintf("%020d%s", number, indexSuffix) }

// fileNumber is the number in the name of a segment or of its index.
func fileNumber(name, suffix string) (uint32, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok || len(digits) != 20 {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	return uint32(n), err == nil && n > 0
}

// segmentOf returns the segment with a number, or nil. Log.mu is held.
func (l *Log) segmentOf(number uint32) *segment {
	lo, hi := 0, len(l.segments)
	for lo < hi {
		mid := (lo + hi) / 2
		switch s := l.segments[mid]; {
		case s.number == number:
			return s
		case s.number < number:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return nil
}

// maxOpenFiles bounds the files kept open for reading.
const maxOpenFiles = 128

// pin keeps the file of a segment open and in place until unpin. Log.mu is held.
func (l *Log) pin(s *segment) error {
	if s.f == nil {
		f, err := l.fs.Open(s.name(), os.O_RDONLY)
		if err != nil {
			return fmt.Errorf("open %s: %w", s.name(), err)
		}
		s.f = f
		l.openFiles++
	}
	s.readers++
	return nil
}

// unpin is the end of pin. Log.mu is held.
func (l *Log) unpin(s *segment) {
	s.readers--
	if s.readers > 0 {
		return
	}
	if s.sealed && s.live == 0 {
		l.wakeCompactor()
	}
	if l.openFiles > maxOpenFiles && s.sealed && s.unsealed == nil {
		l.closeFile(s)
	}
}

// closeFile closes the file of a segment that nobody reads. Log.mu is held.
func (l *Log) closeFile(s *segment) {
	if s.f != nil {
		_ = s.f.Close() // everything in it is synced
		s.f = nil
		l.openFiles--
	}
}

// writeSegmentIndex writes the index file of a segment: whole, or not at all.
func writeSegmentIndex(fs fileSystem, c *segmentIndex) error {
	name := indexName(c.number)
	temp := name + tempSuffix
	err := writeFile(fs, temp, c.encode())
	if err == nil {
		err = fs.Rename(temp, name)
	}
	if err != nil {
		_ = fs.Remove(temp)
		return fmt.Errorf("write %s: %w", name, err)
	}
	return fs.SyncDir()
}

func writeFile(fs fileSystem, name string, data []byte) error {
	if err := fs.Remove(name); err != nil && !os.IsNotExist(err) {
		return err
	}
	f, err := fs.Open(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
