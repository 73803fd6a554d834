// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// The figures that the document promises for kinds of values and places: kinds that rules were written with, and kinds that were held out.
func TestKindsAreFoundInEveryPlace(t *testing.T) {
	r, gate, err := redactors()
	if err != nil {
		t.Fatal(err)
	}
	kinds := 0
	for _, c := range []struct {
		heldOut          bool
		all, place, kind float64
	}{{false, 0.99, 0.97, 0.6}, {true, 0.96, 0.92, 0}} {
		p := scorePlaces(7, r, gate, c.heldOut)
		kinds += len(p.kinds)
		if p.all.rate() < c.all {
			t.Errorf("held out %v: %d of %d values were found", c.heldOut, p.all.found, p.all.cases)
		}
		if p.broken > 0 || p.gate > 0 {
			t.Errorf("held out %v: %d documents are no JSON any more, the gate finds something in %d", c.heldOut, p.broken, p.gate)
		}
		for name, tally := range p.places {
			if tally.rate() < c.place {
				t.Errorf("held out %v: %s: %d of %d", c.heldOut, name, tally.found, tally.cases)
			}
		}
		for name, tally := range p.kinds {
			if tally.rate() < c.kind {
				t.Errorf("held out %v: %s: %d of %d", c.heldOut, name, tally.found, tally.cases)
			}
		}
	}
	if kinds < 500 || len(allPlaces) != 18 {
		t.Errorf("%d kinds in %d places", kinds, len(allPlaces))
	}
}

func TestWhatOnlyLooksLikeASecretStaysAsItIs(t *testing.T) {
	r, _, err := redactors()
	if err != nil {
		t.Fatal(err)
	}
	changed, all := scoreBenign(r)
	if all < 400 || len(changed)*1000 > all*3 {
		t.Errorf("%d of %d benign texts are changed: %q", len(changed), all, changed)
	}
}
