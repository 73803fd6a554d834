// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// compaction is the list of what is still to be copied out of a segment.
type compaction struct {
	segment *segment
	todo    []candidate
}

type candidate struct {
	slot, generation uint32
	offset, bytes    uint32
}

// compactionDue says whether live records of the oldest segment should be copied forward. They should when dead bytes exceed live bytes
// times the configured ratio. While batches are refused for lack of space, an eighth of the live bytes is enough. Fewer dead bytes than
// one segment never are. Log.mu is held.
func (l *Log) compactionDue() bool {
	dead := l.logBytes - l.liveBytes
	if dead < l.o.SegmentBytes {
		return false
	}
	if float64(dead) > l.o.MaxDeadRatio*float64(l.liveBytes) {
		return true
	}
	return l.short && dead > l.liveBytes/8
}

// compact copies some of the live records of the oldest segment forward.
func (l *Log) compact(s *segment) error {
	if l.victim.segment != s || len(l.victim.todo) == 0 {
		l.victim = compaction{segment: s, todo: l.candidates(s)}
	}
	var chunk []candidate
	size := uint32(0)
	limit := uint32(min(bytesPerCopy, l.o.SegmentBytes/16))
	for _, c := range l.victim.todo {
		if len(chunk) > 0 && size+c.bytes > limit {
			break
		}
		chunk = append(chunk, c)
		size += c.bytes
	}
	if len(chunk) == 0 {
		return fmt.Errorf("%s counts %d live records, and none is found", s.name(), s.live)
	}
	moves, err := l.readMoves(s, chunk)
	if err == nil && len(moves) > 0 {
		err = l.copyForward(moves)
	}
	if err != nil {
		return err
	}
	l.victim.todo = l.victim.todo[len(chunk):]
	return nil
}

// candidates lists the live records of a segment, by place.
func (l *Log) candidates(s *segment) []candidate {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]candidate, 0, s.live)
	for _, i := range s.slots {
		if x := l.index.at(i); x.heldIn(s.number) {
			list = append(list, candidate{i, x.generation, x.offset, x.bytes})
		}
	}
	slices.SortFunc(list, func(a, b candidate) int { return cmp.Compare(a.offset, b.offset) })
	// A slot that was released and taken again in the same segment stands in its list twice.
	return slices.Compact(list)
}

// readMoves reads and checks the records of a chunk that are still held. A record that cannot be read is lost.
func (l *Log) readMoves(s *segment, chunk []candidate) ([]move, error) {
	var places []place
	l.mu.Lock()
	for i, c := range chunk {
		if x := l.index.at(c.slot); x.generation != c.generation || !x.heldIn(s.number) {
			continue
		}
		if err := l.pin(s); err != nil {
			for range places {
				l.unpin(s)
			}
			l.mu.Unlock()
			return nil, err
		}
		places = append(places, place{i, s, c.offset, c.bytes})
	}
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		for range places {
			l.unpin(s)
		}
		l.mu.Unlock()
	}()
	var moves []move
	var other error
	err := readPlaces(places, func(p place, data []byte, err error) error {
		c := chunk[p.i]
		if err == nil {
			_, err = wholeRecord(data)
		}
		switch {
		case errors.Is(err, ErrCorrupt):
			l.lose(ID(c.generation)<<32|ID(c.slot+1), err)
		case err != nil:
			other = errors.Join(other, err)
		default:
			moves = append(moves, move{c.slot, c.generation, position{s.number, c.offset}, slices.Clone(data)})
		}
		return nil
	})
	return moves, errors.Join(err, other)
}
