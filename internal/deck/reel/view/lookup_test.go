// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/compaction"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/testbed/manyruns"
)

// cold opens a deck with nothing in memory, and counts its requests.
func cold(t *testing.T, address string) (*deck.Deck, *decktest.FaultStore) {
	t.Helper()
	store, err := deck.OpenStore(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	counted := decktest.Wrap(store)
	d, err := deck.New(t.Context(), counted, address)
	if err != nil {
		t.Fatal(err)
	}
	return d, counted
}

var firstDay = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// writeDay adds the runs of a day, in eight reels as a compaction leaves them, of which no index speaks yet.
func writeDay(t *testing.T, d *deck.Deck, day int) {
	t.Helper()
	if _, err := manyruns.Write(t.Context(), d, manyruns.Options{Runs: 80, PerReel: 10, Kinds: 1, Level: 1, Seed: uint64(day), First: firstDay.AddDate(0, 0, day)}); err != nil {
		t.Fatal(err)
	}
}

// manyReels makes a deck of reels as compactions leave them, eight a day.
func manyReels(t *testing.T, address string, days int) (reels int, some []reel.Meta) {
	t.Helper()
	d := openDeck(t, address, deck.LayoutReels)
	for day := range days {
		writeDay(t, d, day)
		if _, err := compaction.Run(t.Context(), d, compaction.Options{OlderThan: time.Hour, Now: func() time.Time { return firstDay }}); err != nil {
			t.Fatal(err)
		}
	}
	objects, err := view.Catalog(d).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for rows, err := range view.Catalog(d).Walk(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n%(days*10) == 1 {
			some = append(some, rows[0].Meta)
		}
	}
	return len(objects), some
}

// lookUp reads the tape of a run that has an id, as show does.
func lookUp(ctx context.Context, d *deck.Deck, id string) error {
	refs, err := runs.Find(ctx, d, runs.Query{ID: id})
	if err != nil {
		return err
	}
	if len(refs) != 1 {
		return fmt.Errorf("%d runs have the id %s", len(refs), id)
	}
	_, err = d.Store().Get(ctx, refs[0].Key)
	return err
}

// TestALookUpReadsAsMuchInALargeDeck: whoever opens one run of a deck that was compacted, with nothing in memory, makes as many requests whatever the number of reels.
func TestALookUpReadsAsMuchInALargeDeck(t *testing.T) {
	const most = 20
	type made struct {
		reels int
		some  []reel.Meta
	}
	decks := map[int]made{}
	for _, days := range []int{2, 16} {
		reels, some := manyReels(t, fmt.Sprintf("mem://lookup%d", days), days)
		decks[days] = made{reels, some}
		t.Cleanup(func() { mem.Drop(fmt.Sprintf("lookup%d", days)) })
	}
	// The clock of a bubble stands still, so listings are believed throughout.
	synctest.Test(t, func(t *testing.T) {
		reads := map[int]int{} // the most for one id, by days
		for days, made := range decks {
			address, reels, some := fmt.Sprintf("mem://lookup%d", days), made.reels, made.some
			for _, m := range some {
				for _, id := range []string{m.TraceID, m.RunID, m.TraceID[:20], m.ConversationID} {
					d, counted := cold(t, address)
					before := counted.Count("get")
					if err := lookUp(t.Context(), d, id); err != nil {
						t.Fatal(err)
					}
					if n := counted.Count("get") - before; n > reads[days] {
						reads[days] = n
						t.Logf("%d reels: %d reads, %d requests for %s", reels, n, counted.Count(), id)
					}
				}
			}
			d, counted := cold(t, address)
			if err := lookUp(t.Context(), d, "00000000000000000000000000000001"); !errors.Is(err, deck.ErrNotFound) || counted.Count("get") > most {
				t.Errorf("%d reads for an id that is not there, %v", counted.Count("get"), err)
			}
		}
		if reads[16] > most || reads[16] > reads[2]+4 {
			t.Errorf("reads for one run, by days: %v", reads)
		}
	})
}

// TestIDIndexesAreNeverNeeded: without them, with damaged ones, and with those that lag behind, everything is found.
func TestIDIndexesAreNeverNeeded(t *testing.T) {
	const address = "mem://lookup-damaged"
	t.Cleanup(func() { mem.Drop("lookup-damaged") })
	_, some := manyReels(t, address, 6)
	store, err := deck.OpenStore(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	stored := func() map[string][]byte {
		t.Helper()
		all := map[string][]byte{}
		for o, err := range store.List(t.Context(), reel.Area+"/") {
			if _, ok := reel.ParseIDs(o.Key); err == nil && ok {
				all[o.Key], err = store.Get(t.Context(), o.Key)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return all
	}
	indexes := stored()
	if len(indexes) == 0 {
		t.Fatal("no index")
	}
	all := func(t *testing.T, some []reel.Meta) {
		t.Helper()
		for _, m := range some {
			for _, id := range []string{m.TraceID, m.TraceID[:12], m.ConversationID} {
				d, _ := cold(t, address)
				if err := lookUp(t.Context(), d, id); err != nil {
					t.Error(err)
				}
			}
		}
	}
	// set puts changed indexes in the place of all that are there: one that an earlier case has left would answer for them.
	set := func(change func([]byte) []byte) {
		for key := range stored() {
			if err := store.Delete(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		for key, body := range indexes {
			if body := change(slices.Clone(body)); body != nil {
				if _, err := store.PutNew(t.Context(), key, body, ""); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for name, change := range map[string]func([]byte) []byte{
		"gone":           func([]byte) []byte { return nil },
		"empty":          func([]byte) []byte { return []byte{} },
		"cut":            func(b []byte) []byte { return b[:len(b)-7] },
		"damaged head":   func(b []byte) []byte { b[40] ^= 1; return b },
		"no magic":       func(b []byte) []byte { b[0] = 0; return b },
		"a head of 4 GB": func(b []byte) []byte { copy(b[8:], "\xff\xff\xff\xff"); return b },
		"damaged keys in the head": func(b []byte) []byte { // every block begins behind all ids, by what it says
			const section, key = 4, 8
			at := prologue + count + int(binary.BigEndian.Uint32(b[prologue:]))*sha256.Size + section
			copy(b[at:], bytes.Repeat([]byte{0xff}, key))
			return b
		},
		"damaged contents": func(b []byte) []byte { clear(b[len(b)/2:]); return b },
	} {
		t.Run(name, func(t *testing.T) {
			set(change)
			all(t, some[:4])
			// A compaction makes them anew.
			d := openDeck(t, address, deck.LayoutReels)
			if _, err := view.Catalog(d).Index(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			all(t, some[:4])
		})
	}
	t.Run("lag behind", func(t *testing.T) {
		set(func(b []byte) []byte { return b })
		d := openDeck(t, address, deck.LayoutReels)
		const newest = 6
		writeDay(t, d, newest)
		var late []reel.Meta
		for rows, err := range view.Catalog(d).Walk(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			if m := rows[0].Meta; m.StartedAt >= firstDay.AddDate(0, 0, newest).UnixMicro() {
				late = append(late, m)
			}
		}
		if len(late) == 0 {
			t.Fatal("no run of the newest day")
		}
		all(t, late[:4])
		all(t, some[:4])
	})
}

// overtaken is a store without reading of ranges, in which somebody else takes an object away right before it is read.
type overtaken struct {
	deck.Store
	gone  func(key string) bool
	taken int
}

func (s *overtaken) Get(ctx context.Context, key string) ([]byte, error) {
	if s.gone(key) {
		s.taken++
		if err := s.Delete(ctx, key); err != nil {
			return nil, err
		}
	}
	return s.Store.Get(ctx, key)
}

// TestIDIndexesAreMadeBesideOtherCompactions: what another compaction, or an erasing, takes away meanwhile is none of this one's.
func TestIDIndexesAreMadeBesideOtherCompactions(t *testing.T) {
	const address, newest = "mem://lookup-overtaken", 3
	t.Cleanup(func() { mem.Drop("lookup-overtaken") })
	_, some := manyReels(t, address, newest)
	writeDay(t, openDeck(t, address, deck.LayoutReels), newest)
	store, err := deck.OpenStore(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	first := ""
	day := "/date=" + firstDay.AddDate(0, 0, newest).Format(time.DateOnly) + "/"
	for o, err := range store.List(t.Context(), reel.Area+"/") {
		if err != nil {
			t.Fatal(err)
		}
		if first == "" && strings.Contains(o.Key, day) {
			first = o.Key
		}
	}
	read := map[string]int{}
	s := &overtaken{Store: store, gone: func(key string) bool {
		read[key]++
		return key == first || strings.HasSuffix(key, ".ids") && read[key] == 2 // behind its head
	}}
	d, err := deck.New(t.Context(), s, address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := view.Catalog(d).Index(t.Context(), nil); err != nil || s.taken < 2 {
		t.Errorf("%d objects were taken away meanwhile: %v", s.taken, err)
	}
	s.gone = func(string) bool { return false }
	if _, err := view.Catalog(d).Index(t.Context(), nil); err != nil {
		t.Error(err)
	}
	for _, m := range some[:4] {
		d, _ := cold(t, address)
		if err := lookUp(t.Context(), d, m.TraceID); err != nil {
			t.Error(err)
		}
	}
}

// TestIDIndexesForgetWhatIsTakenAway: when the command that takes a run away has ended, no index speaks of the reel that held it.
func TestIDIndexesForgetWhatIsTakenAway(t *testing.T) {
	const address = "mem://lookup-erased"
	t.Cleanup(func() { mem.Drop("lookup-erased") })
	_, some := manyReels(t, address, 3)
	d := openDeck(t, address, deck.LayoutReels)
	for o, err := range d.Store().List(t.Context(), "runs/") {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(o.Key, some[1].TraceID) {
			if err := d.Store().Delete(t.Context(), o.Key); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d, store := cold(t, address)
	if err := lookUp(t.Context(), d, some[1].TraceID); !errors.Is(err, deck.ErrNotFound) {
		t.Errorf("the run that was taken away: %v", err)
	}
	if err := lookUp(t.Context(), d, some[0].TraceID); err != nil {
		t.Error(err)
	}
	if done, err := view.Catalog(d).Index(t.Context(), nil); err != nil || done.Written > 0 || done.Removed > 0 {
		t.Errorf("indexes were left as they were: %+v, %v", done, err)
	}
	objects, err := view.Catalog(d).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	indexes := 0
	for o, err := range store.List(t.Context(), reel.Area+"/") {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := reel.ParseIDs(o.Key); !ok {
			continue
		}
		body, err := store.Get(t.Context(), o.Key)
		if err != nil {
			t.Fatal(err)
		}
		indexes++
		for digest := range slices.Chunk(body[prologue+count:][:int(binary.BigEndian.Uint32(body[prologue:]))*sha256.Size], sha256.Size) {
			if !slices.ContainsFunc(objects, func(o reel.Object) bool { return o.Digest == hex.EncodeToString(digest) }) {
				t.Errorf("%s speaks of %x, which is gone", o.Key, digest)
			}
		}
	}
	if indexes == 0 {
		t.Error("no index")
	}
}

// An id index: what comes before the number of reels it speaks of, the bytes of that number, and then their digests.
const prologue, count = 16, 4
