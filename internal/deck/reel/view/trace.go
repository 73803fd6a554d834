// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
)

// keepSeen is how many traces are kept.
const keepSeen = 256

// shown is a trace as the view shows it.
type shown struct {
	*reel.Trace
	Buried  bool // all of it
	at      time.Time
	derive  sync.Once
	derived *generation.Derived
	err     error
}

// tombstones returns the tombstones of the deck.
func (v *View) tombstones(ctx context.Context) (*reel.Tombs, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.at.IsZero() && time.Since(v.at) < fresh {
		return v.tombs, nil
	}
	at := time.Now()
	tombs, err := reel.LoadTombs(ctx, v.Store)
	if err != nil {
		return nil, err
	}
	v.tombs, v.at = tombs, at
	return tombs, nil
}

// trace returns the trace of a location, or nil if the reels have none.
func (v *View) trace(ctx context.Context, l deck.Location) (*shown, error) {
	key := reel.TraceKey{Tenant: l.TenantKey(), TraceID: l.TraceID}
	v.mu.Lock()
	t := v.seen[key]
	v.mu.Unlock()
	if t == nil || time.Since(t.at) >= fresh {
		entries, err := v.catalog.Trace(ctx, key.Tenant, l.TraceID)
		if err != nil {
			return nil, err
		}
		if t, err = v.unite(ctx, entries); err != nil {
			return nil, err
		}
		v.keep(key, t)
	}
	if len(t.Entries) == 0 || t.Location.Prefix() != l.Prefix() {
		return nil, nil
	}
	return t, nil
}

func (v *View) keep(key reel.TraceKey, t *shown) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.seen[key] == nil {
		v.order = append(v.order, key)
	}
	v.seen[key] = t
	for len(v.order) > keepSeen {
		delete(v.seen, v.order[0])
		v.order = v.order[1:]
	}
}

// unite makes one of the rows of a trace, without those that tombstones take away. Where the trace was moved by a tombstone, it lies where that says. A trace of which
// nothing is left lies where it is buried: what is buried is not shown, and can be taken away.
func (v *View) unite(ctx context.Context, entries []*reel.Entry) (*shown, error) {
	tombs, err := v.tombstones(ctx)
	if err != nil {
		return nil, err
	}
	left, err := tombs.Left(ctx, entries)
	if err != nil {
		return nil, err
	}
	buried := len(left.Rows) == 0 && left.Buried != (deck.Location{})
	if buried {
		left.Rows = entries
	}
	t := &shown{Trace: reel.Unite(left.Rows), Buried: buried, at: time.Now()}
	switch {
	case buried:
		t.Location = left.Buried
	case left.MovedTo != (deck.Location{}) && len(t.Entries) > 0 && t.Location.Area != deck.AreaReplays:
		t.Location = left.MovedTo
	}
	return t, nil
}

// traces walks the traces of an area, in the order of keys.
func (v *View) traces(ctx context.Context, area deck.Area) iter.Seq2[*shown, error] {
	return func(yield func(*shown, error) bool) {
		var sorted []*shown // of replays: their order is not that of the walk
		for entries, err := range v.catalog.Walk(ctx, nil) {
			var t *shown
			if err == nil {
				t, err = v.unite(ctx, entries)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if t.Location.Area != area {
				continue
			}
			if area == deck.AreaReplays {
				sorted = append(sorted, t)
			} else if !yield(t, nil) {
				return
			}
		}
		slices.SortFunc(sorted, func(a, b *shown) int { return strings.Compare(a.Location.Prefix(), b.Location.Prefix()) })
		for _, t := range sorted {
			if !yield(t, nil) {
				return
			}
		}
	}
}
