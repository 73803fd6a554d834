// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
)

// Erase takes away all that a deck has of a trace, in whatever area: because somebody asks for it. Joined runs that it is a part of go as a whole; `join` makes what is left of them again. It
// is deck.ErrHeld, and nothing goes, while a hold keeps the trace. In a deck of reels it is gone from the reels when the deck is closed. What it yields has been taken away; a repeated call
// goes on where one was interrupted, and is ErrNotFound if there is nothing.
func Erase(ctx context.Context, d *deck.Deck, tenant, traceID string, at time.Time) (removals []Removal, err error) {
	locations, err := d.LocationsOf(ctx, traceID, true)
	if err != nil {
		return nil, err
	}
	locations = slices.DeleteFunc(locations, func(l deck.Location) bool { return !l.Of(tenant) })
	for _, l := range locations {
		if !l.Of(locations[0].TenantKey()) {
			return nil, fmt.Errorf("trace %s is there for several tenants; say which", traceID)
		}
	}
	joined, err := joinedWith(ctx, d, tenant, traceID)
	if err != nil {
		return nil, err
	}
	quarantined, err := quarantinedOf(ctx, d, tenant, traceID)
	if err != nil {
		return nil, err
	}
	if len(locations)+len(joined)+len(quarantined) == 0 {
		return nil, fmt.Errorf("nothing of trace %s is there: %w", traceID, deck.ErrNotFound)
	}
	all := slices.Concat(joined, locations)
	for _, l := range all {
		if err := d.Held(ctx, l); err != nil {
			return nil, err
		}
	}
	burial := deck.Burial{Reason: deck.ReasonRequest, At: at}
	for _, l := range slices.Compact(all) {
		r := Removal{What: Trace, Key: l.Prefix(), Reason: deck.ReasonRequest, location: l}
		if r.RunIDs, err = runIDs(ctx, d, l); err != nil {
			return removals, err
		}
		if l.TraceID != traceID { // a joined run that begins with another trace, which may be joined again without this one
			state, err := d.Remains(ctx, l)
			if err != nil {
				return removals, err
			}
			for _, g := range state.Generations {
				n, err := d.BuryGeneration(ctx, l, g.Generation, burial)
				if err != nil {
					return removals, err
				}
				r.Objects += n
			}
		} else {
			if r.Objects, err = d.Bury(ctx, l, burial); err != nil {
				return removals, err
			}
			notes, err := d.RemoveReplayStatuses(ctx, l)
			if err != nil {
				return removals, err
			}
			r.Objects += notes
		}
		removals = append(removals, r)
	}
	for _, key := range quarantined {
		if err := d.Store().Delete(ctx, key); err != nil {
			return removals, err
		}
		removals = append(removals, Removal{What: Quarantined, Key: key, Reason: deck.ReasonRequest, Objects: 1})
	}
	return removals, nil
}

// Quarantined is evidence that the gate kept out of the deck.
const Quarantined = "quarantined"

func runIDs(ctx context.Context, d *deck.Deck, l deck.Location) (ids []string, err error) {
	refs, err := runs.Current(ctx, d, l)
	for _, ref := range refs {
		ids = append(ids, ref.RunID())
	}
	return ids, err
}

// joinedWith returns the joined runs that a trace is a part of.
func joinedWith(ctx context.Context, d *deck.Deck, tenant, traceID string) (found []deck.Location, err error) {
	for l, err := range d.Locations(ctx, deck.AreaJoined) {
		if err != nil {
			return nil, err
		}
		if !l.Of(tenant) || l.TraceID == traceID { // that one is found by its trace
			continue
		}
		with := false
		_, err := d.ReadCurrent(ctx, l, func(current deck.GenerationState) error {
			tapes, err := runs.Tapes(ctx, d, l, current)
			for _, t := range tapes {
				with = with || slices.Contains(t.Sources.TraceIDs, traceID)
			}
			return err
		})
		if err != nil && !errors.Is(err, deck.ErrNotFound) {
			return nil, fmt.Errorf("%s, of which the trace may be a part: %w", l, err)
		}
		if with {
			found = append(found, l)
		}
	}
	return found, nil
}

// quarantinedOf returns the keys of what was kept out of the deck of a trace.
func quarantinedOf(ctx context.Context, d *deck.Deck, tenant, traceID string) (keys []string, err error) {
	for o, err := range d.Store().List(ctx, deck.QuarantineArea+"/") {
		if err != nil {
			return nil, err
		}
		if l, _, err := deck.ParseLocation(strings.TrimPrefix(o.Key, deck.QuarantineArea+"/")); err == nil && l.TraceID == traceID && l.Of(tenant) {
			keys = append(keys, o.Key)
		}
	}
	return keys, nil
}
