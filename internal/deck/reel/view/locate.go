// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
)

// Locate is that of deck.Locator.
func (v *View) Locate(ctx context.Context, area deck.Area, prefix string) iter.Seq2[deck.Location, error] {
	return merge(v.locateFiles(ctx, area, prefix), v.locateReels(ctx, area, prefix), func(l deck.Location) string { return l.Prefix() + "/" })
}

func (v *View) locateReels(ctx context.Context, area deck.Area, prefix string) iter.Seq2[deck.Location, error] {
	return func(yield func(deck.Location, error) bool) {
		if area == deck.AreaJoined {
			return
		}
		if prefix == "" {
			for t, err := range v.traces(ctx, area) {
				if err != nil {
					yield(deck.Location{}, err)
					return
				}
				if t.Trace.Dropped {
					continue // nothing to read lies there
				}
				v.keep(reel.TraceKey{Tenant: deck.SafeName(t.Entries[0].Tenant), TraceID: t.Location.TraceID}, t)
				if !yield(t.Location, nil) {
					return
				}
			}
			return
		}
		found, err := v.catalog.Find(ctx, "trace_id", prefix, len(prefix) < 32)
		if err != nil {
			yield(deck.Location{}, err)
			return
		}
		locations, err := v.locations(ctx, found)
		if err != nil {
			yield(deck.Location{}, err)
			return
		}
		for _, l := range locations {
			if l.Area == area && !yield(l, nil) {
				return
			}
		}
	}
}

// Dropped is that of deck.Locator.
func (v *View) Dropped(ctx context.Context, l deck.Location) (bool, error) {
	t, err := v.trace(ctx, l)
	return t != nil && t.Trace.Dropped, err
}

// locations returns where traces lie, in the order of keys.
func (v *View) locations(ctx context.Context, keys []reel.TraceKey) (locations []deck.Location, err error) {
	for _, k := range keys {
		entries, err := v.catalog.Trace(ctx, deck.SafeName(k.Tenant), k.TraceID)
		if err != nil {
			return nil, err
		}
		t, err := v.unite(ctx, entries)
		if err != nil {
			return nil, err
		}
		if len(t.Entries) > 0 {
			locations = append(locations, t.Location)
		}
	}
	slices.SortFunc(locations, func(a, b deck.Location) int { return strings.Compare(a.Prefix()+"/", b.Prefix()+"/") })
	return slices.Compact(locations), nil
}

// locateFiles walks the locations of what lies beside the reels as files.
func (v *View) locateFiles(ctx context.Context, area deck.Area, prefix string) iter.Seq2[deck.Location, error] {
	return func(yield func(deck.Location, error) bool) {
		last := ""
		for o, err := range v.Store.List(ctx, string(area)+"/") {
			if err != nil {
				yield(deck.Location{}, err)
				return
			}
			l, _, err := deck.ParseLocation(o.Key)
			if err != nil || l.Prefix() == last || !strings.HasPrefix(l.TraceID, prefix) {
				continue
			}
			if last = l.Prefix(); !yield(l, nil) {
				return
			}
		}
	}
}

// Named is that of deck.Locator. Of what lies beside the reels as files nothing is known.
func (v *View) Named(ctx context.Context, id string) ([]deck.Location, error) {
	var found []reel.TraceKey
	for _, column := range []string{"invocation_id", "task_id", "correlation_id", "conversation_id"} {
		keys, err := v.catalog.Find(ctx, column, id, false)
		if err != nil {
			return nil, err
		}
		found = append(found, keys...)
	}
	locations, err := v.locations(ctx, found)
	if err != nil {
		return nil, err
	}
	for _, area := range deck.Areas() {
		for l, err := range v.locateFiles(ctx, area, "") {
			if err != nil {
				return nil, err
			}
			if !slices.Contains(locations, l) {
				locations = append(locations, l)
			}
		}
	}
	return locations, nil
}
