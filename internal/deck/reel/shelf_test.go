// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"bytes"
	"testing"
)

func contentOf(of byte, n int) []byte { return bytes.Repeat([]byte{of}, n) }

func TestTheShelfCopiesContentAndUsesItsBoardsAgain(t *testing.T) {
	var s shelf
	lent := contentOf('a', boardBytes/8)
	rows := []Row{{Evidence: lent, Tape: contentOf('b', 10)}, {Tape: contentOf('c', boardBytes/4+1)}, {}}
	held := s.keep(rows)
	clear(lent) // whoever lent it uses it again
	if !bytes.Equal(rows[0].Evidence, contentOf('a', boardBytes/8)) || !bytes.Equal(rows[0].Tape, contentOf('b', 10)) ||
		!bytes.Equal(rows[1].Tape, contentOf('c', boardBytes/4+1)) || rows[1].Evidence != nil || rows[2].Tape != nil {
		t.Fatal("the content is another one")
	}
	if len(held) != 2 { // what is large has memory of its own
		t.Fatalf("%d contents on boards", len(held))
	}
	first := &rows[0].Evidence[0]

	// Eight more fill the board and begin another one, which takes nothing of what is held.
	more := make([]Row, 8)
	for i := range more {
		more[i].Evidence = contentOf(byte('0'+i), boardBytes/8)
	}
	full := s.keep(more)
	for i := range more {
		if !bytes.Equal(more[i].Evidence, contentOf(byte('0'+i), boardBytes/8)) {
			t.Errorf("content %d was written over", i)
		}
	}
	if !bytes.Equal(rows[0].Evidence, contentOf('a', boardBytes/8)) {
		t.Error("content that is held was written over")
	}

	s.release(held)
	if len(s.spare) != 0 {
		t.Fatal("a board is spare that holds content")
	}
	s.release(full)
	if len(s.spare) != 1 {
		t.Fatalf("%d boards are spare, want the first one", len(s.spare))
	}
	again := make([]Row, 9) // the second board is open and empty, the first one comes behind it
	for i := range again {
		again[i].Evidence = contentOf('z', boardBytes/8)
	}
	s.keep(again)
	if &again[8].Evidence[0] != first {
		t.Error("the first board is not used again")
	}
	s.spare = []*board{{}}
	if s.clear(); len(s.spare) != 0 {
		t.Error("spare boards are kept where no rows come")
	}
}
