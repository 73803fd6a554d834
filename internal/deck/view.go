// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
)

// Layout is how a deck keeps traces. It stands in the marker, so that every program finds it out from the deck itself.
type Layout string

// The layouts. A new deck of files has LayoutFiles: everything that a writer has to know of a trace begins with the key of its location, so that one listing
// shows it. In LayoutFiles1, the first one, tombstones lie in an area of their own.
const (
	LayoutFiles  Layout = "2"       // every part and every tape is an object
	LayoutFiles1 Layout = "1"       // the same, of an older deck
	LayoutReels  Layout = "reels-1" // an object holds the parts and tapes of many traces
)

// name is how people call a layout.
func (l Layout) name() string {
	switch l {
	case LayoutFiles, LayoutFiles1:
		return "files"
	case LayoutReels:
		return "reels"
	}
	return "layout " + shorten(string(l))
}

// ViewFunc shows a store of another layout as one of files: what every reader of a deck knows. The view closes the store.
type ViewFunc func(ctx context.Context, store Store, name string) (Store, error)

// Locator is a Store that knows the traces below it better than a listing of folders tells.
type Locator interface {
	// Locate walks the locations of an area whose trace id begins with prefix, in the order of keys.
	Locate(ctx context.Context, area Area, prefix string) iter.Seq2[Location, error]
	// Named returns the locations of the traces that may have a run with this invocation, task, correlation or conversation id.
	Named(ctx context.Context, id string) ([]Location, error)
	// Dropped tells whether the runs of a location are known, and their content was not kept.
	Dropped(ctx context.Context, l Location) (bool, error)
}

var (
	viewsMu sync.RWMutex
	views   = map[Layout]ViewFunc{}
)

// RegisterView adds the view of a layout; the package that has it calls it from init.
func RegisterView(l Layout, view ViewFunc) {
	viewsMu.Lock()
	defer viewsMu.Unlock()
	views[l] = view
}

func (d *Deck) show(ctx context.Context) error {
	if d.want != LayoutReels {
		return nil
	}
	viewsMu.RLock()
	view := views[d.want]
	viewsMu.RUnlock()
	if view == nil {
		return d.layoutError("layout " + shorten(string(d.want)) + " is not known to this program")
	}
	s, err := view(ctx, d.store, d.URL())
	if err == nil {
		d.store = s
	}
	return err
}

// Layout is that of the deck; of one without a marker, the one that its first writer would choose.
func (d *Deck) Layout() Layout {
	if layout := d.layout.Load(); layout != nil {
		return *layout
	}
	return d.want
}

// Marked tells whether the deck has its marker, as far as is known.
func (d *Deck) Marked() bool { return d.layout.Load() != nil }

// Begin makes sure that the deck has its marker, and that the storage keeps create-only writes. Writers that do not write by the methods of Deck call it first.
func (d *Deck) Begin(ctx context.Context) error { return d.mark(ctx) }

// OpenLayout is Open for a writer that wants a layout: an empty deck gets it, and a deck of another one is ErrLayout, and so is what holds other things and no deck. An empty layout is
// that of the deck, and of an empty deck LayoutFiles.
func OpenLayout(ctx context.Context, rawURL string, want Layout) (*Deck, error) {
	store, err := OpenStore(ctx, rawURL)
	if err != nil {
		return nil, err
	}
	d, err := newDeck(ctx, store, rawURL, want)
	if err == nil {
		err = d.mayBegin(ctx, store)
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return d, nil
}

// mayBegin refuses to make a deck of what holds something else, or a deck of the other layout that has lost its marker.
func (d *Deck) mayBegin(ctx context.Context, store Store) error {
	if d.Marked() {
		return nil
	}
	deckFolders, reels, foreign := 0, false, ""
	for folder, err := range store.ListFolders(ctx, "") {
		if err != nil {
			return err
		}
		switch area := strings.TrimSuffix(folder, "/"); {
		case area == reelArea:
			reels = true
		case area == TombstoneArea || area == HoldArea || area == QuarantineArea || slices.Contains(Areas(), Area(area)):
			deckFolders++
		case foreign == "":
			foreign = folder
		}
	}
	switch {
	case reels && d.want != LayoutReels:
		return d.layoutError("it has no marker, and holds a deck of reels")
	case deckFolders > 0 && !reels && d.want == LayoutReels:
		return d.layoutError("it has no marker, and holds a deck of files")
	case reels || deckFolders > 0:
		return nil
	case foreign == "":
		for o, err := range store.List(ctx, "") {
			if err != nil {
				return err
			}
			if IsMarker(o.Key) {
				return nil // another writer has just made it
			}
			foreign = o.Key
			break
		}
	}
	if foreign != "" {
		return d.layoutError("it is no deck, and holds other things, such as " + shorten(foreign) + ": a new deck needs an empty place")
	}
	return nil
}

// reelArea is the folder of reels.
const reelArea = "reels"

// OpenFiles opens the store that holds the files of a deck, or of any folder: what OpenStore opens, or the view of a deck of another layout.
func OpenFiles(ctx context.Context, rawURL string) (Store, error) {
	store, err := OpenStore(ctx, rawURL)
	if err != nil {
		return nil, err
	}
	d, err := New(ctx, store, rawURL)
	if errors.Is(err, ErrLayout) || err == nil && d.want != LayoutReels {
		return store, nil // a file is a file, whatever lies beside it
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return d.store, nil
}
