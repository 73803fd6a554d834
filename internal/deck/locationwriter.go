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

// Location returns the location.
func (s *LocationWriter) Location() Location { return s.location }

// Buried tells whether the whole location is buried, as far as is known since the last State.
func (s *LocationWriter) Buried() bool { return s.tombs.Trace() }

// PartBuried tells whether a part is buried by itself, wherever the rest of the trace lies.
func (s *LocationWriter) PartBuried(digest string) bool { return s.tombs.names[partTombstone+digest] }

// Open tells whether the whole location is still not buried. It costs one look at one object.
func (s *LocationWriter) Open(ctx context.Context) (bool, error) {
	_, err := s.deck.store.Get(ctx, s.location.tombstoneKey(tombstoneTrace))
	if errors.Is(err, ErrNotFound) {
		return true, nil
	}
	return false, err
}

// PutPart is [Deck.PutPart].
func (s *LocationWriter) PutPart(ctx context.Context, canonical []byte) (digest string, created bool, err error) {
	digest = PartDigest(canonical)
	if s.tombs.Part(digest) {
		return "", false, s.tombs.refuse("part")
	}
	key := s.location.partKey(digest)
	if len(canonical) > MaxObjectBytes {
		return "", false, TooLarge("put", s.deck.url.Scheme, key)
	}
	if err := s.deck.mark(ctx); err != nil {
		return "", false, err
	}
	created, err = s.deck.store.PutNew(ctx, key, compress(canonical), "application/zstd")
	if err != nil {
		return "", false, err
	}
	return digest, created, nil
}

// State is [Deck.State]. It looks for tombstones again: one that came while a part was written is seen here by the writer, unless whoever buried the
// location sees the part.
func (s *LocationWriter) State(ctx context.Context) (LocationState, error) {
	var err error
	if s.tombs, err = s.deck.Tombstones(ctx, s.location); err != nil {
		return LocationState{}, err
	}
	return s.deck.scan(ctx, s.location, "", s.tombs)
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
	return s.deck.putGeneration(ctx, s.location, gen, runs)
}
