// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package externalcontent

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/derive"
)

func TestUndecidedEvidenceIsResolvedWhereItLiesThenWhereItGoes(t *testing.T) {
	address := "mem://" + t.Name()
	d, err := deck.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Drop(t.Name()) })
	w := derive.NewWriter(d, derive.Options{Producer: derive.Producer()})
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
