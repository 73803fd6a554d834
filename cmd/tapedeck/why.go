// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/replay"
	"github.com/tapedeck/tapedeck/internal/replay/why"
)

// explain says how an event or a field of the only run that a REF stands for came about.
func explain(ctx context.Context, stdout io.Writer, ref string, r *refs, of string) error {
	for at, err := range r.Resolve(ctx, ref, replay.OneRun) {
		if err != nil {
			return err
		}
		t, _, err := r.Open(ctx, &at)
		if err != nil {
			return err
		}
		d := cmp.Or(at.Deck, at.Derived)
		if d == nil {
			return errors.New("--why needs the evidence of the run: name the run by its id, with --deck DECK")
		}
		e, err := why.Of(ctx, d, at.Ref.Location, t)
		if errors.Is(err, deck.ErrNotFound) {
			err = why.ErrNoEvidence
		}
		if err != nil {
			return err
		}
		return why.Write(stdout, e, of)
	}
	return nil
}
