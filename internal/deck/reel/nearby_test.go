// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestARowThatIsLookedUpIsTheSameWithItsNeighboursKept(t *testing.T) {
	body := encode(t, rowsOf(t, 3000))
	read := int64(0)
	f, err := Open(t.Context(), fetchOf(body, &read), int64(len(body)), nil)
	if err != nil {
		t.Fatal(err)
	}
	n := nearby{chunks: map[chunkKey][]*Entry{}}
	look := func(s span) {
		t.Helper()
		got, err := n.entries(t.Context(), f, s)
		if err != nil {
			t.Fatal(err)
		}
		want, err := f.entries(t.Context(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(Entry{}), cmpopts.IgnoreFields(Entry{}, "file")); diff != "" {
			t.Fatalf("%+v (-alone +with its neighbours):\n%s", s, diff)
		}
	}
	for group, g := range f.groups {
		for row := int64(0); row < g.NumRows; row += 97 {
			look(span{group, row, row + 1})
		}
		look(span{group, max(0, g.NumRows-3), g.NumRows})
		if g.NumRows > chunkRows {
			look(span{group, chunkRows - 1, chunkRows + 1})
		}
	}
	// The neighbours of a row that was looked up cost no reading.
	before := read
	for row := range min(f.groups[0].NumRows, chunkRows) {
		if _, err := n.entries(t.Context(), f, span{0, row, row + 1}); err != nil {
			t.Fatal(err)
		}
	}
	if read != before {
		t.Errorf("%d bytes were read for rows that are kept", read-before)
	}
	if len(n.chunks) != len(n.order) || len(n.chunks) > nearbyChunks {
		t.Errorf("%d chunks are kept, %d are noted", len(n.chunks), len(n.order))
	}
	if n.forget(f); len(n.chunks)+len(n.order) > 0 {
		t.Error("rows of a file that is gone are kept")
	}
}

func TestNoMoreChunksAreKeptThanAreAllowed(t *testing.T) {
	n := nearby{chunks: map[chunkKey][]*Entry{}}
	f := &File{}
	for i := range 3 * nearbyChunks {
		n.keep(chunkKey{f, 0, int64(i)}, nil)
		n.keep(chunkKey{f, 0, int64(i)}, []*Entry{{}})
	}
	if len(n.chunks) != nearbyChunks || len(n.order) != nearbyChunks || n.chunks[chunkKey{f, 0, 3*nearbyChunks - 1}] == nil {
		t.Errorf("%d chunks are kept, %d noted", len(n.chunks), len(n.order))
	}
}
