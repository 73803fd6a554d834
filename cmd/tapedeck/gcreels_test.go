// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
)

// TestReelsGoAsAWholeWhereEverythingInThemIsOld: and not where a run is held, or is younger.
func TestReelsGoAsAWholeWhereEverythingInThemIsOld(t *testing.T) {
	address := manyReels(t, 60, 5, 3) // days from 2026-01-01 on, 4 reels each
	runs := strings.Split(strings.TrimSpace(tapedeck(t, "ls", address, "--format", "json", "--columns", "run_id", "--sort", "started_at").stdout), "\n")
	if len(runs) != 60 {
		t.Fatal(runs)
	}
	var held struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(runs[0]), &held); err != nil {
		t.Fatal(err)
	}
	if got := tapedeck(t, "gc", address, "--hold", held.RunID, "--reason", "a case"); got.code != exitOK {
		t.Fatal(got)
	}
	at := time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC).AddDate(0, 0, 90) // the first two days are over
	dry := gcAt(t, at, address, false)
	// 7 reels of these days go; of the eighth its 4 other runs, together.
	if n := strings.Count(dry, `"what":"reel"`); n != 7 || strings.Count(dry, `"what":"rows"`) != 1 || strings.Contains(dry, `"what":"trace"`) || !strings.Contains(dry, `"traces":4}`) &&
		!strings.Contains(dry, `"traces":4,`) || !strings.Contains(dry, `"traces":39,`) || !strings.Contains(dry, `"held":1`) {
		t.Fatalf("%d reels: %s", n, dry)
	}
	if got := gcAt(t, at, address, true); !strings.Contains(got, `"traces":39,`) || !strings.Contains(got, `"held":1`) {
		t.Fatal(got)
	}
	d, err := deck.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	objects, err := view.Catalog(d).List(t.Context())
	if err != nil || len(objects) != 5 {
		t.Fatal(len(objects), err)
	}
	for o, err := range d.Store().List(t.Context(), deck.TombstoneArea+"/") {
		t.Errorf("a tombstone for what went with its reel: %s, %v", o.Key, err)
	}
	left := tapedeck(t, "ls", address, "--format", "json", "--columns", "run_id").stdout
	if strings.Count(left, "\n") != 21 || !strings.Contains(left, held.RunID) {
		t.Fatal(left)
	}
	if again := gcAt(t, at, address, true); !strings.Contains(again, `"traces":0,`) {
		t.Error(again)
	}
	if got := tapedeck(t, "verify", address); got.code != exitOK {
		t.Error(got)
	}
}
