// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/compaction"
	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/evidence"
	"github.com/tapedeck/tapedeck/internal/reel"
	"github.com/tapedeck/tapedeck/internal/reel/view"
)

const killedCompactorVariable = "TAPEDECK_TEST_KILLED_COMPACTOR"

// telling is a store that names each change before it reaches the store.
type telling struct{ deck.Store }

func (s telling) PutNew(ctx context.Context, key string, body []byte, contentType string) (bool, error) {
	fmt.Println("put", key)
	return s.Store.PutNew(ctx, key, body, contentType)
}

func (s telling) Delete(ctx context.Context, key string) error {
	fmt.Println("delete", key)
	return s.Store.Delete(ctx, key)
}

// TestKilledCompactor is the compaction that TestACompactionThatIsKilledChangesNothingForReaders kills.
func TestKilledCompactor(t *testing.T) {
	url := os.Getenv(killedCompactorVariable)
	if url == "" {
		t.Skip("only as a process of its own")
	}
	store, err := deck.OpenStore(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	d, err := deck.New(t.Context(), telling{store}, url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := compaction.Run(t.Context(), d, compaction.Options{MaxBytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	fmt.Println("all")
	select {} // until the kill
}

// TestACompactionThatIsKilledChangesNothingForReaders: by SIGKILL, again and again, at its writes and deletions.
func TestACompactionThatIsKilledChangesNothingForReaders(t *testing.T) {
	url := decktest.FileURL(t)
	r := rand.New(rand.NewPCG(3, 1))
	d := openDeck(t, url, deck.LayoutReels)
	for _, run := range corpus(t, 30) {
		for _, piece := range split(r, setOf(t, run)) {
			deliver(t, d, piece)
		}
	}
	before, finished := tapes(t, d), false
	if len(before) < 40 {
		t.Fatalf("only %d files", len(before))
	}
	for kills := 0; !finished; kills++ {
		if kills > 300 {
			t.Fatal("it gets nowhere")
		}
		ctx, kill := context.WithCancel(t.Context())
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestKilledCompactor$") // a context that ends kills with SIGKILL
		cmd.Env = append(os.Environ(), killedCompactorVariable+"="+url)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines, most := bufio.NewScanner(out), 1+kills*3
		for n := 0; lines.Scan(); {
			n++
			finished = finished || lines.Text() == "all"
			if n == most || finished {
				kill()
			}
		}
		_ = cmd.Wait() // it was killed
		kill()
		again := openDeck(t, url, "")
		if diff := cmp.Diff(before, tapes(t, again)); diff != "" {
			t.Fatalf("kill %d: readers see something else:\n%.1500s", kills, diff)
		}
	}
	objects, err := view.Catalog(openDeck(t, url, "")).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(objects, func(o reel.Object) bool { return o.Level == 0 }) {
		t.Error("reels are left as writers made them")
	}
}

// TestTapesOfWhatIsLeftOfATombstonedPart: derived when they are read, and by the next compaction; nothing of the tapes of before stays.
func TestTapesOfWhatIsLeftOfATombstonedPart(t *testing.T) {
	files, reels := openDeck(t, "mem://left-files", deck.LayoutFiles), openDeck(t, "mem://left-reels", deck.LayoutReels)
	t.Cleanup(func() { mem.Drop("left-files"); mem.Drop("left-reels") })
	set := setOf(t, corpus(t, 12)[3])
	r := rand.New(rand.NewPCG(5, 5))
	for _, piece := range split(r, set) {
		deliver(t, reels, piece)
		deliver(t, files, piece)
	}
	run := func() {
		t.Helper()
		if _, err := compaction.Run(t.Context(), reels, compaction.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	run()
	same := func(when string) map[string]string {
		t.Helper()
		want, got := tapes(t, files), tapes(t, reels)
		if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
			t.Fatalf("%s: %d files, other ones:\n%.1500s", when, len(want), diff)
		}
		return got
	}
	before := same("whole")
	buried := ""
	for l, err := range files.Locations(t.Context(), deck.AreaRuns) {
		if err != nil {
			t.Fatal(err)
		}
		parts, err := files.Parts(t.Context(), l)
		if err != nil || len(parts) < 3 {
			t.Fatalf("%d parts, %v", len(parts), err)
		}
		buried = parts[1]
		state, err := files.State(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []*deck.Deck{files, reels} {
			if err := d.BuryPart(t.Context(), l, buried, deck.Burial{Reason: deck.ReasonScrub}); err != nil {
				t.Fatal(err)
			}
		}
		for _, g := range state.Generations { // as scrub does
			if _, err := files.BuryGeneration(t.Context(), l, g.Generation, deck.Burial{Reason: deck.ReasonScrub}); err != nil {
				t.Fatal(err)
			}
		}
		// The layout of files derives with the next delivery: one of a part that is there.
		for _, part := range parts {
			if part == buried {
				continue
			}
			body, err := files.ReadPart(t.Context(), l, part)
			if err != nil {
				t.Fatal(err)
			}
			known, err := evidence.FromPart(body)
			if err != nil {
				t.Fatal(err)
			}
			deliver(t, files, known)
		}
	}
	if buried == "" {
		t.Fatal("no trace")
	}
	if after := same("without the part, derived when it is read"); maps.Equal(before, after) {
		t.Fatal("the part changes nothing")
	}
	forgotten := func(when string) {
		t.Helper()
		for entries, err := range view.Catalog(reels).Walk(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				if e.Part == buried || slices.Contains(e.Parts, buried) {
					t.Errorf("%s: a row knows the part still", when)
				}
			}
		}
	}
	if err := reels.Store().(*view.View).Erase(t.Context()); err != nil {
		t.Fatal(err)
	}
	same("without the part, written again")
	forgotten("without the part, written again")
	run()
	same("without the part, compacted")
	forgotten("without the part, compacted")
	for entries, err := range view.Catalog(reels).Walk(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if trace := reel.Unite(entries); trace.Current == nil {
			t.Error("no tapes of the rest are stored")
		}
	}
}
