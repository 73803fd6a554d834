// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
)

func TestNotesAreToldFromTenantsOfTheirName(t *testing.T) {
	location := deck.Location{Area: deck.AreaRuns, Tenant: "acme.buried", TraceID: trace1}
	for key, want := range map[string]string{
		location1.Prefix() + ".buried/trace.json":                location1.Prefix(),
		location1.Prefix() + ".flags/undecided.json":             location1.Prefix(),
		"tombstones/" + location1.Prefix() + "/trace.json":       location1.Prefix() + "/trace.json",
		location.Prefix() + "/parts/x":                           "",
		location.Prefix() + ".buried/trace.json":                 location.Prefix(),
		"replays/x.flags/" + location1.Prefix()[5:] + "/parts/x": "",
		"tapedeck.json": "",
	} {
		if got := deck.WithoutNote(key); want == "" && (got != key || deck.IsNote(key)) || want != "" && (got != want || !deck.IsNote(key)) {
			t.Errorf("%s: %s", key, got)
		}
	}
}

// Both layouts hold the same, under other keys; in the second a run of a trace is in one folder of its own, and a part in that of the trace.
func TestKeysOfTheLayouts(t *testing.T) {
	for layout, want := range map[deck.Layout][]string{
		deck.LayoutFiles1: {"/GEN/" + root1 + "/oracle.json", "/GEN/" + root1 + "/tape.json", "/parts/PART" + deck.PartSuffix},
		deck.LayoutFiles:  {"/GEN." + root1 + "/oracle.json", "/GEN." + root1 + "/tape.json", "/PART" + deck.PartSuffix},
	} {
		d, store := memDeckOf(t, layout)
		part, gen := putTapes(t, d, location1, "x")
		var got []string
		for _, key := range decktest.Keys(t, store) {
			if rest, ok := strings.CutPrefix(key, location1.Prefix()); ok {
				got = append(got, strings.NewReplacer(gen.String(), "GEN", part, "PART").Replace(rest))
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("layout %s: %s", layout, diff)
		}
		refs, err := d.Find(t.Context(), trace1, "")
		if err != nil || len(refs) != 1 {
			t.Fatal(refs, err)
		}
		ref, err := deck.ParseRef(refs[0].URL)
		if err != nil || ref.Generation != gen || ref.Root != root1 || ref.Location != location1 {
			t.Errorf("layout %s: %+v, %v", layout, ref, err)
		}
		if removed, err := d.BuryGeneration(t.Context(), location1, gen, deck.Burial{Reason: deck.ReasonRequest}); err != nil || removed != 2 {
			t.Errorf("layout %s: %d removed, %v", layout, removed, err)
		}
	}
}

func TestOneListingShowsEverythingThatAWriterMustKnow(t *testing.T) {
	d, faults := memDeckOf(t, deck.LayoutFiles)
	part, _ := putTapes(t, d, location1, "x")
	if err := d.BuryPart(t.Context(), location1, part, deck.Burial{Reason: deck.ReasonScrub}); err != nil {
		t.Fatal(err)
	}
	if err := d.FlagUndecided(t.Context(), location1); err != nil {
		t.Fatal(err)
	}
	neighbour := location1
	neighbour.TraceID = location1.TraceID[:31] + "0"
	if _, err := d.PutTombstone(t.Context(), neighbour, deck.Burial{Reason: deck.ReasonRequest}); err != nil {
		t.Fatal(err)
	}
	w, ok, err := d.NewTraceWriter(t.Context(), location1)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	faults.Reset()
	state, err := w.State(t.Context())
	if n := faults.Count(); n != 1 || err != nil {
		t.Errorf("%d requests, %v", n, err)
	}
	if tombs := w.Tombstones(); tombs.Trace() || !tombs.Part(part) || !tombs.Undecided() || len(state.Parts) != 0 || len(state.Generations) != 1 {
		t.Errorf("%+v, %+v", tombs, state)
	}
}

// A writer that looks only after it has written cannot bring a buried part back: its name is taken.
func TestNameOfABuriedPartStaysTaken(t *testing.T) {
	d, _ := memDeckOf(t, deck.LayoutFiles)
	body := []byte("what somebody took away")
	part, _, err := d.PutPart(t.Context(), location1, body)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.BuryPart(t.Context(), location1, part, deck.Burial{Reason: deck.ReasonScrub}); err != nil {
			t.Fatal(err)
		}
		w, _, err := d.NewTraceWriter(t.Context(), location1)
		if err != nil {
			t.Fatal(err)
		}
		if _, created, err := w.PutPart(t.Context(), body); err != nil || created {
			t.Errorf("the part was written again: %v, %v", created, err)
		}
		if parts, err := d.Parts(t.Context(), location1); err != nil || len(parts) != 0 {
			t.Error(parts, err)
		}
		if _, err := d.ReadPart(t.Context(), location1, part); !errors.Is(err, deck.ErrCorrupt) {
			t.Error(err)
		}
	}
}

func TestDeckKeepsTheLayoutThatItHas(t *testing.T) {
	for name, c := range map[string]struct {
		there map[string]string
		want  deck.Layout
	}{
		"empty":                   {nil, deck.LayoutFiles},
		"files of somebody else":  {map[string]string{"README": "x"}, deck.LayoutFiles},
		"layout 1":                {map[string]string{"tapedeck.json": `{"kind":"tape-deck","layout":"1"}`}, deck.LayoutFiles1},
		"layout 2":                {map[string]string{"tapedeck.json": `{"kind":"tape-deck","layout":"2"}`}, deck.LayoutFiles},
		"marker lost, with runs":  {map[string]string{location1.Prefix() + "/parts/" + strings.Repeat("a", 64) + deck.PartSuffix: "x"}, deck.LayoutFiles1},
		"marker lost, tombstones": {map[string]string{"tombstones/" + location1.Prefix() + "/trace.json": "{}"}, deck.LayoutFiles1},
	} {
		t.Run(name, func(t *testing.T) {
			_, store := memDeck(t)
			for key, body := range c.there {
				if _, err := store.PutNew(t.Context(), key, []byte(body), "application/json"); err != nil {
					t.Fatal(err)
				}
			}
			d, err := deck.New(t.Context(), store, "mem://x")
			if err != nil {
				t.Fatal(err)
			}
			other := location1
			other.TraceID = trace2
			if _, _, err := d.PutPart(t.Context(), other, []byte("y")); err != nil {
				t.Fatal(err)
			}
			if got := d.Layout(); got != c.want {
				t.Errorf("layout %s", got)
			}
			marker, err := store.Get(t.Context(), "tapedeck.json")
			if err != nil || !strings.Contains(string(marker), `"layout":"`+string(c.want)+`"`) {
				t.Errorf("%s, %v", marker, err)
			}
		})
	}
}

// A reader that has opened a deck before anybody wrote to it reads the layout that the first writer chose.
func TestLayoutIsReadWhenItIsKnown(t *testing.T) {
	for _, layout := range layouts {
		reader, store := memDeck(t)
		if _, err := reader.State(t.Context(), location1); err != nil {
			t.Fatal(err)
		}
		decktest.MakeDeck(t, store, layout)
		writer, err := deck.New(t.Context(), store, "mem://x")
		if err != nil {
			t.Fatal(err)
		}
		part, _ := putTapes(t, writer, location1, "x")
		state, err := reader.State(t.Context(), location1)
		if diff := cmp.Diff([]string{part}, state.Parts); diff != "" || err != nil {
			t.Error(diff, err)
		}
		if _, err := writer.Bury(t.Context(), location1, deck.Burial{Reason: deck.ReasonRequest}); err != nil {
			t.Fatal(err)
		}
		if got := reader.Layout(); got != layout {
			t.Error(got)
		}
		if _, _, err := reader.PutPart(t.Context(), location1, []byte("y")); !errors.Is(err, deck.ErrBuried) {
			t.Error(err)
		}
	}
}
