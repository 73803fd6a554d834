// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"context"
	"iter"
	"slices"
)

// Listed is a location as one listing of its area shows it.
type Listed struct {
	Location Location
	// Current is its current generation, and Tapes are the tapes of that, in the order of its runs.
	Current GenerationState
	Tapes   []Object
	// Again says that the listing shows no complete generation of a location where something lies: a writer may have replaced one meanwhile, and Deck.Current has to look.
	Again bool
}

// Listing walks the locations of an area with their current tapes, in the order of keys: by one listing of the area, where [Deck.Locations] and [Deck.Current] take some for each location. It
// returns false where the layout does not tell this way.
func (d *Deck) Listing(ctx context.Context, area Area) (iter.Seq2[Listed, error], bool, error) {
	layout, err := d.keys(ctx)
	if _, view := d.store.(Locator); err != nil || view || layout != LayoutFiles {
		return nil, false, err
	}
	return func(yield func(Listed, error) bool) {
		var at Location
		var tombs Tombstones
		var objects []Object
		// done yields what has come of a location; false ends the walk.
		done := func() bool {
			if at == (Location{}) || tombs.Trace() || len(objects) == 0 {
				return true
			}
			state, err := d.scan(at, layout, func(yield func(Object, error) bool) {
				for _, o := range objects {
					if !yield(o, nil) {
						return
					}
				}
			}, tombs)
			if err != nil {
				return yield(Listed{Location: at}, err)
			}
			l := Listed{Location: at}
			var ok bool
			if l.Current, ok = state.Current(); !ok {
				l.Again = true
				return yield(l, nil)
			}
			for _, r := range l.Current.Runs {
				key := at.fileKey(layout, l.Current.Generation, r.Root, TapeFile)
				if i := slices.IndexFunc(objects, func(o Object) bool { return o.Key == key }); i >= 0 {
					l.Tapes = append(l.Tapes, objects[i])
				}
			}
			return yield(l, nil)
		}
		for o, err := range d.store.List(ctx, string(area)+"/") {
			if err != nil {
				yield(Listed{}, err)
				return
			}
			l, _, err := ParseLocation(WithoutNote(o.Key))
			if err != nil {
				continue // a foreign object, or a record about replays
			}
			if l != at {
				if !done() {
					return
				}
				at, tombs, objects = l, Tombstones{location: l, layout: layout}, objects[:0]
			}
			if !tombs.add(o.Key) {
				objects = append(objects, o)
			}
		}
		done()
	}, true, nil
}
