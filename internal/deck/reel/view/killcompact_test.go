// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/compaction"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
)

const killedCompactorVariable = "TAPEDECK_TEST_KILLED_COMPACTOR"

// telling is a store that names each change, and waits for a line before it makes it: so whoever reads the names can kill the process between any two changes.
type telling struct {
	deck.Store
	allowed *bufio.Reader
}

func (s telling) tell(change, key string) {
	fmt.Println(change, key)
	if _, err := s.allowed.ReadString('\n'); err != nil {
		panic(err)
	}
}

func (s telling) PutNew(ctx context.Context, key string, body []byte, contentType string) (bool, error) {
	s.tell("put", key)
	return s.Store.PutNew(ctx, key, body, contentType)
}

func (s telling) Delete(ctx context.Context, key string) error {
	s.tell("delete", key)
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
	d, err := deck.New(t.Context(), telling{store, bufio.NewReader(os.Stdin)}, url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := compaction.Run(t.Context(), d, compaction.Options{MaxBytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	fmt.Println("all")
	select {} // until the kill
}

// TestACompactionThatIsKilledChangesNothingForReaders: by SIGKILL before each of its writes and deletions, on a deck of its own each time; the next one goes on.
func TestACompactionThatIsKilledChangesNothingForReaders(t *testing.T) {
	first := filepath.Join(t.TempDir(), "deck")
	r := rand.New(rand.NewPCG(3, 1))
	d := openDeck(t, "file://"+first, deck.LayoutReels)
	for _, run := range corpus(t, 6) {
		for _, piece := range split(r, setOf(t, run)) {
			deliver(t, d, piece)
		}
	}
	before := tapes(t, d)
	if len(before) < 10 {
		t.Fatalf("only %d files", len(before))
	}
	changes := 0
	for finished := false; !finished; changes++ {
		if changes > 300 {
			t.Fatal("it gets nowhere")
		}
		folder := filepath.Join(t.TempDir(), "deck")
		if err := os.CopyFS(folder, os.DirFS(first)); err != nil {
			t.Fatal(err)
		}
		url := "file://" + folder
		ctx, kill := context.WithCancel(t.Context())
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestKilledCompactor$") // a context that ends kills with SIGKILL
		cmd.Env = append(os.Environ(), killedCompactorVariable+"="+url)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			finished = lines.Text() == "all"
			if n == changes || finished {
				kill()
				break
			}
			if _, err := io.WriteString(in, "\n"); err != nil {
				t.Fatal(err)
			}
		}
		kill()
		_ = cmd.Wait() // it was killed
		again := openDeck(t, url, "")
		if diff := cmp.Diff(before, tapes(t, again)); diff != "" {
			t.Fatalf("killed before change %d: readers see something else:\n%.1500s", changes, diff)
		}
		if changes%5 == 0 || finished {
			if _, err := compaction.Run(t.Context(), again, compaction.Options{MaxBytes: 1 << 20}); err != nil {
				t.Fatal(err)
			}
			objects, err := view.Catalog(again).List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(objects, func(o reel.Object) bool { return o.Level == 0 }) {
				t.Errorf("killed before change %d: reels are left as writers made them", changes)
			}
			if diff := cmp.Diff(before, tapes(t, again)); diff != "" {
				t.Errorf("killed before change %d, and compacted: readers see something else:\n%.1500s", changes, diff)
			}
		}
	}
	if changes < 10 {
		t.Errorf("only %d changes", changes)
	}
}

// TestTapesOfWhatIsLeftOfATombstonedPart: derived when they are read, and by the next compaction; nothing of the tapes of before stays.
func TestTapesOfWhatIsLeftOfATombstonedPart(t *testing.T) {
	files, reels := openDeck(t, "mem://left-files", deck.LayoutFiles), openDeck(t, "mem://left-reels", deck.LayoutReels)
	t.Cleanup(func() { mem.Drop("left-files"); mem.Drop("left-reels") })
	var set *evidence.Set
	for _, run := range corpus(t, 12) { // one trace of enough spans
		if set = setOf(t, run); len(set.Split()) == 1 && len(set.Items()) >= 12 {
			break
		}
	}
	r := rand.New(rand.NewPCG(5, 5))
	pieces := split(r, set)
	for len(pieces) < 4 { // of some the deck may have the same part
		pieces = split(r, set)
	}
	for _, piece := range pieces {
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
