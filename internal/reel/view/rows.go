// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/reel"
	"github.com/tapedeck/tapedeck/internal/runs"
	"github.com/tapedeck/tapedeck/tape"
)

// Run is a run of a deck: what a reel says of it in its narrow columns, and its address.
type Run struct {
	reel.Meta
	Ref deck.Ref
}

// rowReaders is how many traces are read at a time.
const rowReaders = 16

// Runs walks the runs of a deck of either layout, in the order of areas, then of keys. want chooses among the traces; nil is all. In a deck of reels it reads narrow
// columns; tapes are read of traces that lie in files, and of those of which no row has all evidence. An error that it yields is about one trace, or ends it.
func Runs(ctx context.Context, d *deck.Deck, want func(deck.Location) bool) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		type found struct {
			location deck.Location
			runs     []Run
			err      error
		}
		var batch []found
		files, err := fileLocations(ctx, d)
		if err != nil {
			yield(Run{}, err)
			return
		}
		flush := func() bool {
			var reading sync.WaitGroup
			for i := range batch {
				reading.Go(func() { batch[i].runs, batch[i].err = runsOf(ctx, d, files, batch[i].location) })
			}
			reading.Wait()
			for _, f := range batch {
				if f.err != nil && !yield(Run{}, fmt.Errorf("%s: %w", f.location, f.err)) {
					return false
				}
				for _, r := range f.runs {
					if !yield(r, nil) {
						return false
					}
				}
			}
			batch = batch[:0]
			return ctx.Err() == nil
		}
		for location, err := range d.Locations(ctx) {
			if err != nil {
				yield(Run{}, err)
				return
			}
			if want != nil && !want(location) {
				continue
			}
			if batch = append(batch, found{location: location}); len(batch) == rowReaders && !flush() {
				return
			}
		}
		flush()
	}
}

// fileLocations are the locations of what lies as files in a deck of reels; nil for a deck of files.
func fileLocations(ctx context.Context, d *deck.Deck) (map[string]bool, error) {
	v, ok := d.Store().(*View)
	if !ok {
		return nil, nil
	}
	locations := map[string]bool{}
	for _, area := range deck.Areas() {
		for l, err := range v.locateFiles(ctx, area, "") {
			if err != nil {
				return nil, err
			}
			locations[l.Prefix()] = true
		}
	}
	return locations, nil
}

// runsOf returns the runs of a trace: from rows if nothing of it lies as a file, else from tapes.
func runsOf(ctx context.Context, d *deck.Deck, files map[string]bool, l deck.Location) (found []Run, err error) {
	if v, ok := d.Store().(*View); ok && !files[l.Prefix()] {
		t, err := v.trace(ctx, l)
		if err != nil {
			return nil, err
		}
		if t != nil && t.Current != nil {
			for _, e := range t.Current.Runs {
				m := e.Meta
				m.Area = string(l.Area)
				found = append(found, Run{m, d.Ref(l, t.Current.Generation, e.RootSpanID, deck.TapeFile)})
			}
			return found, nil
		}
	}
	refs, err := runs.Current(ctx, d, l)
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		err := runs.Read(ctx, d, ref, func(at deck.Ref) error {
			body, err := d.Store().Get(ctx, at.Key)
			if err != nil {
				return err
			}
			t, err := tape.Read(body)
			if err != nil {
				return err
			}
			var m reel.Meta
			m.Describe(t)
			m.Area, m.TapeBytes, m.Revision, m.Items = string(l.Area), int64(len(body)), int64(at.Generation.Revision), int64(at.Generation.Items)
			found = append(found, Run{m, at})
			return nil
		})
		if errors.Is(err, deck.ErrNotFound) {
			continue // taken away since it was listed
		}
		if err != nil {
			return found, err
		}
	}
	return found, nil
}
