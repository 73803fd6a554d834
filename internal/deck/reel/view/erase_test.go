// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
)

// oneRun delivers a run to a new deck of reels, and returns where it lies and what is there of it.
func oneRun(t *testing.T, name string) (*deck.Deck, deck.Location, deck.LocationState) {
	t.Helper()
	t.Cleanup(func() { mem.Drop(name) })
	d := openDeck(t, "mem://"+name, deck.LayoutReels)
	deliver(t, d, setOf(t, corpus(t, 12)[3]))
	for l, err := range d.Locations(t.Context(), deck.AreaRuns) {
		if err != nil {
			t.Fatal(err)
		}
		state, err := d.State(t.Context(), l)
		if err != nil || len(state.Parts) != 1 || len(state.Generations) != 1 {
			t.Fatal(state, err)
		}
		return d, l, state
	}
	t.Fatal("no run")
	return nil, deck.Location{}, deck.LocationState{}
}

// TestWhatIsBuriedLeavesTheReels: a part, and tapes alone, by their tombstones, which hide them from whoever would delete them.
func TestWhatIsBuriedLeavesTheReels(t *testing.T) {
	for name, c := range map[string]struct {
		bury            func(*deck.Deck, deck.Location, deck.LocationState) error
		evidence, tapes bool // stay
	}{
		"part": {func(d *deck.Deck, l deck.Location, s deck.LocationState) error {
			return d.BuryPart(t.Context(), l, s.Parts[0], deck.Burial{Reason: deck.ReasonScrub})
		}, false, false},
		"tapes": {func(d *deck.Deck, l deck.Location, s deck.LocationState) error {
			_, err := d.BuryGeneration(t.Context(), l, s.Generations[0].Generation, deck.Burial{Reason: deck.ReasonScrub})
			return err
		}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			d, l, state := oneRun(t, "buried-"+name)
			if err := c.bury(d, l, state); err != nil {
				t.Fatal(err)
			}
			if err := d.Store().(*view.View).Erase(t.Context()); err != nil {
				t.Fatal(err)
			}
			evidence, tapes := false, false
			for entries, err := range view.Catalog(d).Walk(t.Context(), nil) {
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					evidence, tapes = evidence || e.EvidenceBytes > 0, tapes || e.TapeBytes > 0
				}
			}
			if evidence != c.evidence || tapes != c.tapes {
				t.Errorf("evidence in the reels: %t, tapes: %t", evidence, tapes)
			}
		})
	}
}

// TestWhatIsThereInAReelAndAsAFileGoesFromBoth: as it is when a file was put beside the reels, and the same came again.
func TestWhatIsThereInAReelAndAsAFileGoesFromBoth(t *testing.T) {
	d, l, state := oneRun(t, "both")
	key := l.Prefix() + "/parts/" + state.Parts[0] + deck.PartSuffix
	body, err := d.Store().Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if created, err := view.Raw(d).PutNew(t.Context(), key, body, ""); err != nil || !created {
		t.Fatal(created, err)
	}
	if _, err := d.Bury(t.Context(), l, deck.Burial{Reason: deck.ReasonRequest}); err != nil {
		t.Fatal(err)
	}
	if err := d.Store().(*view.View).Erase(t.Context()); err != nil {
		t.Fatal(err)
	}
	for o, err := range view.Raw(d).List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if !deck.IsNote(o.Key) && strings.Contains(o.Key, "/") {
			t.Errorf("%s is left", o.Key)
		}
	}
}
