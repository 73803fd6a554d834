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
		case err != nil && !deck.IsPermanent(err):
			return nil, fmt.Errorf("%s: read its evidence: %w", l, err)
		case err != nil:
			problems = append(problems, *unread(digest, err))
		default:
			if p := unreadable(digest, part); p != nil {
				problems = append(problems, *p)
			}
		}
	}
	return problems, nil
}

// unreadable is the problem of a part that nobody can derive a tape from; nil if there is none.
func unreadable(digest string, part []byte) *Problem {
	if _, err := nesting.UnmarshalTraces(part); err != nil {
		return unread(digest, err)
	}
	return nil
}

func unread(digest string, err error) *Problem {
	return &Problem{problemUnread, digest, "this part of the evidence cannot be read: " + err.Error()}
}
