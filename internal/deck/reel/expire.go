// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// expiryColumns are those by which the age of a row is told.
var expiryColumns = []string{"tenant", "trace_id", "replay_run_id", "started_at", "ended_at", "area"}

// Expiry is what of a reel has come of age.
type Expiry struct {
	Object
	Traces []TraceKey // in order, tenants as they stand in keys
	All    bool       // of the reel
}

// Aged is a row as far as its age goes, and the reel that it lies in.
type Aged struct {
	Object
	*Meta
}

// Expired returns the reels of which something may go: traces of which expired says so, given all their rows in all reels. want chooses among the reels by their tenants.
func (c *Catalog) Expired(ctx context.Context, want func(Name) bool, expired func(rows []Aged) bool) ([]Expiry, error) {
	objects, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	objects = slices.DeleteFunc(slices.Clone(objects), func(o Object) bool { return !want(o.Name) })
	files, err := c.open(ctx, objects)
	if err != nil {
		return nil, err
	}
	of := map[*File]*Expiry{}
	for i, f := range files {
		of[f] = &Expiry{Object: objects[i], All: true}
	}
	for entries, err := range c.walkColumns(ctx, want, expiryColumns) {
		if err != nil {
			return nil, err
		}
		rows := make([]Aged, len(entries))
		for i, e := range entries {
			in := of[e.file]
			if in == nil {
				return nil, errors.New("the reels of the deck have changed meanwhile; call it again")
			}
			rows[i] = Aged{in.Object, &e.Meta}
		}
		goes, k := expired(rows), TraceKey{deck.SafeName(entries[0].Tenant), entries[0].TraceID}
		for _, e := range entries {
			in := of[e.file]
			if !goes {
				in.All = false
			} else if n := len(in.Traces); n == 0 || in.Traces[n-1] != k {
				in.Traces = append(in.Traces, k)
			}
		}
	}
	var found []Expiry
	for _, e := range slices.SortedFunc(maps.Values(of), func(a, b *Expiry) int { return cmp.Compare(a.Key(), b.Key()) }) {
		if len(e.Traces) > 0 {
			found = append(found, *e)
		}
	}
	return found, nil
}

// Remove takes traces out of a reel: it is written again without them, and then deleted. done is false where the reel is gone: its rows lie in another one now.
func (c *Catalog) Remove(ctx context.Context, e Expiry) (done bool, err error) {
	defer c.Stale()
	if e.All {
		return true, c.delete(ctx, e.Object)
	}
	tombs, err := LoadTombs(ctx, c.store)
	if err != nil {
		return false, err
	}
	goes := map[TraceKey]bool{}
	for _, k := range e.Traces {
		goes[k] = true
	}
	made, changed, err := c.rewrite(ctx, e.Object, tombs, func(k TraceKey) bool { return goes[TraceKey{deck.SafeName(k.Tenant), k.TraceID}] }, func(*Row) bool { return false })
	if errors.Is(err, deck.ErrNotFound) {
		return false, nil
	}
	if err == nil && changed {
		err = c.delete(ctx, e.Object)
	}
	if err == nil && made != nil {
		err = c.Settle(ctx, tombs, []Object{*made})
	}
	return err == nil, err
}
