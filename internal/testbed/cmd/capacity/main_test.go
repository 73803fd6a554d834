// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"
)

// TestScaleOutShowsWhatThisPrints: docs/scale-out.md has the sheet of the defaults, line by line.
func TestScaleOutShowsWhatThisPrints(t *testing.T) {
	doc, err := os.ReadFile("../../../../docs/scale-out.md")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	sheet(&b, measured, load{Spans: 20, Bytes: 50_000, OpenSecs: 60, AwaySecs: 4 * 3600}, []float64{1, 100, 10_000})
	if !strings.Contains(string(doc), b.String()) {
		t.Errorf("docs/scale-out.md has another sheet than this:\n%s", b.String())
	}
}

// What comes in has to go somewhere, and more of it takes no less.
func TestPlansGrowWithTheLoad(t *testing.T) {
	before := plan{}
	for _, rate := range []float64{0.1, 1, 10, 100, 1000, 10_000, 100_000} {
		p := measured.plan(load{Runs: rate, Spans: 20, Bytes: 50_000, OpenSecs: 60, AwaySecs: 3600})
		if p.Cores < before.Cores || p.Collectors < before.Collectors || p.Requests > 1e6 || p.RunsOfReel > reelRuns {
			t.Errorf("%v runs/s: %+v", rate, p)
		}
		if got := p.Level0 * p.RunsOfReel; got < rate*day*0.999 || got > rate*day*1.001 {
			t.Errorf("%v runs/s: the reels of a day hold %v runs", rate, got)
		}
		if p.Level0*reelBytes < p.StoredDay*0.999 {
			t.Errorf("%v runs/s: the reels of a day hold less than is stored", rate)
		}
		before = p
	}
}
