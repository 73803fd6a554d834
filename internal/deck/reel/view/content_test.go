// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/compaction"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
)

// TestReelsWithEvidenceAlone: where reels hold evidence alone, readers see the same files, and runs are listed without deriving any; compactions leave it so. Tapes that another version spoke of are
// those of the version that reads.
func TestReelsWithEvidenceAlone(t *testing.T) {
	for name, revision := range map[string]int{"written by this version": 0, "written by another version": 1} {
		t.Run(name, func(t *testing.T) {
			files, reels := openDeck(t, "mem://alone-files", deck.LayoutFiles), openDeck(t, "mem://alone-reels", deck.LayoutReels)
			t.Cleanup(func() { mem.Drop("alone-files"); mem.Drop("alone-reels") })
			r := rand.New(rand.NewPCG(4, 4))
			alone := options
			alone.EvidenceAlone, alone.Revision = true, revision
			for i, run := range corpus(t, 12) {
				set := setOf(t, run)
				deliver(t, files, set)
				pieces := []*evidence.Set{set}
				if i%2 == 0 {
					pieces = split(r, set)
				}
				deliverBy(t, reels, alone, pieces...)
			}
			want := tapes(t, files)
			check := func(when string) {
				t.Helper()
				if diff := cmp.Diff(want, tapes(t, reels)); diff != "" || len(want) < 20 {
					t.Errorf("%s: of %d files other ones:\n%.1500s", when, len(want), diff)
				}
				runs, listed := 0, 0
				for rows, err := range view.Catalog(reels).Walk(t.Context(), nil) {
					if err != nil {
						t.Fatal(err)
					}
					for _, e := range rows {
						if e.RunID != "" {
							runs++
						}
						if e.TapeBytes > 0 {
							t.Errorf("%s: a tape of trace %s is stored", when, e.TraceID)
						}
					}
				}
				for run, err := range view.Select(t.Context(), reels, view.Query{}) {
					if err != nil {
						t.Fatal(err)
					}
					if listed++; run.RunID == "" || run.Events == nil || run.Ref.Key == "" {
						t.Errorf("%s: a run without what columns say: %+v", when, run)
					}
				}
				if runs < listed || listed < 10 {
					t.Errorf("%s: %d runs in %d rows", when, listed, runs)
				}
			}
			check("as written")
			if _, err := compaction.Run(t.Context(), reels, compaction.Options{Rederive: revision != 0}); err != nil {
				t.Fatal(err)
			}
			check("compacted")
		})
	}
}
