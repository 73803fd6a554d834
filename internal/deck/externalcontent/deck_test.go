// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package externalcontent

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/tape"
)

func TestUndecidedEvidenceIsResolvedWhereItLiesThenWhereItGoes(t *testing.T) {
	address := "mem://" + t.Name()
	d, err := deck.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Drop(t.Name()) })
	w := derive.NewWriter(d, derive.Options{Options: generation.Options{Producer: generation.Producer()}})
	request := derive.Request{Tenant: "t", TraceID: "01000000000000000000000000000000", Set: set(map[string]any{"gen_ai.input.messages_ref": "s3://b/in"})}
	f := &shelf{bodies: map[string]string{"s3://b/in": `[{"role":"user","parts":[{"type":"text","content":"q"}]}]`}}
	resolve := func() (locations []string) {
		t.Helper()
		for o, err := range New(policy(t, "s3://b"), f, limits).Deck(t.Context(), d, w, Locations(t.Context(), d, "", nil)) {
			if err != nil || o.Err != nil || len(o.Failures) != 0 {
				t.Fatal(err, o.Err, o.Failures)
			}
			locations = append(locations, string(o.Location.Area))
		}
		return locations
	}
	parts := func(area deck.Area) int {
		t.Helper()
		digests, err := d.Parts(t.Context(), deck.Location{Area: area, Tenant: "t", TraceID: request.TraceID})
		if err != nil {
			t.Fatal(err)
		}
		return len(digests)
	}
	if _, err := w.Write(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := resolve(); len(got) != 1 || got[0] != "undecided" || parts(deck.AreaUndecided) != 2 || parts(deck.AreaRuns) != 0 {
			t.Fatalf("%v, %d parts", got, parts(deck.AreaUndecided))
		}
	}
	request.Complete = true
	if _, err := w.Write(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if got := resolve(); len(got) != 1 || got[0] != "runs" || parts(deck.AreaRuns) != 2 || f.asked["s3://b/in"] != 1 {
		t.Errorf("%v, %d parts, asked %d times", got, parts(deck.AreaRuns), f.asked["s3://b/in"])
	}
}

// TestAJoinedRunThatIsReplacedMeanwhileStillNamesItsTraces: a writer replaces its tape after it was found.
func TestAJoinedRunThatIsReplacedMeanwhileStillNamesItsTraces(t *testing.T) {
	d, err := deck.Open(t.Context(), "mem://"+t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Drop(t.Name()) })
	made := &tape.Tape{Run: tape.Run{Tenant: "t", TraceID: "01000000000000000000000000000000", RootSpanID: "b7ad6b7169203331", Status: tape.StatusOK},
		Sources: tape.Sources{TraceIDs: []string{"01000000000000000000000000000000", "02000000000000000000000000000000"}}}
	location, first := decktest.PutTape(t, d, deck.AreaJoined, made, 1)
	found := d.Ref(location, first, made.Run.RootSpanID, deck.TapeFile)
	decktest.PutTape(t, d, deck.AreaJoined, made, 2)
	if got, err := readTape(t.Context(), d, found); err != nil || len(got.Sources.TraceIDs) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
}
