// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// Tombs are the tombstones of a deck. They are few, and listed together. They are safe for concurrent use.
type Tombs struct {
	store deck.Store
	of    map[TraceKey][]tomb // tenants as they stand in keys

	mu     sync.Mutex
	bodies map[string]deck.Location // where a tombstone of a whole trace leads; the zero value: nowhere
}

type tomb struct {
	location deck.Location
	name     string // without suffix: "trace", a generation, or "part-" and a digest
}

const (
	tombSuffix = ".json"
	tombTrace  = "trace"
	tombPart   = "part-"
)

// LoadTombs lists the tombstones of the deck in a store.
func LoadTombs(ctx context.Context, store deck.Store) (*Tombs, error) {
	t := &Tombs{store: store, of: map[TraceKey][]tomb{}, bodies: map[string]deck.Location{}}
	for o, err := range store.List(ctx, deck.TombstoneArea+"/") {
		if err != nil {
			return nil, err
		}
		name, ok := strings.CutSuffix(strings.TrimPrefix(o.Key, deck.TombstoneArea+"/"), tombSuffix)
		l, rest, err := deck.ParseLocation(name)
		if !ok || err != nil || rest == "" || strings.Contains(rest, "/") {
			continue
		}
		k := TraceKey{l.TenantKey(), l.TraceID}
		t.of[k] = append(t.of[k], tomb{l, rest})
	}
	return t, nil
}

// Traces are the traces of which something is buried, in order.
func (t *Tombs) Traces() []TraceKey { return slices.SortedFunc(maps.Keys(t.of), TraceKey.compare) }

// Since returns the traces of which something was buried since others were loaded.
func (t *Tombs) Since(before *Tombs) (fresh map[TraceKey]bool) {
	fresh = map[TraceKey]bool{}
	for k, tombs := range t.of {
		if len(tombs) != len(before.of[k]) {
			fresh[k] = true
		}
	}
	return fresh
}

// rank says which area of a trace stands for the others, too: where a trace is a replay, its pieces elsewhere are pieces of the replay.
func rank(a deck.Area) int {
	switch a {
	case deck.AreaReplays:
		return 2
	case deck.AreaRuns:
		return 1
	}
	return 0
}

// Remains is what tombstones leave of the rows of a trace.
type Remains struct {
	Rows    []*Entry
	MovedTo deck.Location // where a tombstone leads the trace
	Buried  deck.Location // the location whose tombstone takes rows away
}

// Left returns what is left of the rows of a trace. A tombstone of a trace takes its rows in the same area, and in those that it stands for. Of rows whose tape was made of
// what is buried, or is itself buried, the evidence is left.
func (t *Tombs) Left(ctx context.Context, rows []*Entry) (r Remains, err error) {
	r.Rows = rows
	if len(rows) == 0 || len(t.of) == 0 {
		return r, nil
	}
	tombs := t.of[TraceKey{deck.SafeName(rows[0].Tenant), rows[0].TraceID}]
	if len(tombs) == 0 {
		return r, nil
	}
	most := -1
	parts, generations := map[string]bool{}, map[string]bool{}
	for _, b := range tombs {
		digest, part := strings.CutPrefix(b.name, tombPart)
		if part {
			parts[digest] = true
			continue
		}
		if b.name != tombTrace {
			generations[b.name] = true
			continue
		}
		to, err := t.leads(ctx, b.location)
		if err != nil {
			return r, err
		}
		switch {
		case to != (deck.Location{}):
			if rank(to.Area) >= rank(r.MovedTo.Area) {
				r.MovedTo = to
			}
		case rank(b.location.Area) > most:
			most, r.Buried = rank(b.location.Area), b.location
		}
	}
	r.Rows = nil
	for _, e := range rows {
		switch {
		case rank(deck.Area(e.Area)) <= most || parts[e.Part]:
		case slices.ContainsFunc(e.Parts, func(p string) bool { return parts[p] }) || e.RunID != "" && generations[e.Generation().String()]:
			if e.EvidenceBytes > 0 {
				without := *e
				without.Meta = e.bare()
				r.Rows = append(r.Rows, &without)
			}
		default:
			r.Rows = append(r.Rows, e)
		}
	}
	return r, nil
}

// generation tells whether a derivation of a trace is buried.
func (t *Tombs) generation(k TraceKey, g deck.Generation) bool {
	return slices.ContainsFunc(t.of[TraceKey{deck.SafeName(k.Tenant), k.TraceID}], func(b tomb) bool { return b.name == g.String() })
}

// leads returns where the tombstone of a location leads.
func (t *Tombs) leads(ctx context.Context, l deck.Location) (to deck.Location, err error) {
	key := deck.TombstoneArea + "/" + l.Prefix() + "/" + tombTrace + tombSuffix
	t.mu.Lock()
	to, known := t.bodies[key]
	t.mu.Unlock()
	if known {
		return to, nil
	}
	body, err := t.store.Get(ctx, key)
	if errors.Is(err, deck.ErrNotFound) {
		return l, nil // taken away since it was listed: it leads to where it is
	}
	if err != nil {
		return to, err
	}
	var tombstone struct {
		MovedTo string `json:"moved_to"`
	}
	if err := json.Unmarshal(body, &tombstone); err != nil {
		return to, fmt.Errorf("%w: %s is not a tombstone", deck.ErrCorrupt, key)
	}
	if next, rest, err := deck.ParseLocation(tombstone.MovedTo); err == nil && rest == "" && next.TraceID == l.TraceID {
		to = next
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bodies[key] = to
	return to, nil
}

// bare is a row of the same evidence without the derivation.
func (m *Meta) bare() Meta {
	return Meta{Tenant: m.Tenant, TraceID: m.TraceID, ReplayRunID: m.ReplayRunID, ReplayOf: m.ReplayOf, EvidenceBytes: m.EvidenceBytes, Area: m.Area, Part: m.Part,
		Items: m.Items, Formats: m.Formats, Complete: m.Complete, Keep: m.Keep}
}
