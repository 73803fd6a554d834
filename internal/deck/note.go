// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"strings"
)

// Note is a tombstone or a flag of one deck, on its way into another, whatever the layouts of the two.
type Note struct {
	Location Location
	name     string // without suffix
	body     tombstoneBody
}

// Trace tells whether the note buries its whole location, and where the evidence goes on then, if it does.
func (n *Note) Trace() (buried bool, movedTo string) {
	return n.name == tombstoneTrace, n.body.MovedTo
}

// ReadNote reads the note at a key for which IsNote holds. A tombstone is obeyed by its name alone, so one whose body is damaged is a note still.
func (d *Deck) ReadNote(ctx context.Context, key string) (*Note, error) {
	at := WithoutNote(key)
	name, ok := strings.CutSuffix(path.Base(key), tombstoneSuffix)
	if strings.HasPrefix(key, TombstoneArea+"/") {
		at = path.Dir(at)
	}
	l, rest, err := ParseLocation(at)
	if err != nil || rest != "" || !ok {
		return nil, d.corrupt(key, "not the key of a tombstone or flag")
	}
	n := &Note{Location: l, name: name}
	text, err := d.store.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(text, &n.body) != nil || !validReason(n.body.Reason) {
		n.body = tombstoneBody{Reason: reasonDamaged}
	}
	return n, nil
}

// reasonDamaged stands for the reason of a tombstone that cannot be read.
const reasonDamaged Reason = "damaged"

// PutNote writes a note of another deck. What it takes away of this deck leaves it, as when it is buried here. created tells whether it is new. A hold of this
// deck refuses what it forbids: ErrHeld.
func (d *Deck) PutNote(ctx context.Context, n *Note) (created bool, err error) {
	if err := d.mark(ctx); err != nil {
		return false, err
	}
	layout, err := d.keys(ctx)
	if err != nil {
		return false, err
	}
	if n.name == undecidedFlag {
		if layout == LayoutFiles1 {
			return false, nil // it has none
		}
		return d.store.PutNew(ctx, n.Location.tombstoneKey(layout, undecidedFlag), []byte(undecidedBody), jsonType)
	}
	b := Burial{Reason: n.body.Reason}
	if n.body.WrittenAt != nil {
		b.At = *n.body.WrittenAt
	}
	switch generation, isGeneration := ParseGeneration(n.name); {
	case n.name == tombstoneTrace && n.body.MovedTo != "":
		to, rest, err := ParseLocation(n.body.MovedTo)
		if err != nil || rest != "" {
			return false, d.corrupt(n.Location.Prefix(), "its tombstone does not tell a location")
		}
		b.MovedTo = &to
		return d.PutTombstone(ctx, n.Location, b) // what lies here goes along with the next delivery
	case n.name == tombstoneTrace:
		if created, err = d.PutTombstone(ctx, n.Location, b); err == nil {
			_, err = d.removeBelow(ctx, n.Location.Prefix()+"/")
		}
	case isGeneration:
		if created, err = d.isNew(ctx, n, layout); err == nil {
			_, err = d.BuryGeneration(ctx, n.Location, generation, b)
		}
	case strings.HasPrefix(n.name, partTombstone):
		if created, err = d.isNew(ctx, n, layout); err == nil && (created || !d.hollow(ctx, n, layout)) {
			err = d.BuryPart(ctx, n.Location, strings.TrimPrefix(n.name, partTombstone), b)
		}
	default:
		err = d.corrupt(n.Location.Prefix(), "it has a note of a kind that is not known")
	}
	return created && err == nil, err
}

// isNew tells whether a note is not there yet.
func (d *Deck) isNew(ctx context.Context, n *Note, layout Layout) (bool, error) {
	_, err := d.store.Get(ctx, n.Location.tombstoneKey(layout, n.name))
	if errors.Is(err, ErrNotFound) {
		return true, nil
	}
	return false, err
}

// hollow tells whether a buried part is gone, and its key taken where the layout asks for that.
func (d *Deck) hollow(ctx context.Context, n *Note, layout Layout) bool {
	stored, err := d.store.Get(ctx, n.Location.partKey(layout, strings.TrimPrefix(n.name, partTombstone)))
	if layout == LayoutFiles1 {
		return errors.Is(err, ErrNotFound)
	}
	return err == nil && string(stored) == string(compress(nil))
}
