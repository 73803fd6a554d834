// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/signature"
	"github.com/tapedeck/tapedeck/tape"
)

// The codes of what is wrong with the signature of a tape.
const (
	problemUnsigned = "signature_missing"  // no signature lies beside it
	problemSigner   = "signature_key"      // signed, but by none of the keys
	problemSigned   = "signature"          // the signature is not over this tape, its oracle and its evidence
	problemEvidence = "signature_evidence" // the evidence is not what was signed
)

// signatures lists what is wrong with the signatures of a tape. One by a trusted key has to be there, and each by a trusted key has to hold; what other
// keys say is not listened to. An error is that of the store.
func (l Location) signatures(ctx context.Context, t *tape.Tape, files map[string][]byte, keys signature.Keys, warn func(format string, args ...any)) (problems []Problem, err error) {
	oracle := ""
	if body, ok := files[tape.OracleFile]; ok {
		oracle = tape.FileDigest(body)
	}
	id, err := t.ComputeID() // of the content that is there, whatever it says of itself
	if err != nil {
		id = t.TapeID
	}
	found := false
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		name := signature.FileName(key)
		body, err := l.Read(ctx, l.Sibling(name))
		if errors.Is(err, deck.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", l, name, err)
		}
		found = true
		bad := func(format string, args ...any) {
			problems = append(problems, Problem{problemSigned, name, fmt.Sprintf(format, args...)})
		}
		s, of, err := signature.ParseFile(body)
		switch {
		case err != nil:
			bad("%v", err)
			continue
		case s.KeyID != key:
			bad("it names another key")
			continue
		case !keys.Holds(s, of):
			bad("it does not hold: it, or what it says, was altered")
			continue
		case of.TapeID != id:
			bad("it is that of another tape, or the tape was altered: the content has %s, signed is %s", id, of.TapeID)
			continue
		case of.Oracle != oracle:
			bad("the oracle beside the tape is not the one that was signed")
		}
		more, err := l.signedEvidence(ctx, t, of.Evidence, name, warn)
		if err != nil {
			return nil, err
		}
		problems = append(problems, more...)
	}
	if found {
		return problems, nil
	}
	others, err := l.signers(ctx)
	if err != nil {
		return nil, err
	}
	if len(others) > 0 {
		return []Problem{{problemSigner, path.Base(l.Ref.Key), "signed by no key that was given, but by " + strings.Join(others, ", ")}}, nil
	}
	return []Problem{{problemUnsigned, path.Base(l.Ref.Key), "no signature lies beside it"}}, nil
}

// signers are the keys whose signatures lie beside a tape of a deck.
func (l Location) signers(ctx context.Context) (keys []string, err error) {
	if !l.Ref.InDeck() {
		return nil, nil // the folder may be anybody's
	}
	folder := path.Dir(l.Ref.Key) + "/"
	for object, err := range l.Store.List(ctx, folder) {
		if err != nil {
			return nil, err
		}
		if key, ok := signature.KeyOf(strings.TrimPrefix(object.Key, folder)); ok {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// signedEvidence compares the evidence of a tape with the digests that were signed.
func (l Location) signedEvidence(ctx context.Context, t *tape.Tape, signed []string, name string, warn func(format string, args ...any)) (problems []Problem, err error) {
	if !l.Ref.InDeck() {
		warn("%s: its evidence is not beside it and was not compared with the signature", l)
		return nil, nil
	}
	d := l.Deck
	if d == nil {
		if d, err = deck.New(ctx, l.Store, l.Ref.DeckURL); err != nil {
			return nil, err
		}
	}
	bad := func(digest, format string, args ...any) {
		problems = append(problems, Problem{problemEvidence, name, digest + ": " + fmt.Sprintf(format, args...)})
	}
	locations := []deck.Location{l.Ref.Location}
	if l.Ref.Location.Area == deck.AreaJoined {
		locations = locations[:0]
		for _, trace := range t.Sources.TraceIDs {
			locations = append(locations, deck.Location{Area: deck.AreaRuns, Tenant: l.Ref.Location.Tenant, TraceID: trace})
		}
	}
	there := map[string]deck.Location{}
	for _, location := range locations {
		state, err := d.State(ctx, location)
		if err != nil {
			return nil, fmt.Errorf("%s: list its evidence: %w", l, err)
		}
		for _, digest := range state.Parts {
			there[digest] = location
		}
	}
	for _, digest := range signed {
		location, ok := there[digest]
		if !ok {
			bad(digest, "this part was signed and is not there")
			continue
		}
		switch _, err := d.ReadPart(ctx, location, digest); {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, deck.ErrNotFound), errors.Is(err, deck.ErrCorrupt):
			bad(digest, "this part was signed and is not there any more, or was altered")
		case err != nil:
			return nil, fmt.Errorf("%s: read its evidence: %w", l, err)
		}
	}
	// The evidence of a joined run, and what exceeds the bounds of a derivation, may be more than its tape was made of.
	if l.Ref.Location.Area == deck.AreaJoined || slices.ContainsFunc(t.Fidelity.Findings, func(f tape.Finding) bool { return f.Code == tape.CodeEvidenceCut }) {
		return problems, nil
	}
	for _, digest := range slices.Sorted(maps.Keys(there)) {
		if !slices.Contains(signed, digest) {
			bad(digest, "this part is there and was not signed")
		}
	}
	return problems, nil
}
