// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

// index says where the held records lie. It holds no pointers, so the garbage collector has nothing to look at. It grows in pieces, so
// growing moves nothing. A record takes 16 bytes, and 4 in the list of its segment.
//
// A slot that was released keeps its place until the release marker is written; its generation rises at once, so its ID is void.
type index struct {
	chunks [][]slot
	next   uint32 // slots never used begin here
	free   uint32 // slot+1 of the first free one, 0: none
	held   int64
}

type slot struct {
	segment    uint32 // 0: the record is lost
	offset     uint32 // of a free slot: slot+1 of the next free one
	bytes      uint32 // with flags
	generation uint32
}

const (
	slotsPerChunk = 1 << 13
	slotBytes     = 16

	flagReleased = 1 << 31
	flagFree     = 1 << 30
	bytesMask    = flagFree - 1
)

func (x *index) at(i uint32) *slot { return &x.chunks[i/slotsPerChunk][i%slotsPerChunk] }

// add gives a place a slot.
func (x *index) add(p position, bytes int) uint32 {
	i := x.free - 1
	if x.free != 0 {
		x.free = x.at(i).offset
	} else {
		i = x.next
		if i%slotsPerChunk == 0 {
			x.chunks = append(x.chunks, make([]slot, slotsPerChunk))
		}
		x.next++
	}
	s := x.at(i)
	s.segment, s.offset, s.bytes = p.segment, p.offset, uint32(bytes)
	if s.generation == 0 {
		s.generation = 1
	}
	x.held++
	return i
}

func (x *index) id(i uint32) ID { return ID(x.at(i).generation)<<32 | ID(i+1) }

// find returns the slot of a held record, or nil.
func (x *index) find(id ID) (uint32, *slot) {
	i := uint32(id) - 1
	if uint32(id) == 0 || i >= x.next {
		return 0, nil
	}
	s := x.at(i)
	if s.generation != uint32(id>>32) || s.bytes&(flagReleased|flagFree) != 0 {
		return 0, nil
	}
	return i, s
}

// release voids the ID of a slot.
func (x *index) release(s *slot) {
	s.bytes |= flagReleased
	s.generation++
	if s.generation == 0 {
		s.generation = 1
	}
	x.held--
}

// drop makes a released slot free.
func (x *index) drop(i uint32) {
	s := x.at(i)
	s.segment, s.bytes, s.offset = 0, flagFree, x.free
	x.free = i + 1
}

// heldIn says whether a slot is a held record of a segment.
func (s *slot) heldIn(segment uint32) bool {
	return s.segment == segment && s.bytes&(flagReleased|flagFree) == 0
}

func (x *index) bytes() int64 { return int64(len(x.chunks)) * slotsPerChunk * slotBytes }
