// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/compaction"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/testbed/manyruns"
)

// TestCompactionEnds: content that compresses far better than to a half gives reels of the size that was asked for, and not small ones that are merged for ever.
func TestCompactionEnds(t *testing.T) {
	t.Cleanup(func() { mem.Drop("converge") })
	d, err := deck.OpenLayout(t.Context(), "mem://converge", deck.LayoutReels)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	const runs, perReel, size = 6000, 200, 1 << 20
	written, err := manyruns.Write(t.Context(), d, manyruns.Options{Runs: runs, PerReel: perReel, Kinds: 8})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	merges := 0
	options := compaction.Options{MaxBytes: size, Report: func(compaction.Merge) {
		if merges++; merges > written {
			cancel()
		}
	}}
	sums, err := compaction.Run(ctx, d, options)
	if err != nil {
		t.Fatalf("behind %d merges of %d reels: %v", merges, written, err)
	}
	if sums.Inputs > 2*written {
		t.Errorf("%d reels were read to merge %d", sums.Inputs, written)
	}
	small, total := 0, int64(0)
	reels, err := view.Catalog(d).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range reels {
		if total += o.Size; o.Size < size/2 {
			small++
		}
	}
	if total < 2*size {
		t.Fatalf("%d bytes in all: too few to tell", total)
	}
	if small > 1 {
		t.Errorf("%d of %d reels are small", small, len(reels))
	}
	if sums, err = compaction.Run(ctx, d, options); err != nil || sums.Merges > 0 {
		t.Errorf("a second compaction merges again: %+v, %v", sums, err)
	}
}
