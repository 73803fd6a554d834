// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package view shows a deck of reels as a deck of files: the parts and tapes of its traces as the objects that they would be. So whatever reads a deck reads both
// layouts, and what is written by way of the view lies beside the reels as files. Importing the package adds the layout.
package view

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
)

func init() { deck.RegisterView(deck.LayoutReels, Open) }

// View is a deck of reels as a store of files.
type View struct {
	deck.Store // that holds the reels
	catalog    *reel.Catalog

	mu     sync.Mutex
	seen   map[reel.TraceKey]*shown // traces that were looked at lately
	order  []reel.TraceKey          // of seen, the oldest first
	tombs  *reel.Tombs
	at     time.Time                  // of tombs; zero: never
	erased map[reel.TraceKey]*erasure // tenants as they stand in keys
	beside map[string]*beside
}

// fresh is how long tombstones and traces that were read are taken for true.
const fresh = time.Second

// Open returns the view of a store; name is the address of the deck. The view closes the store.
func Open(_ context.Context, store deck.Store, name string) (deck.Store, error) {
	if v, ok := store.(*View); ok {
		return v, nil
	}
	return &View{Store: store, catalog: reel.NewCatalog(store, cacheOf(name)), seen: map[reel.TraceKey]*shown{}, erased: map[reel.TraceKey]*erasure{}, beside: map[string]*beside{}}, nil
}

// Catalog returns the reels of a deck; nil for a deck of files.
func Catalog(d *deck.Deck) *reel.Catalog {
	if v, ok := d.Store().(*View); ok {
		return v.catalog
	}
	return nil
}

// Raw returns the store that holds the objects of a deck: its own, or that below the view.
func Raw(d *deck.Deck) deck.Store {
	if v, ok := d.Store().(*View); ok {
		return v.Store
	}
	return d.Store()
}

// inReel reads a key that a reel may stand for.
func inReel(key string) (location deck.Location, rest string, ok bool) {
	location, rest, err := deck.ParseLocation(key)
	return location, rest, err == nil && location.Area != deck.AreaJoined
}

// stale makes the next reader look again.
func (v *View) stale() {
	v.catalog.Stale()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.at = time.Time{}
	clear(v.beside)
	clear(v.seen)
	v.order = nil
}

// Get is that of deck.Store.
func (v *View) Get(ctx context.Context, key string) ([]byte, error) {
	if err := deck.CheckGet(ctx, "get", "reel", key); err != nil {
		return nil, err
	}
	const attempts = 3 // a compaction may take a reel away that was just found
	for i := 1; ; i++ {
		f, ok, err := v.find(ctx, key)
		if err == nil && !ok {
			return v.Store.Get(ctx, key)
		}
		var body []byte
		if err == nil {
			body, err = f.read(ctx)
		}
		if err == nil || i == attempts || !errors.Is(err, deck.ErrNotFound) {
			return body, err
		}
		v.stale()
	}
}

// GetRange is that of deck.RangeReader.
func (v *View) GetRange(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	if strings.HasPrefix(key, reel.Area+"/") {
		return deck.GetRange(ctx, v.Store, key, offset, length)
	}
	return deck.GetRange(ctx, struct{ deck.Store }{v}, key, offset, length)
}

// PutNew is that of deck.Store. What a reel stands for is there already.
func (v *View) PutNew(ctx context.Context, key string, body []byte, contentType string) (bool, error) {
	if _, there, err := v.find(ctx, key); there || err != nil {
		return false, err
	}
	created, err := v.Store.PutNew(ctx, key, body, contentType)
	if v.changed(key); err == nil {
		v.buried(key)
	}
	return created, err
}

// changed makes readers look again at what a write has changed: whoever writes before it looks sees what others have written before.
func (v *View) changed(key string) {
	area, _, _ := strings.Cut(key, "/")
	if area == reel.Area || area == deck.TombstoneArea {
		v.stale()
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	clear(v.beside)
}

// Abandoned is that of deck.Leaver, as ReadAbandoned and RemoveAbandoned are.
func (v *View) Abandoned(ctx context.Context, prefix string) iter.Seq2[deck.Object, error] {
	return deck.Abandoned(ctx, v.Store, prefix)
}

// ReadAbandoned reads what Abandoned yields.
func (v *View) ReadAbandoned(ctx context.Context, key string) ([]byte, error) {
	return v.Store.(deck.Leaver).ReadAbandoned(ctx, key)
}

// RemoveAbandoned removes what Abandoned yields.
func (v *View) RemoveAbandoned(ctx context.Context, key string) error {
	return v.Store.(deck.Leaver).RemoveAbandoned(ctx, key)
}
