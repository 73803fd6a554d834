// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/testbed/sample"
)

// The figures that the document promises for kinds of values and places: kinds that rules were written with, and kinds that were held out.
func TestKindsAreFoundInEveryPlace(t *testing.T) {
	r, gate, err := redactors()
	if err != nil {
		t.Fatal(err)
	}
	kinds, every := 0, sample.Of(4, 1)
	for i, c := range []struct {
		of               set
		all, place, kind float64
	}{{first, 0.99, 0.97, 0.6}, {firstHeldOut, 0.98, 0.94, 0}, {second, 0.98, 0.95, 0.5}, {secondHeldOut, 0.97, 0.94, 0}, {third, 0.97, 0.9, 0}, {fourth, 0.97, 0.88, 0}, {fourthHeldOut, 0.97, 0.88, 0}, {fifth, 0.97, 0.9, 0},
		{sixth, 0.97, 0.9, 0}, {sixthHeldOut, 0.97, 0.9, 0}, {seventh, 0.97, 0.9, 0}, {seventhHeldOut, 0.97, 0.9, 0}, {eighth, 0.97, 0.9, 0}, {eighthHeldOut, 0.97, 0.9, 0}, {ninth, 0.97, 0.9, 0}, {ninthHeldOut, 0.97, 0.9, 0}} {
		if i%every != 0 {
			continue
		}
		p := scorePlaces(7, r, gate, c.of)
		kinds += len(p.kinds)
		if p.all.rate() < c.all {
			t.Errorf("set %v: %d of %d values were found", c.of, p.all.found, p.all.cases)
		}
		if p.popular.cases > 0 && p.popular.rate() < 0.97 {
			t.Errorf("set %v: %d of %d values of services that many use", c.of, p.popular.found, p.popular.cases)
		}
		if p.broken > 0 || p.gate > 0 {
			t.Errorf("set %v: %d documents are no JSON any more, the gate finds something in %d", c.of, p.broken, p.gate)
		}
		for name, tally := range p.places {
			if tally.rate() < c.place {
				t.Errorf("set %v: %s: %d of %d", c.of, name, tally.found, tally.cases)
			}
		}
		for name, tally := range p.kinds {
			if tally.rate() < c.kind {
				t.Errorf("set %v: %s: %d of %d", c.of, name, tally.found, tally.cases)
			}
		}
	}
	if kinds < 900/every || len(allPlaces) != 18 {
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
