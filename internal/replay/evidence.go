// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/reading/nesting"
)

// problemUnread is the code of a part that nobody can derive a tape from again.
const problemUnread = "evidence"

// evidence reads the parts of the trace of a tape, and returns a problem for each that is damaged, unpacks to more than an object may have, or
// nests deeper than the format allows. Outside of a deck there are none, and those of a joined run are at its traces.
func (l Location) evidence(ctx context.Context) (problems []Problem, err error) {
	if !l.Ref.InDeck() || l.Ref.Location.Area == deck.AreaJoined {
		return nil, nil
	}
	d := l.Deck
	if d == nil {
		if d, err = deck.New(ctx, l.Store, l.Ref.DeckURL); err != nil {
			return nil, err
		}
	}
	parts, err := d.Parts(ctx, l.Ref.Location)
	if err != nil {
		return nil, fmt.Errorf("%s: list its evidence: %w", l, err)
	}
	for _, digest := range parts {
		part, err := d.ReadPart(ctx, l.Ref.Location, digest)
		switch {
		case errors.Is(err, deck.ErrNotFound): // somebody took it away since
			continue
		case err != nil && !deck.IsPermanent(err):
			return nil, fmt.Errorf("%s: read its evidence: %w", l, err)
		case err == nil:
			_, err = nesting.UnmarshalTraces(part)
		}
		if err != nil {
			problems = append(problems, Problem{problemUnread, digest, "this part of the evidence cannot be read: " + err.Error()})
		}
	}
	return problems, nil
}
