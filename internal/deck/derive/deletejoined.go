// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"context"
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// deleteJoinedRuns deletes the joined runs that a trace was part of before it turned out to be a replay. All joined runs of the tenant are read for it,
// which is rare: a tag came after its trace had been production. `tapedeck join` joins the rest again.
func (w *Writer) deleteJoinedRuns(ctx context.Context, s *Stored) error {
	burial := deck.Burial{Reason: deck.ReasonLateTag}
	wanted := func(p deck.Location) bool { return deck.SafeName(s.Tenant) == p.Tenant }
	for read, err := range w.currentTapes(ctx, deck.AreaJoined, wanted) {
		if err == nil {
			err = read.err
		}
		if err != nil {
			return fmt.Errorf("look for joined runs of trace %s: %w", s.TraceID, err)
		}
		for _, t := range read.tapes {
			if !slices.Contains(t.Sources.TraceIDs, s.TraceID) {
				continue
			}
			if read.location.TraceID == s.TraceID {
				_, err = w.deck.Bury(ctx, read.location, burial)
			} else {
				err = w.buryGenerations(ctx, read.location, burial)
			}
			if err != nil {
				return fmt.Errorf("bury joined run of trace %s: %w", s.TraceID, err)
			}
			break
		}
	}
	return nil
}

// buryGenerations leaves the location for what is joined there from now on.
func (w *Writer) buryGenerations(ctx context.Context, location deck.Location, b deck.Burial) error {
	generations, err := w.deck.Generations(ctx, location)
	if err != nil {
		return err
	}
	for _, g := range generations {
		if _, err := w.deck.BuryGeneration(ctx, location, g.Generation, b); err != nil {
			return err
		}
	}
	return nil
}
