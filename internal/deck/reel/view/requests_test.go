// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/testbed/manyruns"
)

// TestReadingEveryRunTakesFewRequests: whoever reads every run of a deck, one after the other, with what lies beside it, asks the store for many runs at a time.
func TestReadingEveryRunTakesFewRequests(t *testing.T) {
	const address, many = "mem://walk", 2000
	t.Cleanup(func() { mem.Drop("walk") })
	written := openDeck(t, address, deck.LayoutReels)
	if _, err := manyruns.Write(t.Context(), written, manyruns.Options{Runs: many, PerReel: 500, Kinds: 8}); err != nil {
		t.Fatal(err)
	}
	d, counted := cold(t, address)
	t.Cleanup(func() { _ = d.Close() })
	read := 0
	for l, err := range d.Locations(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		refs, err := runs.Current(t.Context(), d, l)
		if err != nil || len(refs) != 1 {
			t.Fatal(refs, err)
		}
		if _, err := d.Store().Get(t.Context(), refs[0].Key); err != nil {
			t.Fatal(err)
		}
		beside := 0
		for _, err := range d.Store().List(t.Context(), path.Dir(refs[0].Key)+"/") {
			if err != nil {
				t.Fatal(err)
			}
			beside++
		}
		if beside < 2 {
			t.Fatalf("%d files in the folder of %s", beside, refs[0].Key)
		}
		read++
	}
	// A listing is believed for a second, so the number depends on how long all of it takes: no request is made for each run.
	if calls := counted.Count(); read != many || calls > many/10 {
		t.Errorf("%d requests for %d runs", calls, read)
	}
}

// TestRowsThatAreThereTwiceAreReadTogether: traces that have to be united are not read one by one.
func TestRowsThatAreThereTwiceAreReadTogether(t *testing.T) {
	const address, many = "mem://twice", 1000
	t.Cleanup(func() { mem.Drop("twice") })
	written := openDeck(t, address, deck.LayoutReels)
	if _, err := manyruns.Write(t.Context(), written, manyruns.Options{Runs: many, Kinds: 4}); err != nil {
		t.Fatal(err)
	}
	var again []reel.Row
	for entries, err := range view.Catalog(written).Walk(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if n := len(again); entries[0].TraceID[31]%2 == 0 && n < many {
			row := reel.Row{Meta: entries[0].Meta}
			if row.Tape, err = entries[0].Tape(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, read := reel.Unite(entries).Evidence(row.Part)
			if row.Evidence, err = read(t.Context()); err != nil {
				t.Fatal(err)
			}
			again = append(again, row)
		}
	}
	body, err := reel.Encode(again)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reel.Put(t.Context(), written, reel.NameOf(deck.AreaRuns, "default", time.Now(), 1, body), body); err != nil {
		t.Fatal(err)
	}
	d, counted := cold(t, address)
	t.Cleanup(func() { _ = d.Close() })
	found := 0
	for _, err := range view.Select(t.Context(), d, view.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		found++
	}
	if calls := counted.Count(); found != many || len(again) < many/3 || calls > many/10 {
		t.Errorf("%d requests for %d runs, of which %d are there twice", calls, found, len(again))
	}
}

// TestFilesBesideReelsAreSeen: what another program puts beside the reels as files is seen when a listing is no longer believed, and one's own at once.
func TestFilesBesideReelsAreSeen(t *testing.T) {
	const address = "mem://beside"
	t.Cleanup(func() { mem.Drop("beside") })
	d := openDeck(t, address, deck.LayoutReels)
	if _, err := manyruns.Write(t.Context(), d, manyruns.Options{Runs: 5, Kinds: 5}); err != nil {
		t.Fatal(err)
	}
	var l deck.Location
	for at, err := range d.Locations(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		l = at
		break
	}
	names := func() (keys []string) {
		for o, err := range d.Store().List(t.Context(), l.Prefix()+"/") {
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, strings.TrimPrefix(o.Key, l.Prefix()+"/"))
		}
		return keys
	}
	before := names()
	key := l.Prefix() + "/parts/" + strings.Repeat("0", 64) + deck.PartSuffix
	if _, err := d.Store().PutNew(t.Context(), key, []byte("a part"), ""); err != nil {
		t.Fatal(err)
	}
	if after := names(); len(after) != len(before)+1 || !slices.IsSorted(after) {
		t.Fatalf("%v, before %v", after, before)
	}
	if err := d.Store().Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if after := names(); !slices.Equal(after, before) {
		t.Fatalf("%v, before %v", after, before)
	}
}
