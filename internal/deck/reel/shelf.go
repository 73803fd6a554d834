// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"bytes"
	"sync"
)

// boardBytes is the size of a board. Content of more than a quarter of it has memory of its own.
const boardBytes = 1 << 20

// shelf keeps the content of rows that wait for their reel, on boards that are used again. Each run would
// otherwise take memory that the runtime clears, maps and collects. It is safe for concurrent use.
type shelf struct {
	mu    sync.Mutex
	open  *board // that takes content; nil if none is begun
	spare []*board
}

// board is memory that several rows share.
type board struct {
	memory []byte
	used   int
	rows   int // contents on it that are held
}

// keep replaces the content of rows by a copy, and returns what release gives back.
func (s *shelf) keep(rows []Row) (held []*board) {
	for i := range rows {
		for _, content := range []*[]byte{&rows[i].Evidence, &rows[i].Tape} {
			if len(*content) > boardBytes/4 {
				*content = bytes.Clone(*content)
			} else if len(*content) > 0 {
				room, b := s.room(len(*content))
				copy(room, *content)
				*content = room
				held = append(held, b)
			}
		}
	}
	return held
}

// room returns memory of n bytes and its board.
func (s *shelf) room(n int) ([]byte, *board) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.open
	if b == nil || len(b.memory)-b.used < n {
		if last := len(s.spare) - 1; last >= 0 {
			b, s.spare = s.spare[last], s.spare[:last]
		} else {
			b = &board{memory: make([]byte, boardBytes)}
		}
		s.open = b
	}
	room := b.memory[b.used : b.used+n : b.used+n]
	b.used, b.rows = b.used+n, b.rows+1
	return room, b
}

// release gives content back: nobody reads it any more.
func (s *shelf) release(held []*board) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range held {
		if b.rows--; b.rows > 0 {
			continue
		}
		b.used = 0
		if b != s.open {
			s.spare = append(s.spare, b)
		}
	}
}

// clear lets go what no row holds.
func (s *shelf) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spare = nil
}
