// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"context"
	"maps"
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// expiryColumns are those by which the age of a row is told.
var expiryColumns = []string{"tenant", "trace_id", "started_at", "ended_at", "area"}

// Expired returns the reels that may go as a whole, with the traces in each: every row of them is expired, and no reel that stays has a row of a trace in them. may chooses among the
// reels, expired among the rows, of which the narrow columns that tell an age are known.
func (c *Catalog) Expired(ctx context.Context, may func(Object) bool, expired func(Object, *Meta) bool) (map[Object][]TraceKey, error) {
	objects, err := c.List(ctx)
	if err != nil {
		return nil, err
	}
	going := map[Object][]TraceKey{}
	for _, o := range objects {
		if !may(o) {
			continue
		}
		traces, all, err := c.allExpired(ctx, o, expired)
		if err != nil {
			return nil, err
		}
		if all {
			going[o] = traces
		}
	}
	for again := len(going) > 0; again; {
		again = false
		for _, o := range slices.SortedFunc(maps.Keys(going), func(a, b Object) int { return compareKeys(a, b) }) {
			shared, err := c.shared(ctx, going[o], slices.DeleteFunc(slices.Clone(objects), func(x Object) bool {
				_, goes := going[x]
				return goes || x.Tenant != o.Tenant
			}))
			if err != nil {
				return nil, err
			}
			if shared {
				delete(going, o)
				again = true // what stays now may hold traces of others
			}
		}
	}
	return going, nil
}

func compareKeys(a, b Object) int {
	if a.Key() < b.Key() {
		return -1
	}
	return 1
}

// allExpired tells whether all rows of a reel are expired, and of which traces they are.
func (c *Catalog) allExpired(ctx context.Context, o Object, expired func(Object, *Meta) bool) (traces []TraceKey, all bool, err error) {
	f, err := c.openOne(ctx, o)
	if err != nil {
		return nil, false, err
	}
	for _, s := range f.all() {
		rows, err := f.metas(ctx, s, expiryColumns)
		if err != nil {
			return nil, false, err
		}
		for i := range rows {
			if !expired(o, &rows[i]) {
				return nil, false, nil
			}
			if k := (TraceKey{deck.SafeName(rows[i].Tenant), rows[i].TraceID}); len(traces) == 0 || traces[len(traces)-1] != k {
				traces = append(traces, k)
			}
		}
	}
	return traces, len(traces) > 0, nil
}

// shared tells whether other reels have a row of one of these traces, which are in order.
func (c *Catalog) shared(ctx context.Context, traces []TraceKey, others []Object) (bool, error) {
	for _, o := range others {
		f, err := c.openOne(ctx, o)
		if err != nil {
			return false, err
		}
		s := &scout{file: f, object: o, spans: f.all()}
		for _, k := range traces {
			rows, err := s.take(ctx, k.TraceID)
			if err != nil || len(rows) > 0 {
				return len(rows) > 0, err
			}
		}
	}
	return false, nil
}
