// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/catalog"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/replay"
)

// deckTail is a deck that is looked at again and again.
type deckTail struct {
	deck    *deck.Deck
	catalog catalog.Catalog
	filter  *runFilter
	show    func(*catalog.Run) error
	end     func()
	stderr  io.Writer
	every   time.Duration
	lines   int // of the runs that are there at first
	wait    func(context.Context, time.Duration) bool

	seen map[tapeKey]bool
	said map[string]bool // what was complained about
}

// tapeKey stands for the key of a tape, of which a deck may have millions.
type tapeKey [16]byte

func keyOf(r *view.Run) (k tapeKey) {
	sum := sha256.Sum256([]byte(r.Ref.Key))
	copy(k[:], sum[:])
	return k
}

func (f *tailFlags) watch(ctx context.Context, address string, p *runPrinter, stderr io.Writer) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	if f.keep != "" {
		return errors.New("--to keeps what --listen receives; to watch a deck: tapedeck tail " + f.keep)
	}
	d, err := replay.OpenDeck(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	w := &deckTail{deck: d, catalog: catalog.Catalog{Deck: d, Tenant: f.filter.Tenant}, filter: &f.filter, show: p.show, end: func() { p.end(stderr) }, stderr: stderr, every: f.every, lines: f.lines, wait: waiting}
	return w.run(ctx)
}

// lastPause is the longest pause after failures. It doubles with every further one.
const lastPause = 30 * time.Second

// run shows runs until the context ends, which is no error.
func (w *deckTail) run(ctx context.Context) error {
	w.seen, w.said = map[tapeKey]bool{}, map[string]bool{}
	for pause, first := w.every, true; ; {
		err := w.pass(ctx, first)
		switch {
		case ctx.Err() != nil:
			w.end()
			return nil
		case err != nil && (first || !isStoreError(err)):
			return err // a deck that cannot be read at all, or a stdout that is gone
		case err != nil:
			w.complain(err)
			pause = min(2*pause, lastPause)
		default:
			pause, first = w.every, false
		}
		w.wait(ctx, pause)
	}
}

// complain says an error once.
func (w *deckTail) complain(err error) {
	if text := err.Error(); !w.said[text] {
		w.said[text] = true
		complain(w.stderr, err)
	}
}

// pass shows what is new. Of what is there at first, it shows the last runs.
func (w *deckTail) pass(ctx context.Context, first bool) error {
	if err := w.filter.Check(w.filter.now()); err != nil {
		return err
	}
	var fresh []view.Run
	for r, err := range view.Select(ctx, w.deck, w.filter.Query(view.Query{Columns: []string{"run_id", "started_at", "ended_at", "tenant"}})) {
		if err != nil {
			if isStoreError(err) && !errors.Is(err, deck.ErrCorrupt) || ctx.Err() != nil {
				return err
			}
			w.complain(err)
			continue
		}
		if key := keyOf(&r); !w.seen[key] {
			w.seen[key] = true
			fresh = append(fresh, r)
		}
	}
	slices.SortFunc(fresh, func(a, b view.Run) int {
		return cmp.Or(cmp.Compare(a.EndedAt, b.EndedAt), cmp.Compare(a.StartedAt, b.StartedAt), strings.Compare(a.Ref.Key, b.Ref.Key))
	})
	if first {
		fresh = fresh[max(0, len(fresh)-w.lines):]
	}
	for i, r := range fresh {
		o, err := w.catalog.Read(ctx, r.Ref)
		switch {
		case errors.Is(err, deck.ErrNotFound): // erased meanwhile
			continue
		case err != nil && isStoreError(err) && !errors.Is(err, deck.ErrCorrupt):
			for j := range fresh[i:] { // they come with the next pass
				delete(w.seen, keyOf(&fresh[i+j]))
			}
			return err
		case err != nil:
			w.complain(err)
			continue
		}
		if err := w.show(o); err != nil {
			return err
		}
	}
	return nil
}
