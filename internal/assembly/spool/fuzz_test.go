// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"bytes"
	"testing"
)

// seeds are a segment and its index, with entries, a release and copies in it.
func seeds(f *testing.F) (segment, side []byte) {
	f.Helper()
	h := segmentHeader{number: 3, salt: 0x0123456789abcdef, created: 1_700_000_000_000}
	c := newSegmentIndex(h)
	segment = h.encode()
	frame := func(commit uint32, records ...record) {
		at := len(segment)
		segment = append(segment, make([]byte, frameHeaderBytes)...)
		for _, r := range records {
			if err := c.add(&r, uint32(len(segment)), r.bytes()); err != nil {
				f.Fatal(err)
			}
			segment = r.append(segment)
		}
		body := segment[at+frameHeaderBytes:]
		frameHeader{salt: h.salt, length: uint32(len(body)), records: uint32(len(records)), offset: uint32(at), commit: commit, sum: checksum(body)}.encode(segment[at:])
		c.end = uint32(len(segment))
	}
	frame(1, record{kind: kindEntry, key: []byte("acme/4bf9"), meta: []byte("m"), payload: []byte("payload"), raw: 7},
		record{kind: kindEntry, key: []byte("acme/4bf9"), payload: bytes.Repeat([]byte{0}, 40), raw: 40})
	frame(2, record{kind: kindRelease, payload: appendRelease(nil, 3, position{2, 100})})
	frame(2, record{kind: kindCopy, key: []byte("k"), payload: []byte{1}, raw: 1, origin: position{1, 48}})
	return segment, c.encode()
}

// FuzzSegment: whatever a segment holds, scanning it ends, stays within it and finds only records whose checksums are right; a log
// opens on it, and again.
func FuzzSegment(f *testing.F) {
	segment, side := seeds(f)
	f.Add(segment, side)
	f.Add(append(bytes.Clone(segment), make([]byte, 4096)...), []byte{})
	f.Add(segment[:len(segment)-3], []byte{})
	for _, at := range []int{10, 50, 60, 90, 130} {
		bad := bytes.Clone(segment)
		bad[at] ^= 1
		f.Add(bad, []byte{})
		f.Add(bad, side)
	}
	f.Fuzz(func(t *testing.T, segment, side []byte) {
		for _, sealed := range []bool{false, true} {
			found, err := scanSegment(bytes.NewReader(segment), int64(len(segment)), 3, sealed)
			if err != nil {
				continue
			}
			c := found.index
			if int(c.end) > max(len(segment), segmentHeaderBytes) {
				t.Fatalf("end %d of %d bytes", c.end, len(segment))
			}
			err = eachRecord(c.recs, c.end, func(r indexRecord) error {
				_, err := wholeRecord(segment[r.offset : r.offset+r.bytes])
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			// The index that is written says the same.
			b := c.encode()
			h, err := parseIndexHeader(b[:indexHeaderBytes], int64(len(b)), 3, max(int64(len(segment)), int64(c.end)))
			if err != nil {
				t.Fatal(err)
			}
			if recs, err := h.readRecords(bytes.NewReader(b)); err != nil || !bytes.Equal(recs, c.recs) {
				t.Fatal(err)
			}
		}
		d := newFaultDir(1)
		d.names[segmentName(3)] = &faultFile{data: bytes.Clone(segment)}
		if len(side) > 0 {
			d.names[indexName(3)] = &faultFile{data: bytes.Clone(side)}
		}
		_, _ = verify(t.Context(), "", d)
		var held [2]int
		for i := range held {
			var ids []ID
			log, err := open(d, Options{SegmentBytes: minSegmentBytes}, func(h Held) error {
				ids = append(ids, h.ID)
				return nil
			})
			if err != nil {
				return // a later version
			}
			_ = log.Read(ids, func(int, []byte, []byte) error { return nil })
			held[i] = len(ids)
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if held[1] > held[0] {
			t.Fatalf("%d records, then %d", held[0], held[1])
		}
	})
}

// FuzzSegmentIndex: an index of any bytes is refused, or what it says lies within the segment.
func FuzzSegmentIndex(f *testing.F) {
	_, side := seeds(f)
	f.Add(side)
	f.Add(side[:indexHeaderBytes])
	f.Fuzz(func(t *testing.T, side []byte) {
		// The checksums would keep the fuzzer out: they are made right.
		if len(side) >= indexHeaderBytes {
			k := min(int(le.Uint32(side[48:])), len(side)-indexHeaderBytes)
			if k >= 0 {
				le.PutUint32(side[48:], uint32(k))
				le.PutUint32(side[52:], uint32(len(side)-indexHeaderBytes-k))
				le.PutUint32(side[56:], checksum(side[indexHeaderBytes:][:k]))
				le.PutUint32(side[60:], checksum(side[indexHeaderBytes+k:]))
			}
			le.PutUint32(side[68:], checksum(side[:68]))
		}
		const size = 1 << 20
		h, err := parseIndexHeader(side, int64(len(side)), 3, size)
		if err != nil {
			return
		}
		r := bytes.NewReader(side)
		if releases, err := h.readReleases(r); err == nil {
			_ = eachRelease(releases, 3, func(p position) {
				if p.segment == 0 || p.segment > 3 {
					t.Fatalf("position %v", p)
				}
			})
		}
		list, err := h.readRecords(r)
		if err != nil {
			return
		}
		last := uint32(0)
		_ = eachRecord(list, h.end, func(r indexRecord) error {
			if r.offset < last || r.offset+r.bytes > h.end || len(r.key) > MaxKeyBytes || len(r.meta) > MaxMetaBytes {
				t.Fatalf("%+v", r)
			}
			last = r.offset + r.bytes
			return nil
		})
	})
}
