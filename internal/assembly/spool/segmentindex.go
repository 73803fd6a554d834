// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

const (
	indexMagic       = "tapeidx\n"
	indexHeaderBytes = 72

	flagDamaged = 1 // damage was found in the segment
)

// segmentIndexHeader is the first part of a segment index. Two lists follow: the positions that the segment releases, and its records.
type segmentIndexHeader struct {
	segmentHeader
	damaged              bool
	end                  uint32 // bytes of the segment that belong to the log
	entries, releases    uint32
	releaseSize, recSize uint32
	releaseSum, recSum   uint32
}

func (h segmentIndexHeader) bytes() int64 {
	return indexHeaderBytes + int64(h.releaseSize) + int64(h.recSize)
}

// segmentIndex collects what a start has to know of a segment, while the segment is written or scanned.
type segmentIndex struct {
	segmentIndexHeader
	released []byte
	recs     []byte
	lastKey  []byte
	lastEnd  uint32
	firstKey bool
}

func newSegmentIndex(h segmentHeader) *segmentIndex {
	return &segmentIndex{segmentIndexHeader: segmentIndexHeader{segmentHeader: h, end: segmentHeaderBytes}, firstKey: true}
}

// size is the length of the index file.
func (s *segmentIndex) size() int64 {
	return indexHeaderBytes + int64(len(s.released)) + int64(len(s.recs))
}

// add adds a record of the segment that begins at offset and takes n bytes.
func (s *segmentIndex) add(r *record, offset uint32, n int) error {
	switch r.kind {
	case kindRelease:
		err := eachRelease(r.payload, s.number, s.release)
		return err
	case kindCopy:
		if r.origin.segment == 0 || r.origin.segment > s.number {
			return fmt.Errorf("%w: a copy of segment %d", ErrCorrupt, r.origin.segment)
		}
		s.release(r.origin)
	}
	s.recs = binary.AppendUvarint(s.recs, uint64(offset-s.lastEnd))
	s.recs = binary.AppendUvarint(s.recs, uint64(n))
	if !s.firstKey && bytes.Equal(r.key, s.lastKey) {
		s.recs = binary.AppendUvarint(s.recs, 0)
	} else {
		s.recs = binary.AppendUvarint(s.recs, uint64(len(r.key))+1)
		s.recs = append(s.recs, r.key...)
		s.lastKey, s.firstKey = append(s.lastKey[:0], r.key...), false
	}
	s.recs = binary.AppendUvarint(s.recs, uint64(len(r.meta)))
	s.recs = append(s.recs, r.meta...)
	s.recs = binary.AppendUvarint(s.recs, uint64(r.raw))
	s.lastEnd = offset + uint32(n)
	s.entries++
	return nil
}

func (s *segmentIndex) release(p position) {
	s.released = appendRelease(s.released, s.number, p)
	s.releases++
}

func (s *segmentIndex) encode() []byte {
	b := make([]byte, indexHeaderBytes, s.size())
	copy(b, indexMagic)
	le.PutUint16(b[8:], version)
	if s.damaged {
		le.PutUint16(b[10:], flagDamaged)
	}
	le.PutUint32(b[12:], s.entries)
	le.PutUint64(b[16:], uint64(s.number))
	le.PutUint64(b[24:], s.salt)
	le.PutUint64(b[32:], uint64(s.created))
	le.PutUint32(b[40:], s.end)
	le.PutUint32(b[44:], s.releases)
	le.PutUint32(b[48:], uint32(len(s.released)))
	le.PutUint32(b[52:], uint32(len(s.recs)))
	le.PutUint32(b[56:], checksum(s.released))
	le.PutUint32(b[60:], checksum(s.recs))
	le.PutUint32(b[68:], checksum(b[:68]))
	return append(append(b, s.released...), s.recs...)
}

// parseIndexHeader checks the header of an index of size bytes for the segment number, a file of segmentSize bytes.
func parseIndexHeader(b []byte, size int64, number uint32, segmentSize int64) (segmentIndexHeader, error) {
	if len(b) < indexHeaderBytes || string(b[:8]) != indexMagic || le.Uint32(b[68:]) != checksum(b[:68]) {
		return segmentIndexHeader{}, errFormat
	}
	if v := le.Uint16(b[8:]); v != version {
		return segmentIndexHeader{}, errVersion{int(v)}
	}
	h := segmentIndexHeader{
		damaged: le.Uint16(b[10:])&flagDamaged != 0, entries: le.Uint32(b[12:]),
		segmentHeader: segmentHeader{number: number, salt: le.Uint64(b[24:]), created: int64(le.Uint64(b[32:]))},
		end:           le.Uint32(b[40:]), releases: le.Uint32(b[44:]),
		releaseSize: le.Uint32(b[48:]), recSize: le.Uint32(b[52:]), releaseSum: le.Uint32(b[56:]), recSum: le.Uint32(b[60:]),
	}
	switch {
	case le.Uint64(b[16:]) != uint64(number):
		return segmentIndexHeader{}, fmt.Errorf("%w: it is of segment %d", ErrCorrupt, le.Uint64(b[16:]))
	case h.bytes() != size:
		return segmentIndexHeader{}, fmt.Errorf("%w: %d bytes, not %d", ErrCorrupt, size, h.bytes())
	case h.end < segmentHeaderBytes || int64(h.end) > segmentSize:
		return segmentIndexHeader{}, fmt.Errorf("%w: the segment is shorter than it was", ErrCorrupt)
	}
	return h, nil
}

// readReleases returns the list of positions that the segment releases, for eachRelease.
func (h segmentIndexHeader) readReleases(f io.ReaderAt) ([]byte, error) {
	return readPart(f, indexHeaderBytes, h.releaseSize, h.releaseSum)
}

// readRecords returns the list of the records, for eachRecord.
func (h segmentIndexHeader) readRecords(f io.ReaderAt) ([]byte, error) {
	return readPart(f, indexHeaderBytes+int64(h.releaseSize), h.recSize, h.recSum)
}

func readPart(f io.ReaderAt, at int64, size, sum uint32) ([]byte, error) {
	b := make([]byte, size)
	if _, err := f.ReadAt(b, at); err != nil && size > 0 {
		return nil, err
	}
	if checksum(b) != sum {
		return nil, fmt.Errorf("%w: checksum of the segment index", ErrCorrupt)
	}
	return b, nil
}

// indexRecord is what a segment index says of a record.
type indexRecord struct {
	offset, bytes uint32
	key, meta     []byte
	raw           uint32
}

// eachRecord calls fn for each record of a list, in the order of their offsets.
func eachRecord(b []byte, end uint32, fn func(indexRecord) error) error {
	bad := fmt.Errorf("%w: list of records", ErrCorrupt)
	number := func(limit uint64) (uint32, bool) {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > limit {
			return 0, false
		}
		b = b[n:]
		return uint32(v), true
	}
	var r indexRecord
	var at uint32
	for first := true; len(b) > 0; first = false {
		gap, ok := number(uint64(end - at))
		if !ok {
			return bad
		}
		r.offset = at + gap
		if r.bytes, ok = number(uint64(end - r.offset)); !ok || r.bytes < recordHeaderBytes {
			return bad
		}
		at = r.offset + r.bytes
		n, ok := number(MaxKeyBytes + 1)
		if !ok || n == 0 && first || n > 0 && int(n)-1 > len(b) {
			return bad
		}
		if n > 0 {
			r.key, b = b[:n-1], b[n-1:]
		}
		if n, ok = number(MaxMetaBytes); !ok || int(n) > len(b) {
			return bad
		}
		r.meta, b = b[:n], b[n:]
		if r.raw, ok = number(1<<32 - 1); !ok {
			return bad
		}
		if err := fn(r); err != nil {
			return err
		}
	}
	return nil
}
