// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// The bytes of a segment; docs/spool-format.md has the tables. All numbers are little-endian, all checksums are CRC-32C.
const (
	segmentMagic = "tapespl\n"
	version      = 1

	segmentHeaderBytes = 48
	frameHeaderBytes   = 36
	recordHeaderBytes  = 20
	originBytes        = 12 // in a copy, between header and key

	maxSegment      = 1<<32 - 1
	maxSegmentBytes = 1 << 30 // offsets and lengths are 32 bits, two of which the index uses as flags
)

// Kinds of records.
const (
	kindEntry   = 1 // what was appended
	kindCopy    = 2 // an entry that compaction has moved; it replaces the record at its origin
	kindRelease = 3 // positions of records that are no longer held
)

// How a payload is stored.
const (
	codecNone = 0
	codecZstd = 1
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	le         = binary.LittleEndian
)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// position is where a record begins. Segment numbers start at 1.
type position struct {
	segment, offset uint32
}

func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.segment, q.segment), cmp.Compare(p.offset, q.offset))
}

type segmentHeader struct {
	number  uint32
	salt    uint64 // random; every frame of the segment begins with it, so that no payload can look like a frame
	created int64  // unix milliseconds
}

func (h segmentHeader) encode() []byte {
	b := make([]byte, segmentHeaderBytes)
	copy(b, segmentMagic)
	le.PutUint16(b[8:], version)
	le.PutUint16(b[10:], segmentHeaderBytes)
	le.PutUint64(b[16:], uint64(h.number))
	le.PutUint64(b[24:], h.salt)
	le.PutUint64(b[32:], uint64(h.created))
	le.PutUint32(b[44:], checksum(b[:44]))
	return b
}

// errVersion ends Open: a later version of the project has written the file, and must not be taken for damage.
type errVersion struct{ version int }

func (e errVersion) Error() string {
	return fmt.Sprintf("format version %d, this version reads %d", e.version, version)
}

var errFormat = errors.New("no valid header")

func parseSegmentHeader(b []byte) (segmentHeader, error) {
	if len(b) < segmentHeaderBytes || string(b[:8]) != segmentMagic || le.Uint32(b[44:]) != checksum(b[:44]) {
		return segmentHeader{}, errFormat
	}
	if v := le.Uint16(b[8:]); v != version {
		return segmentHeader{}, errVersion{int(v)}
	}
	n := le.Uint64(b[16:])
	if n == 0 || n > maxSegment {
		return segmentHeader{}, errFormat
	}
	return segmentHeader{number: uint32(n), salt: le.Uint64(b[24:]), created: int64(le.Uint64(b[32:]))}, nil
}

// frameHeader stands before the records of one batch.
type frameHeader struct {
	salt    uint64
	length  uint32 // of the records
	records uint32
	offset  uint32 // of the frame in its segment
	commit  uint32 // of the write that the frame was part of; a lower one than before is left over from a write that was rolled back
	sum     uint32 // of the records
}

func (h frameHeader) encode(b []byte) {
	le.PutUint64(b, h.salt)
	le.PutUint32(b[8:], version)
	le.PutUint32(b[12:], h.length)
	le.PutUint32(b[16:], h.records)
	le.PutUint32(b[20:], h.offset)
	le.PutUint32(b[24:], h.commit)
	le.PutUint32(b[28:], h.sum)
	le.PutUint32(b[32:], checksum(b[:32]))
}

func parseFrameHeader(b []byte) (frameHeader, error) {
	if len(b) < frameHeaderBytes || le.Uint32(b[32:]) != checksum(b[:32]) {
		return frameHeader{}, errFormat
	}
	if v := le.Uint32(b[8:]); v != version {
		return frameHeader{}, errVersion{int(v)}
	}
	return frameHeader{
		salt: le.Uint64(b), length: le.Uint32(b[12:]), records: le.Uint32(b[16:]),
		offset: le.Uint32(b[20:]), commit: le.Uint32(b[24:]), sum: le.Uint32(b[28:]),
	}, nil
}

// record is one record of a frame. Its slices lie in the frame.
type record struct {
	kind, codec byte
	key, meta   []byte
	payload     []byte // as stored
	raw         uint32 // length of the payload before compression
	origin      position
}

// bytes is the length of the record in its segment.
func (r *record) bytes() int {
	n := recordHeaderBytes + len(r.key) + len(r.meta) + len(r.payload)
	if r.kind == kindCopy {
		n += originBytes
	}
	return n
}

func (r *record) append(b []byte) []byte {
	at := len(b)
	b = append(r.appendHead(b, len(r.payload)), r.payload...)
	le.PutUint32(b[at:], checksum(b[at+4:]))
	return b
}

// appendHead appends what stands before a payload of some length. The checksum is left out.
func (r *record) appendHead(b []byte, payload int) []byte {
	at := len(b)
	b = append(b, make([]byte, recordHeaderBytes)...)
	h := b[at:]
	h[4], h[5] = r.kind, r.codec
	le.PutUint16(h[6:], uint16(len(r.key)))
	le.PutUint16(h[8:], uint16(len(r.meta)))
	le.PutUint32(h[12:], uint32(payload))
	le.PutUint32(h[16:], r.raw)
	if r.kind == kindCopy {
		b = le.AppendUint64(b, uint64(r.origin.segment))
		b = le.AppendUint32(b, r.origin.offset)
	}
	return append(append(b, r.key...), r.meta...)
}

// parseRecord reads the record at the beginning of b, checks it and says how long it is. The length is there as well when only the
// checksum is wrong, so that the next record can be found.
func parseRecord(b []byte) (record, int, error) {
	r, n, err := cutRecord(b)
	if err == nil && le.Uint32(b) != checksum(b[4:n]) {
		return record{}, n, fmt.Errorf("%w: checksum", ErrCorrupt)
	}
	return r, n, err
}

// cutRecord is parseRecord without the checksum.
func cutRecord(b []byte) (record, int, error) {
	if len(b) < recordHeaderBytes {
		return record{}, 0, fmt.Errorf("%w: record header cut", ErrCorrupt)
	}
	r := record{kind: b[4], codec: b[5], raw: le.Uint32(b[16:])}
	key, meta, stored := int(le.Uint16(b[6:])), int(le.Uint16(b[8:])), int(le.Uint32(b[12:]))
	at := recordHeaderBytes
	if r.kind == kindCopy {
		at += originBytes
	}
	n := at + key + meta + stored
	if r.kind < kindEntry || r.kind > kindRelease || key > MaxKeyBytes || meta > MaxMetaBytes || n > len(b) {
		return record{}, 0, fmt.Errorf("%w: record header", ErrCorrupt)
	}
	if r.kind == kindCopy {
		segment := le.Uint64(b[recordHeaderBytes:])
		if segment > maxSegment {
			return record{}, 0, fmt.Errorf("%w: origin", ErrCorrupt)
		}
		r.origin = position{uint32(segment), le.Uint32(b[recordHeaderBytes+8:])}
	}
	r.key, r.meta, r.payload = b[at:at+key], b[at+key:at+key+meta], b[at+key+meta:n]
	return r, n, nil
}

// appendRelease adds a position to a list of positions in a file of segment own: how many segments back, and the offset.
func appendRelease(b []byte, own uint32, p position) []byte {
	b = binary.AppendUvarint(b, uint64(own-p.segment))
	return binary.AppendUvarint(b, uint64(p.offset))
}

// eachRelease calls fn for each position of a list in a file of segment own.
func eachRelease(b []byte, own uint32, fn func(position)) error {
	for len(b) > 0 {
		back, n := binary.Uvarint(b)
		if n <= 0 || back >= uint64(own) {
			return fmt.Errorf("%w: list of positions", ErrCorrupt)
		}
		offset, m := binary.Uvarint(b[n:])
		if m <= 0 || offset > maxSegmentBytes*2 {
			return fmt.Errorf("%w: list of positions", ErrCorrupt)
		}
		fn(position{own - uint32(back), uint32(offset)})
		b = b[n+m:]
	}
	return nil
}
