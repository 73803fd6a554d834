// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
)

// stored lists the names under which objects are stored.
func stored(t *testing.T, url string) []string {
	t.Helper()
	s, err := deck.OpenObjects(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return decktest.Keys(t, s)
}

func TestCompressedFilesAreReadListedAndRemovedUnderTheirNames(t *testing.T) {
	for name, url := range map[string]string{"mem": "mem://packed", "file": decktest.FileURL(t) + "?sync=false"} {
		t.Run(name, func(t *testing.T) {
			d, err := deck.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			d.Compress(true)
			part, gen := putTapes(t, d, location1, "x")
			run := location1.Prefix() + "/" + gen.String() + "." + root1
			var files []string
			for _, key := range stored(t, url) {
				if strings.HasPrefix(key, run) {
					files = append(files, strings.TrimPrefix(key, run))
				}
			}
			if diff := cmp.Diff([]string{"/oracle.json.zst", "/tape.json.zst"}, files); diff != "" {
				t.Fatal(diff)
			}
			// A reader that was there before, and one that does not know.
			again, err := deck.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			for _, d := range []*deck.Deck{d, again} {
				state, err := d.State(t.Context(), location1)
				if cur, ok := state.Current(); err != nil || !ok || cur.Generation != gen || len(state.Parts) != 1 || state.Parts[0] != part {
					t.Errorf("%+v, %v", state, err)
				}
				body, err := d.ReadFile(t.Context(), location1, gen, root1, "tape.json")
				if err != nil || string(body) != root1+"/tape.json" {
					t.Errorf("%s, %v", body, err)
				}
				if _, err := d.ReadFile(t.Context(), location1, gen, root1, "none.json"); !errors.Is(err, deck.ErrNotFound) {
					t.Error(err)
				}
				refs, err := d.Find(t.Context(), trace1, "")
				if err != nil || len(refs) != 1 {
					t.Fatal(refs, err)
				}
				for _, address := range []string{refs[0].URL, strings.Replace(refs[0].URL, "tape.json", "tape.json.zst", 1)} {
					ref, err := deck.ParseRef(address)
					if err != nil || !ref.InDeck() || !strings.HasSuffix(ref.Key, "/tape.json") {
						t.Fatal(ref, err)
					}
					if body, err := deck.ReadRef(t.Context(), ref); err != nil || !bytes.HasPrefix(body, []byte(root1)) {
						t.Errorf("%s, %v", body, err)
					}
				}
			}
			// A writer without compression fills in what is missing, and both forms are one file.
			again.Compress(false)
			if _, err := again.PutGeneration(t.Context(), location1, gen, []deck.RunFiles{runFiles(root1, "oracle.json")}); err != nil {
				t.Fatal(err)
			}
			state, err := again.State(t.Context(), location1)
			want := []deck.Run{{Root: root1, Files: []string{"oracle.json", "tape.json"}}}
			if diff := cmp.Diff(want, state.Generations[0].Runs); diff != "" || err != nil {
				t.Error(diff, err)
			}
			if removed, err := again.Bury(t.Context(), location1, deck.Burial{Reason: deck.ReasonRequest}); err != nil || removed != 3 {
				t.Error(removed, err)
			}
			for _, key := range stored(t, url) {
				if strings.HasPrefix(key, location1.Prefix()+"/") {
					t.Errorf("%s is left", key)
				}
			}
		})
	}
}

// A command that rewrites a deck is not told how its files are stored.
func TestFilesAreStoredAsThoseThatAreThereUnlessSomebodySaysHow(t *testing.T) {
	suffix := map[bool]string{true: ".json.zst", false: ".json"}
	for _, was := range []bool{true, false} {
		for _, said := range []string{"", "zstd", "none"} {
			url := "mem://asfound"
			mem.Drop("asfound")
			first, err := deck.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			first.Compress(was)
			putTapes(t, first, location1, "x")
			second, err := deck.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			want := was
			if said != "" {
				want = said == "zstd"
				second.Compress(want)
			}
			if _, err := second.State(t.Context(), location1); err != nil { // whoever rewrites looks first
				t.Fatal(err)
			}
			other := location1
			other.Tenant = "other"
			putTapes(t, second, other, "y")
			found := 0
			for _, key := range stored(t, url) {
				if strings.HasPrefix(key, other.Prefix()) && strings.HasSuffix(key, suffix[want]) {
					found++
				}
			}
			if found != 2 {
				t.Errorf("compressed before: %v, said: %q: %v", was, said, stored(t, url))
			}
		}
	}
}

func TestCompressedBombIsRefused(t *testing.T) {
	d, store := memDeckOf(t, deck.LayoutFiles)
	gen := deck.NewGeneration(1, nil, nil)
	if _, err := store.PutNew(t.Context(), location1.Prefix()+"/"+gen.String()+"."+root1+"/tape.json.zst", zstdBomb(), "application/zstd"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ReadFile(t.Context(), location1, gen, root1, "tape.json"); !errors.Is(err, deck.ErrCorrupt) || !deck.IsPermanent(err) {
		t.Error(err)
	}
}

func TestNothingButFilesOfRunsIsCompressedOrUnpacked(t *testing.T) {
	d, store := memDeck(t)
	d.Compress(true)
	putTapes(t, d, location1, "x")
	if _, err := d.PutReplayStatus(t.Context(), location1, root1, []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.PutQuarantine(t.Context(), location1, []byte(`{}`), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := d.PutTombstone(t.Context(), location1, deck.Burial{Reason: deck.ReasonRequest}); err != nil {
		t.Fatal(err)
	}
	for _, key := range decktest.Keys(t, store) {
		isFile := strings.HasSuffix(key, "/tape.json") || strings.HasSuffix(key, "/oracle.json")
		body, err := store.Get(t.Context(), key)
		if err != nil || deck.IsPacked(body) != strings.HasSuffix(key, deck.PartSuffix) || isFile && !bytes.HasPrefix(body, []byte(root1)) {
			t.Errorf("%s: %q, %v", key, body, err)
		}
	}
	store.Reset()
	if _, err := store.Get(t.Context(), "tapedeck.json"); err != nil || store.Count() != 1 {
		t.Error(store.Ops(), err)
	}
}
