// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/reel"
)

// erasure is what of a trace is to leave the reels.
type erasure struct {
	parts       []string
	generations []string // their tapes
}

// Delete is that of deck.Store. What lies in reels leaves them when the view is closed: each reel is written again once, whatever goes.
func (v *View) Delete(ctx context.Context, key string) error {
	l, rest, ok := inReel(key)
	if !ok {
		defer v.changed(key)
		return v.Store.Delete(ctx, key)
	}
	if _, there, err := v.find(ctx, key); err != nil {
		return err
	} else if there {
		t, err := v.trace(ctx, l)
		if err != nil {
			return err
		}
		at := reel.TraceKey{Tenant: t.Entries[0].Tenant, TraceID: l.TraceID}
		v.mu.Lock()
		defer v.mu.Unlock()
		e := v.erased[at]
		if e == nil {
			e = &erasure{}
			v.erased[at] = e
		}
		folder, name, _ := strings.Cut(rest, "/")
		if part, ok := strings.CutSuffix(name, deck.PartSuffix); ok && folder == "parts" {
			e.parts = append(e.parts, part)
		} else {
			e.generations = append(e.generations, folder)
		}
		return nil
	}
	defer v.changed(key)
	return v.Store.Delete(ctx, key)
}

// of is what is left of a row; false if nothing.
func (e *erasure) of(row *reel.Row) bool {
	if slices.Contains(e.parts, row.Part) {
		return false
	}
	of := func(part string) bool { return slices.Contains(e.parts, part) }
	if row.RunID == "" || !slices.ContainsFunc(row.Parts, of) && !slices.Contains(e.generations, row.Generation().String()) {
		return true
	}
	bare := reel.Row{Evidence: row.Evidence, Meta: reel.Meta{Tenant: row.Tenant, TraceID: row.TraceID, Area: row.Area, Part: row.Part,
		ReplayRunID: row.ReplayRunID, ReplayOf: row.ReplayOf, Formats: row.Formats, Complete: row.Complete}}
	*row = bare
	return len(row.Evidence) > 0
}

// Erase takes out of the reels what was deleted: at once, and out of every object that holds it.
func (v *View) Erase(ctx context.Context) error {
	v.mu.Lock()
	erased := v.erased
	v.erased = map[reel.TraceKey]*erasure{}
	v.mu.Unlock()
	if len(erased) == 0 {
		return nil
	}
	defer v.stale()
	wanted := func(k reel.TraceKey) bool { return erased[k] != nil }
	return v.catalog.Rewrite(ctx, wanted, func(row *reel.Row) bool {
		return erased[reel.TraceKey{Tenant: row.Tenant, TraceID: row.TraceID}].of(row)
	})
}

// Close erases what was deleted, and closes the store.
func (v *View) Close() error {
	return errors.Join(v.Erase(context.Background()), v.Store.Close())
}
