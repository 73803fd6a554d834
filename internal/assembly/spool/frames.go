// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import "slices"

// markerBytes is the most that a position takes in a release marker.
const markerBytes = 10

// markersPerCommit keeps release markers to a sixteenth of a segment in one commit.
func (l *Log) markersPerCommit() int { return int(l.o.SegmentBytes) / 16 / markerBytes }

// maintenanceBytes is the most that release markers and copies of a group take.
func (g *group) maintenanceBytes() int64 {
	var n int64
	if len(g.slots) > 0 {
		n += frameHeaderBytes + recordHeaderBytes + int64(len(g.slots))*markerBytes
	}
	for _, r := range g.moving {
		n += frameHeaderBytes
		for _, m := range r.moves {
			n += int64(len(m.data)) + originBytes
		}
	}
	return n
}

// encode makes the frames of a group, as they are to lie in the segment one after the other: those of the maintenance in the buffer of the committer, those of
// batches where they are. It returns how many bytes they have.
func (l *Log) encode(g *group, s *segment) (frames [][]byte, size int) {
	s.commits++ // never given twice, also when the write is taken back
	g.moved = g.moved[:0]
	buf := l.encodeMarkers(l.buf[:0], g, s)
	for _, r := range g.moving {
		buf = l.encodeMoves(buf, g, r, s)
	}
	if l.buf = buf[:0]; cap(buf) > 2*bytesPerCommit {
		l.buf = nil
	}
	frames = l.frames[:0]
	if size = len(buf); size > 0 {
		frames = append(frames, buf)
	}
	for _, r := range g.batches {
		s.closeBatch(r, r.buf, s.end+uint32(size))
		frames, size = append(frames, r.buf), size+len(r.buf)
	}
	l.frames = frames
	return frames, size
}

// closeBatch fills in the frame header of a batch when its place is known.
func (s *segment) closeBatch(r *request, frame []byte, at uint32) {
	r.at = at
	s.closeFrame(frame, at, len(r.offsets), r.sum)
}

// closeFrame writes the header of a frame.
func (s *segment) closeFrame(frame []byte, at uint32, records int, sum uint32) {
	frameHeader{
		salt: s.salt, length: uint32(len(frame) - frameHeaderBytes), records: uint32(records),
		offset: at, commit: s.commits, sum: sum,
	}.encode(frame)
}

func (l *Log) encodeMarkers(buf []byte, g *group, s *segment) []byte {
	var positions []position
	l.mu.Lock()
	for _, i := range g.slots {
		x := l.index.at(i)
		if l.segmentOf(x.segment) != nil { // else nothing is left that could come back
			positions = append(positions, position{x.segment, x.offset})
		}
	}
	l.mu.Unlock()
	if len(positions) == 0 {
		return buf
	}
	slices.SortFunc(positions, position.compare)
	list := make([]byte, 0, len(positions)*6)
	for _, p := range positions {
		list = appendRelease(list, s.number, p)
	}
	at := len(buf)
	buf = append(buf, make([]byte, frameHeaderBytes)...)
	marker := record{kind: kindRelease, payload: list, raw: uint32(len(list))}
	buf = marker.append(buf)
	s.closeFrame(buf[at:], s.end+uint32(at), 1, checksum(buf[at+frameHeaderBytes:]))
	return buf
}

// encodeMoves copies the records that are still held. A later release is written behind the copy and names the copy's position.
func (l *Log) encodeMoves(buf []byte, g *group, r *request, s *segment) []byte {
	var held []move
	l.mu.Lock()
	for _, m := range r.moves {
		x := l.index.at(m.slot)
		if x.generation == m.generation && x.heldIn(m.from.segment) && x.offset == m.from.offset {
			held = append(held, m)
		}
	}
	l.mu.Unlock()
	if len(held) == 0 {
		return buf
	}
	at := len(buf)
	buf = append(buf, make([]byte, frameHeaderBytes)...)
	for _, m := range held {
		rec, _, err := cutRecord(m.data)
		if err != nil {
			panic(err) // readMoves has checked it
		}
		rec.kind, rec.origin = kindCopy, m.from
		g.moved = append(g.moved, moved{m.slot, s.end + uint32(len(buf)), uint32(rec.bytes())})
		buf = rec.append(buf)
	}
	s.closeFrame(buf[at:], s.end+uint32(at), len(held), checksum(buf[at+frameHeaderBytes:]))
	return buf
}
