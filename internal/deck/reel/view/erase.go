// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
)

// erasure is what of a trace is to leave the reels.
type erasure struct {
	parts       []string
	generations []string    // their tapes
	areas       []deck.Area // of its rows without content
}

// Delete is that of deck.Store. What lies in reels leaves them when the view is closed: each reel is written again once, whatever goes.
func (v *View) Delete(ctx context.Context, key string) error {
	_, there, err := v.find(ctx, key)
	if err != nil {
		return err
	}
	if there {
		l, rest, _ := inReel(key)
		folder, name, _ := strings.Cut(rest, "/")
		v.erase(l, func(e *erasure) {
			if part, ok := strings.CutSuffix(name, deck.PartSuffix); ok && folder == "parts" {
				e.parts = append(e.parts, part)
			} else {
				e.generations = append(e.generations, folder)
			}
		})
		beside := false // the same may have come once in a reel and once as a file
		for o, err := range v.listBeside(ctx, key) {
			if err != nil {
				return err
			}
			beside = beside || o.Key == key
		}
		if !beside {
			return nil
		}
	}
	defer v.changed(key)
	return v.Store.Delete(ctx, key)
}

// buried makes what a tombstone takes away of a trace leave the reels, too: nobody is shown it from now on,
// so nobody deletes it. Where a whole trace is taken away, or moved, whoever does that deletes what is shown.
// Rows without content show nothing that could be deleted, so they leave with the tombstone.
func (v *View) buried(key string) {
	below, ok := strings.CutPrefix(key, deck.TombstoneArea+"/")
	if l, name, isTrace := inReel(below); ok && isTrace {
		if name != "trace.json" {
			v.erase(l, func(*erasure) {})
			return
		}
		v.erase(l, func(e *erasure) { e.areas = append(e.areas, l.Area) })
	}
}

// erase notes what is to leave the reels.
func (v *View) erase(l deck.Location, note func(*erasure)) {
	at := reel.TraceKey{Tenant: l.TenantKey(), TraceID: l.TraceID}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.erased[at] == nil {
		v.erased[at] = &erasure{}
	}
	note(v.erased[at])
}

// of is what is left of a row; false if nothing.
func (e *erasure) of(row *reel.Row) bool {
	if row.Dropped() {
		return !slices.Contains(e.areas, deck.Area(row.Area)) && (row.Area != string(deck.AreaUndecided) || len(e.areas) == 0)
	}
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
	defer v.stale()
	if len(erased) == 0 {
		return v.catalog.Tidy(ctx)
	}
	of := func(tenant, trace string) *erasure {
		return erased[reel.TraceKey{Tenant: deck.SafeName(tenant), TraceID: trace}]
	}
	wanted := func(k reel.TraceKey) bool { return of(k.Tenant, k.TraceID) != nil }
	if err := v.catalog.Rewrite(ctx, wanted, func(row *reel.Row) bool { return of(row.Tenant, row.TraceID).of(row) }); err != nil {
		return err
	}
	return v.catalog.Tidy(ctx)
}

// Close erases what was deleted, and closes the store.
func (v *View) Close() error {
	return errors.Join(v.Erase(context.Background()), v.Store.Close())
}
