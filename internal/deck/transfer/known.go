// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"iter"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
)

// held is what a deck of reels has of a trace.
type held struct {
	here  deck.LocationState // where the other deck has the trace
	parts []string           // wherever it lies
}

// known walks the rows of a deck of reels beside a walk over the traces of another deck, which comes by in the same order: a look-up of each trace would read far more.
type known struct {
	catalog *reel.Catalog
	area    deck.Area
	tenant  string
	next    func() ([]*reel.Entry, error, bool)
	stop    func()
	last    []*reel.Entry // the first trace that was not asked for yet
	ended   bool
}

func (k *known) close() {
	if k.stop != nil {
		k.stop()
	}
}

// entries returns the rows of a trace. Traces of one area and tenant have to be asked for in their order.
func (k *known) entries(ctx context.Context, l deck.Location) ([]*reel.Entry, error) {
	if k.stop == nil || k.area != l.Area || k.tenant != l.TenantKey() {
		k.close()
		k.area, k.tenant, k.last, k.ended = l.Area, l.TenantKey(), nil, false
		k.next, k.stop = iter.Pull2(k.catalog.Walk(ctx, func(n reel.Name) bool { return n.Tenant == k.tenant }))
	}
	for !k.ended && (k.last == nil || k.last[0].TraceID < l.TraceID) {
		entries, err, more := k.next()
		if err != nil {
			return nil, err
		}
		k.last, k.ended = entries, !more
	}
	if k.ended || k.last[0].TraceID != l.TraceID {
		return nil, nil
	}
	return k.last, nil
}

// has tells what the other deck has of a trace, as the walk over it has come to it; nil where only a look-up can tell. What this transfer has written itself it need not know: rows that
// are there twice are one.
func (c *carrier) has(ctx context.Context, l deck.Location) (*held, error) {
	key := reel.TraceKey{Tenant: l.TenantKey(), TraceID: l.TraceID}
	switch {
	case c.reels == nil || c.buried[key] || c.beside[l.Prefix()]:
		return nil, nil
	case !c.begun:
		return &held{}, nil
	case l.Area == deck.AreaReplays: // in the order of replays
		return nil, nil
	}
	entries, err := c.known.entries(ctx, l)
	if err != nil {
		return nil, err
	}
	h := &held{}
	t := reel.Unite(entries)
	h.parts = t.Parts
	if len(entries) == 0 || t.Location.Prefix() != l.Prefix() {
		return h, nil
	}
	if h.here.Parts = t.Parts; t.Current != nil && len(t.Current.Runs) > 0 {
		h.here.Generations = []deck.GenerationState{{Generation: t.Current.Generation, Complete: true}}
	}
	return h, nil
}

// look looks a trace up.
func (c *carrier) look(ctx context.Context, l deck.Location) (*held, error) {
	state, err := c.to.State(ctx, l)
	if err != nil {
		return nil, err
	}
	entries, err := view.Catalog(c.to).Trace(ctx, l.TenantKey(), l.TraceID) // the trace may have another place in the deck
	if err != nil {
		return nil, err
	}
	return &held{here: state, parts: append(reel.Unite(entries).Parts, state.Parts...)}, nil
}
