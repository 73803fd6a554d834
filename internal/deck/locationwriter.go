// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// LocationWriter writes to one trace location. It keeps the tombstones of the location, so that not every call lists them.
type LocationWriter struct {
	deck     *Deck
	location Location
	tombs    Tombstones
	held     []NewObject // the part that HoldPart keeps back, if any
}

// PartDigest is the name of the part with this content.
func PartDigest(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

// LocationWriter reads the tombstones of a location.
func (d *Deck) LocationWriter(ctx context.Context, location Location) (*LocationWriter, error) {
	t, err := d.Tombstones(ctx, location)
	if err != nil {
		return nil, err
	}
	return &LocationWriter{deck: d, location: location, tombs: t}, nil
}

// NewTraceWriter returns the writer of a trace that nothing is known of yet, without looking. What it writes may already be buried, so its caller has
// to look afterwards, with State. It returns false in layout 1, where a writer has to look first.
func (d *Deck) NewTraceWriter(ctx context.Context, location Location) (*LocationWriter, bool, error) {
	if err := location.Validate(); err != nil {
		return nil, false, err
	}
	layout, err := d.keys(ctx)
	return &LocationWriter{deck: d, location: location, tombs: Tombstones{location: location, layout: layout}}, layout == LayoutFiles, err
}

// Tombstones returns what is buried or noted at the location, as far as is known since the last State.
func (s *LocationWriter) Tombstones() Tombstones { return s.tombs }

// Location returns the location.
func (s *LocationWriter) Location() Location { return s.location }

// Buried tells whether the whole location is buried, as far as is known since the last State.
func (s *LocationWriter) Buried() bool { return s.tombs.Trace() }

// PartBuried tells whether a part is buried by itself, wherever the rest of the trace lies.
func (s *LocationWriter) PartBuried(digest string) bool { return s.tombs.names[partTombstone+digest] }

// Open tells whether the whole location is still not buried. It costs one look at one object.
func (s *LocationWriter) Open(ctx context.Context) (bool, error) {
	layout, err := s.deck.keys(ctx)
	if err != nil {
		return false, err
	}
	_, err = s.deck.store.Get(ctx, s.location.tombstoneKey(layout, tombstoneTrace))
	if errors.Is(err, ErrNotFound) {
		return true, nil
	}
	return false, err
}

// PutPart is [Deck.PutPart].
func (s *LocationWriter) PutPart(ctx context.Context, canonical []byte) (digest string, created bool, err error) {
	return s.PutNamedPart(ctx, PartDigest(canonical), canonical)
}

// PutNamedPart is PutPart for who knows the digest.
func (s *LocationWriter) PutNamedPart(ctx context.Context, digest string, canonical []byte) (_ string, created bool, err error) {
	part, err := s.partObject(ctx, digest, canonical)
	if err != nil {
		return "", false, err
	}
	if created, err = s.deck.store.PutNew(ctx, part.Key, part.Body, part.ContentType); err != nil {
		return "", false, err
	}
	return digest, created, nil
}

// HoldPart is PutPart for a part whose generation comes soon: where several new objects cost less together than one by one, the part is kept back. Then
// PutGeneration creates it with the generation, before that; FlushPart creates it alone. A writer holds one part at most.
func (s *LocationWriter) HoldPart(ctx context.Context, canonical []byte) (digest string, created, held bool, err error) {
	if !batches(s.deck.store) {
		digest, created, err = s.PutPart(ctx, canonical)
		return digest, created, false, err
	}
	digest = PartDigest(canonical)
	part, err := s.partObject(ctx, digest, canonical)
	if err != nil {
		return "", false, false, err
	}
	s.held = []NewObject{part}
	return digest, false, true, nil
}

// FlushPart creates the part that is held back, if there is one.
func (s *LocationWriter) FlushPart(ctx context.Context) error {
	if len(s.held) == 0 {
		return nil
	}
	_, err := putAllNew(ctx, s.deck.store, s.held)
	if err == nil {
		s.held = nil
	}
	return err
}

// partObject is how a part lies in the deck, unless it is buried.
func (s *LocationWriter) partObject(ctx context.Context, digest string, canonical []byte) (NewObject, error) {
	if s.tombs.Part(digest) {
		return NewObject{}, s.tombs.refuse("part")
	}
	layout, err := s.deck.keys(ctx)
	if err != nil {
		return NewObject{}, err
	}
	key := s.location.partKey(layout, digest)
	if len(canonical) > MaxObjectBytes {
		return NewObject{}, TooLarge("put", s.deck.url.Scheme, key)
	}
	if err := s.deck.mark(ctx); err != nil {
		return NewObject{}, err
	}
	return NewObject{Key: key, Body: compress(canonical), ContentType: partType}, nil
}

// State is [Deck.State]. It looks for tombstones again: one that came while a part was written is seen here by the writer, unless whoever buried the
// location sees the part.
func (s *LocationWriter) State(ctx context.Context) (LocationState, error) {
	state, tombs, err := s.deck.look(ctx, s.location, "")
	if err != nil {
		return LocationState{}, err
	}
	s.tombs = tombs
	return state, nil
}

// PutGeneration is [Deck.PutGeneration].
func (s *LocationWriter) PutGeneration(ctx context.Context, gen Generation, runs []RunFiles) (created bool, err error) {
	if err := gen.validate(); err != nil {
		return false, err
	}
	if err := checkRuns(runs); err != nil {
		return false, err
	}
	if s.tombs.Generation(gen) {
		return false, s.tombs.refuse("generation")
	}
	if err := s.deck.mark(ctx); err != nil {
		return false, err
	}
	if created, err = s.deck.putGeneration(ctx, s.location, gen, runs, s.held...); err == nil {
		s.held = nil
	}
	return created, err
}
