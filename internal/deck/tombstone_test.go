// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
)

var layouts = []deck.Layout{deck.LayoutFiles1, deck.LayoutFiles}

// eachDeck runs a test on decks of every layout in memory and in files.
func eachDeck(t *testing.T, run func(*testing.T, *deck.Deck)) {
	t.Helper()
	for _, layout := range layouts {
		t.Run("mem, layout "+string(layout), func(t *testing.T) {
			d, _ := memDeckOf(t, layout)
			run(t, d)
		})
		t.Run("file, layout "+string(layout), func(t *testing.T) {
			store, err := deck.OpenStore(t.Context(), decktest.FileURL(t)+"?sync=false")
			if err != nil {
				t.Fatal(err)
			}
			decktest.MakeDeck(t, store, layout)
			d, err := deck.New(t.Context(), store, "mem://files")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { d.Close() })
			run(t, d)
		})
	}
}

// tombstoneKey is where the tombstone of location1 lies.
func tombstoneKey(t *testing.T, d *deck.Deck) string {
	t.Helper()
	if d.Layout() == deck.LayoutFiles1 {
		return "tombstones/" + location1.Prefix() + "/trace.json"
	}
	return location1.Prefix() + ".buried/trace.json"
}

func putTapes(t *testing.T, d *deck.Deck, p deck.Location, evidence string) (part string, gen deck.Generation) {
	t.Helper()
	part, _, err := d.PutPart(t.Context(), p, []byte(evidence))
	if err != nil {
		t.Fatal(err)
	}
	state, err := d.State(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	gen = deck.NewGeneration(len(state.Parts), state.Parts, nil)
	if _, err := d.PutGeneration(t.Context(), p, gen, []deck.RunFiles{runFiles(root1, "oracle.json")}); err != nil {
		t.Fatal(err)
	}
	return part, gen
}

func replayOf(p deck.Location, id string) deck.Location {
	p.Area, p.ReplayRunID = deck.AreaReplays, id
	return p
}

func TestTombstoneSaysWhatItTookAwayAndHasNoClockInItsName(t *testing.T) {
	eachDeck(t, func(t *testing.T, d *deck.Deck) {
		putTapes(t, d, location1, "x")
		to := replayOf(location1, "r-1")
		at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.FixedZone("", 3600))
		removed, err := d.Bury(t.Context(), location1, deck.Burial{Reason: deck.ReasonLateTag, MovedTo: &to, At: at})
		if err != nil || removed != 3 {
			t.Fatal(removed, err)
		}
		key := tombstoneKey(t, d)
		if diff := cmp.Diff(slices.Sorted(slices.Values([]string{"tapedeck.json", key})), decktest.Keys(t, d.Store())); diff != "" {
			t.Error(diff)
		}
		body, err := d.Store().Get(t.Context(), key)
		want := `{"kind":"tape-tombstone","layout":"1","buries":"trace","key":"runs/default/4b/` + trace1 +
			`","reason":"late_tag","moved_to":"replays/r-1/default/4b/` + trace1 + `","written_at":"2026-11-20T09:00:00Z"}` + "\n"
		if diff := cmp.Diff(want, string(body)); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

func TestBuriedTraceIsNeitherWrittenNorListedNorRead(t *testing.T) {
	eachDeck(t, func(t *testing.T, d *deck.Deck) {
		part, gen := putTapes(t, d, location1, "x")
		before, err := d.LocationWriter(t.Context(), location1)
		if err != nil {
			t.Fatal(err)
		}
		if created, err := d.PutTombstone(t.Context(), location1, deck.Burial{Reason: deck.ReasonRequest}); err != nil || !created {
			t.Fatal(created, err)
		}
		if _, _, err := d.PutPart(t.Context(), location1, []byte("x")); !errors.Is(err, deck.ErrBuried) || !deck.IsPermanent(err) {
			t.Errorf("a part that was there before: %v", err)
		}
		if _, err := d.PutGeneration(t.Context(), location1, deck.NewGeneration(9, nil, nil), []deck.RunFiles{runFiles(root1)}); !errors.Is(err, deck.ErrBuried) {
			t.Errorf("a new generation: %v", err)
		}
		// A writer that looked before the tombstone was there sees it at its next look, before it writes tapes.
		if state, err := before.State(t.Context()); err != nil || len(state.Parts) != 0 || !before.Buried() {
			t.Error(state, err)
		}
		if _, err := before.PutGeneration(t.Context(), gen, []deck.RunFiles{runFiles(root1)}); !errors.Is(err, deck.ErrBuried) {
			t.Error(err)
		}
		for p, err := range d.Locations(t.Context()) {
			t.Errorf("listed %v, %v", p, err)
		}
		if _, err := d.Find(t.Context(), trace1, ""); !errors.Is(err, deck.ErrNotFound) {
			t.Error(err)
		}
		if _, ok, err := d.Current(t.Context(), location1); ok || err != nil {
			t.Error(ok, err)
		}
		if remains, err := d.Remains(t.Context(), location1); err != nil || !remains.Has(gen) || remains.Parts[0] != part {
			t.Error(remains, err)
		}
		if _, _, moved, err := d.MovedTo(t.Context(), location1); moved || err != nil {
			t.Error(moved, err)
		}
	})
}

func TestOneGenerationOrPartIsBuriedAndTheRestStays(t *testing.T) {
	eachDeck(t, func(t *testing.T, d *deck.Deck) {
		first, low := putTapes(t, d, location1, "x")
		second, high := putTapes(t, d, location1, "y")
		if removed, err := d.BuryGeneration(t.Context(), location1, high, deck.Burial{Reason: deck.ReasonRequest}); err != nil || removed != 2 {
			t.Fatal(removed, err)
		}
		if _, err := d.PutGeneration(t.Context(), location1, high, []deck.RunFiles{runFiles(root1, "oracle.json")}); !errors.Is(err, deck.ErrBuried) {
			t.Error(err)
		}
		if err := d.BuryPart(t.Context(), location1, second, deck.Burial{Reason: deck.ReasonScrub}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.PutPart(t.Context(), location1, []byte("y")); !errors.Is(err, deck.ErrBuried) {
			t.Error(err)
		}
		if _, created, err := d.PutPart(t.Context(), location1, []byte("z")); err != nil || !created {
			t.Error(created, err)
		}
		state, err := d.State(t.Context(), location1)
		if cur, ok := state.Current(); err != nil || !ok || cur.Generation != low || len(state.Parts) != 2 {
			t.Error(state, err)
		}
		if parts, err := d.Parts(t.Context(), location1); err != nil || len(parts) != 2 {
			t.Error(parts, first, err)
		}
		n := 0
		for _, err := range d.Locations(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != 1 {
			t.Errorf("%d places", n)
		}
	})
}

func TestOnlyTheBuriedTracesOfAFolderAreLeftOut(t *testing.T) {
	eachDeck(t, func(t *testing.T, d *deck.Deck) {
		var want []string
		for i := range 6 {
			p := deck.Location{Area: deck.AreaRuns, Tenant: fmt.Sprintf("tenant-%d", i%2), TraceID: fmt.Sprintf("4b%030x", i)}
			putTapes(t, d, p, "x")
			if i%3 == 0 {
				if _, err := d.PutTombstone(t.Context(), p, deck.Burial{Reason: deck.ReasonRetention}); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if i == 1 { // a generation of it is buried, which is not the trace
				if _, err := d.BuryGeneration(t.Context(), p, deck.NewGeneration(3, nil, nil), deck.Burial{Reason: deck.ReasonSuperseded}); err != nil {
					t.Fatal(err)
				}
			}
			want = append(want, p.Tenant+p.TraceID)
		}
		got := map[string]bool{}
		for p, err := range d.Locations(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got[p.Tenant+p.TraceID] = true
		}
		for _, w := range want {
			if !got[w] {
				t.Errorf("%s is not listed", w)
			}
		}
		if len(got) != len(want) {
			t.Errorf("listed %v, want %v", got, want)
		}
		if refs, err := d.Find(t.Context(), fmt.Sprintf("4b%030x", 1), ""); err != nil || len(refs) != 1 {
			t.Error(refs, err)
		}
	})
}

func TestTombstonesAreFollowedToWhereTheTraceLies(t *testing.T) {
	eachDeck(t, func(t *testing.T, d *deck.Deck) {
		undecided, replay := location1, replayOf(location1, "A replay with a long name and spaces")
		undecided.Area = deck.AreaUndecided
		for _, step := range []struct{ from, to deck.Location }{{undecided, location1}, {location1, replay}} {
			if _, err := d.PutTombstone(t.Context(), step.from, deck.Burial{Reason: deck.ReasonRequest, MovedTo: &step.to}); err != nil {
				t.Fatal(err)
			}
		}
		to, why, ok, err := d.MovedTo(t.Context(), undecided)
		if err != nil || !ok || to.Prefix() != replay.Prefix() || why != deck.ReasonRequest {
			t.Error(to, why, ok, err)
		}
		if _, err := d.PutTombstone(t.Context(), replay, deck.Burial{Reason: deck.ReasonRequest, MovedTo: &undecided}); err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := d.MovedTo(t.Context(), undecided); !errors.Is(err, deck.ErrCorrupt) {
			t.Errorf("a circle: %v", err)
		}
	})
}

func TestHostileTombstonesAreObeyedAndNotFollowed(t *testing.T) {
	for name, body := range map[string]string{
		"not JSON":     "{",
		"another kind": `{"kind":"tape-deck"}`,
		"other trace":  `{"kind":"tape-tombstone","moved_to":"runs/default/ab/` + strings.Repeat("ab", 16) + `"}`,
		"other tenant": `{"kind":"tape-tombstone","moved_to":"runs/other/4b/` + trace1 + `"}`,
		"no place":     `{"kind":"tape-tombstone","moved_to":"../../etc"}`,
		"itself":       `{"kind":"tape-tombstone","moved_to":"runs/default/4b/` + trace1 + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			eachDeck(t, func(t *testing.T, d *deck.Deck) {
				if _, err := d.Store().PutNew(t.Context(), tombstoneKey(t, d), []byte(body), "application/json"); err != nil {
					t.Fatal(err)
				}
				if _, _, err := d.PutPart(t.Context(), location1, []byte("x")); !errors.Is(err, deck.ErrBuried) {
					t.Error(err)
				}
				if _, _, _, err := d.MovedTo(t.Context(), location1); !errors.Is(err, deck.ErrCorrupt) {
					t.Error(err)
				}
			})
		})
	}
}

func TestBurialThatCannotHoldIsRefused(t *testing.T) {
	d, faults := memDeck(t)
	elsewhere, bad := location1, replayOf(location1, "")
	elsewhere.TraceID = trace2
	for name, b := range map[string]deck.Burial{
		"no reason":     {},
		"reason":        {Reason: "Because!"},
		"other trace":   {Reason: "x", MovedTo: &elsewhere},
		"itself":        {Reason: "x", MovedTo: &location1},
		"no such place": {Reason: "x", MovedTo: &bad},
	} {
		if _, err := d.Bury(t.Context(), location1, b); !errors.Is(err, deck.ErrBadKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := d.BuryGeneration(t.Context(), location1, deck.Generation{}, deck.Burial{Reason: "x"}); !errors.Is(err, deck.ErrBadKey) {
		t.Error(err)
	}
	if err := d.BuryPart(t.Context(), location1, "../x", deck.Burial{Reason: "x"}); !errors.Is(err, deck.ErrBadKey) {
		t.Error(err)
	}
	if n := faults.Count(); n != 0 {
		t.Errorf("%d operations", n)
	}
}

func TestInterruptedBurialLeavesNoTapeAndIsFinishedByTheNext(t *testing.T) {
	for _, layout := range layouts {
		t.Run("layout "+string(layout), func(t *testing.T) { interruptedBurial(t, layout) })
	}
}

func interruptedBurial(t *testing.T, layout deck.Layout) {
	boom := errors.New("power cut")
	for n := 1; ; n++ {
		d, faults := memDeckOf(t, layout)
		putTapes(t, d, location1, "x")
		faults.Reset()
		faults.FailBefore(n, boom)
		_, err := d.Bury(t.Context(), location1, deck.Burial{Reason: deck.ReasonRequest})
		done := err == nil
		faults.Reset()
		if !done && n > 2 { // the look for holds, then the tombstone: the first write
			for p := range d.Locations(t.Context()) {
				t.Errorf("after a cut at %d %v is listed", n, p)
			}
		}
		if _, err := d.Bury(t.Context(), location1, deck.Burial{Reason: deck.ReasonRequest}); err != nil {
			t.Fatal(err)
		}
		if left := decktest.Keys(t, faults); len(left) != 2 {
			t.Errorf("after a cut at %d there is left %v", n, left)
		}
		if done {
			if n < 5 {
				t.Errorf("only %d operations", n)
			}
			return
		}
	}
}

func TestWriterThatMeetsABurialLeavesNothingVisible(t *testing.T) {
	for _, layout := range layouts {
		t.Run("layout "+string(layout), func(t *testing.T) { writerMeetsBurial(t, layout) })
	}
}

func writerMeetsBurial(t *testing.T, layout deck.Layout) {
	d, faults := memDeckOf(t, layout)
	putTapes(t, d, location1, "x")
	faults.Reset()
	// The burial comes between the look of the writer and its write.
	buried := false
	faults.Hook(func(_ context.Context, op decktest.Op) error {
		if op.Name == "put" && strings.HasSuffix(op.Key, deck.PartSuffix) && !buried {
			buried = true
			_, err := d.Bury(t.Context(), location1, deck.Burial{Reason: deck.ReasonRequest})
			return err
		}
		return nil
	})
	if _, _, err := d.PutPart(t.Context(), location1, []byte("late")); err != nil {
		t.Fatal(err)
	}
	if state, err := d.State(t.Context(), location1); err != nil || len(state.Parts) != 0 {
		t.Error(state, err)
	}
	if remains, err := d.Remains(t.Context(), location1); err != nil || len(remains.Parts) != 1 {
		t.Error("what the writer left cannot be found", remains, err)
	}
}

func FuzzTombstoneLeadsToNoOtherTrace(f *testing.F) {
	for _, body := range []string{
		`{"kind":"tape-tombstone","layout":"1","buries":"trace","key":"runs/default/4b/` + trace1 + `","reason":"late_tag","moved_to":"replays/r-1/default/4b/` + trace1 + `"}`,
		`{"kind":"tape-tombstone","moved_to":"runs/other/4b/` + trace1 + `"}`,
		`{"kind":"tape-tombstone","layout":"2","reason":"retention","written_at":"then"}`,
		`{`, `[]`, `{"kind":1}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		d, store := memDeckOf(t, deck.LayoutFiles)
		if _, err := store.PutNew(t.Context(), tombstoneKey(t, d), body, "application/json"); err != nil {
			t.Fatal(err)
		}
		to, _, moved, err := d.MovedTo(t.Context(), location1)
		if moved && (err != nil || to.TraceID != location1.TraceID || to.Tenant != location1.Tenant || to == location1 || to.Validate() != nil) {
			t.Fatalf("%q leads to %v, %v", body, to, err)
		}
		if _, _, err := d.PutPart(t.Context(), location1, []byte("x")); !errors.Is(err, deck.ErrBuried) {
			t.Fatalf("%q is not obeyed: %v", body, err)
		}
	})
}

func TestRemoveTakesWhatWasListedAndNothingElse(t *testing.T) {
	eachDeck(t, func(t *testing.T, d *deck.Deck) {
		putTapes(t, d, location1, "x")
		listed, err := d.Remains(t.Context(), location1)
		if err != nil {
			t.Fatal(err)
		}
		late, _, err := d.PutPart(t.Context(), location1, []byte("late"))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Remove(t.Context(), location1, listed); err != nil {
			t.Fatal(err)
		}
		if state, err := d.State(t.Context(), location1); err != nil || len(state.Generations) != 0 || len(state.Parts) != 1 || state.Parts[0] != late {
			t.Error(state, err)
		}
	})
}
