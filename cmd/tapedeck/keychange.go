// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/ingest"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/reading/nesting"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/replay"
)

// A deck has one redaction key. Evidence under another key makes a second version of every span that holds a token. The tapes then have
// conflicting spans, which replays cannot verify. So every command that stores evidence compares its key with those that are there.

// keyGuard compares the key of a command with those of a deck.
type keyGuard struct {
	deck  *deck.Deck
	ours  string // key id; empty for what is masked or not redacted
	allow bool
}

func (f *redactionFlags) guard(d *deck.Deck, r *redact.Redactor) keyGuard {
	g := keyGuard{deck: d, allow: f.keyChange}
	if r != nil {
		g.ours = r.Marker().KeyID
	}
	return g
}

// sampledTapes is how many tapes with a key stand for a deck.
const sampledTapes = 16

// wholeDeck compares the key with those of the first tapes of a tenant, of all of them when most is 0. One that has ours is enough for a
// sample; of all tapes each must have it.
func (g keyGuard) wholeDeck(ctx context.Context, tenant string, most int) error {
	if g.allow {
		return nil
	}
	seen := 0
	var foreign []string
	for location, err := range g.deck.Locations(ctx) {
		if err != nil {
			return err
		}
		if !location.Of(tenant) {
			continue
		}
		refs, err := runs.Current(ctx, g.deck, location)
		if err != nil {
			return err
		}
		for _, ref := range refs {
			t, err := replay.ReadSealed(ctx, replay.Location{Ref: ref, Store: g.deck.Store(), Deck: g.deck})
			if err != nil || t.Redaction.KeyID == "" {
				continue // what cannot be read says nothing about the key
			}
			if !strings.Contains(t.Redaction.KeyID, g.ours) || g.ours == "" {
				foreign = append(foreign, t.Redaction.KeyID)
			} else if most > 0 {
				return nil
			}
			seen++
		}
		if most > 0 && seen >= most || most == 0 && len(foreign) > 0 {
			break
		}
	}
	if len(foreign) == 0 {
		return nil
	}
	return g.refuse(g.deck.String(), foreign)
}

// trace compares the key with those of the evidence at a location.
func (g keyGuard) trace(ctx context.Context, location deck.Location) error {
	if g.allow {
		return nil
	}
	parts, err := g.deck.Parts(ctx, location)
	if err != nil {
		return err
	}
	var keys []string
	for _, digest := range parts {
		body, err := g.deck.ReadPart(ctx, location, digest)
		if err != nil {
			return nil // whoever derives from it says so
		}
		td, err := nesting.UnmarshalTraces(body)
		if err != nil {
			return nil
		}
		for _, rs := range td.ResourceSpans().All() {
			if m, ok := handover.MarkerOf(rs.Resource().Attributes()); ok && m.KeyID != "" {
				keys = append(keys, m.KeyID)
			}
		}
	}
	if len(keys) == 0 || g.ours != "" && slices.Contains(keys, g.ours) {
		return nil
	}
	return g.refuse("trace "+location.TraceID, keys)
}

// locations leaves out the locations of another key, each of which it hands over as an error.
func (g keyGuard) locations(ctx context.Context, all iter.Seq2[deck.Location, error], refused func(error)) iter.Seq2[deck.Location, error] {
	return func(yield func(deck.Location, error) bool) {
		for location, err := range all {
			if err == nil {
				err = g.trace(ctx, location)
			}
			if errors.Is(err, ingest.ErrKeyChange) {
				refused(err)
				continue
			}
			if !yield(location, err) {
				return
			}
		}
	}
}

func (g keyGuard) refuse(what string, keys []string) error {
	slices.Sort(keys)
	ours := "no key"
	if g.ours != "" {
		ours = "key " + g.ours
	}
	return fmt.Errorf("%w: %s was redacted under key %s, this is %s; name the key of the deck with --redaction-key-file or $%s and its scope, or say --allow-key-change",
		ingest.ErrKeyChange, what, strings.Join(slices.Compact(keys), ", "), ours, keyVariable)
}
