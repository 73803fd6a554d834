// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package retention deletes what a deck need not keep: traces older than the policy allows, and generations of tapes that newer ones have
// replaced. A plan of what would be deleted comes first. Everything whose age cannot be read is kept. Every deletion leaves a tombstone, so
// that writers do not write the same thing again.
package retention

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
)

// Policy says how long traces are kept. The periods are those of AIWG's schema, which leaves open from when they count: a run is kept
// for Keep from its end, and for KeepFailed from the last replay of it that failed, whichever is later. A trace goes when the last of its
// runs may.
type Policy struct {
	Keep       time.Duration
	KeepFailed time.Duration
	// KeepUndecided is Keep for traces whose root never came.
	KeepUndecided time.Duration
	// Now is the time by which everything is judged.
	Now time.Time
	// Tenant limits everything to one tenant; "" is all.
	Tenant string
	// ReplayResult reads the record of a replay that lies in the deck: when the run was replayed, and whether the replay failed.
	ReplayResult func(record []byte) (at time.Time, failed bool, err error)
}

// The periods of AIWG's schema.
const (
	DefaultKeep       = 90 * 24 * time.Hour
	DefaultKeepFailed = 180 * 24 * time.Hour
)

// Validate reports periods that would take everything.
func (p Policy) Validate() error {
	if p.Keep <= 0 || p.KeepFailed <= 0 || p.KeepUndecided <= 0 {
		return fmt.Errorf("a period of retention must be longer than nothing")
	}
	if p.ReplayResult == nil {
		return errors.New("retention needs a reader for the records of replays")
	}
	return nil
}

// What is taken away.
const (
	Trace      = "trace"      // everything of a trace, evidence included
	Generation = "generation" // the tapes of one generation; the evidence stays
	Leftover   = "leftover"   // what is left of a trace or generation that was taken away before
	Temporary  = "temporary"  // what a writer that died left; it is no object of the deck
)

// Removal is one thing that goes. The order of its fields is part of the contract.
type Removal struct {
	What   string      `json:"what"`
	Key    string      `json:"key"`
	Reason deck.Reason `json:"reason"`
	// RunIDs are those of the runs that go, as far as tapes name them.
	RunIDs []string `json:"run_ids,omitempty"`
	// CapturedAt, LastFailure and ExpiredAt explain the age of a trace.
	CapturedAt  *time.Time `json:"captured_at,omitempty"`
	LastFailure *time.Time `json:"last_failure,omitempty"`
	ExpiredAt   *time.Time `json:"expired_at,omitempty"`
	// Objects is how many were deleted, when they were.
	Objects int `json:"objects,omitempty"`
	// Traces is how many go with a reel, or out of it.
	Traces int `json:"traces,omitempty"`

	location   deck.Location
	generation deck.Generation
	seen       deck.LocationState
	expiry     reel.Expiry
}

// Collector applies a policy to a deck.
type Collector struct {
	deck    *deck.Deck
	policy  Policy
	joined  joined
	held    map[trace]bool
	gone    map[trace]bool // with rows of reels
	visited int
	kept    int
}

// New returns a Collector.
func New(d *deck.Deck, p Policy) (*Collector, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return &Collector{deck: d, policy: p}, nil
}

// Locations is how many locations Plan has looked at.
func (c *Collector) Locations() int { return c.visited }

// Held is how many locations Plan has kept because of holds.
func (c *Collector) Held() int { return c.kept }

// Plan yields what may go, area by area. An error that it yields is about one location, which is kept; an error about the whole deck ends it.
func (c *Collector) Plan(ctx context.Context) iter.Seq2[Removal, error] {
	return func(yield func(Removal, error) bool) {
		if !c.readJoined(ctx, func(err error) bool { return yield(Removal{}, err) }) {
			return
		}
		c.held = map[trace]bool{}
		for h, err := range c.deck.Holds(ctx) {
			if err != nil {
				yield(Removal{}, err)
				return
			}
			c.held[trace{h.Tenant, h.TraceID}] = true
		}
		c.gone = map[trace]bool{}
		for r, err := range c.reels(ctx) {
			if !yield(r, err) || err != nil {
				return
			}
		}
		for o, err := range deck.Abandoned(ctx, c.deck.Store(), "") {
			if err != nil {
				yield(Removal{}, err)
				return
			}
			if r := (Removal{What: Temporary, Key: o.Key, Reason: deck.ReasonAbandoned}); c.holds(o.Key) && !yield(r, nil) {
				return
			}
		}
		for location, err := range c.deck.Leftovers(ctx, deck.Areas()...) {
			if err != nil {
				yield(Removal{}, err)
				return
			}
			if r, mine := c.leftover(ctx, location); mine && !yield(r, nil) {
				return
			}
		}
		var batch []judged
		for location, err := range c.deck.Locations(ctx) {
			if err != nil {
				yield(Removal{}, err)
				return
			}
			if !c.wanted(location) {
				continue
			}
			if c.gone[trace{location.TenantKey(), location.TraceID}] {
				continue
			}
			c.visited++
			if c.holdsOn(location) {
				c.kept++
				continue
			}
			if batch = append(batch, judged{location: location}); len(batch) < readers {
				continue
			}
			if !c.judgeAll(ctx, batch, yield) {
				return
			}
			batch = batch[:0]
		}
		c.judgeAll(ctx, batch, yield)
	}
}

// readers is how many locations are read at a time: most of the time is spent waiting for the store.
const readers = 16

// judged is a location and what was decided about it.
type judged struct {
	location deck.Location
	removals []Removal
	err      error
}

// judgeAll decides about several locations at a time and yields in their order.
func (c *Collector) judgeAll(ctx context.Context, batch []judged, yield func(Removal, error) bool) bool {
	var reading sync.WaitGroup
	for i := range batch {
		reading.Go(func() {
			const attempts = 3 // a writer may replace what is read
			for range attempts {
				if batch[i].removals, batch[i].err = c.judge(ctx, batch[i].location); !errors.Is(batch[i].err, deck.ErrNotFound) {
					return
				}
			}
		})
	}
	reading.Wait()
	for _, j := range batch {
		if ctx.Err() != nil {
			yield(Removal{}, ctx.Err())
			return false
		}
		if j.err != nil && !yield(Removal{}, fmt.Errorf("%s: %w; it is kept", j.location, j.err)) {
			return false
		}
		for _, r := range j.removals {
			if !yield(r, nil) {
				return false
			}
		}
	}
	return true
}

func (c *Collector) wanted(p deck.Location) bool {
	return p.Of(c.policy.Tenant)
}

// holdsOn tells whether a location is held: by itself, or, of a joined run, with a trace that it is made of.
func (c *Collector) holdsOn(l deck.Location) bool {
	if c.held[trace{l.TenantKey(), l.TraceID}] {
		return true
	}
	return l.Area == deck.AreaJoined && slices.ContainsFunc(c.joined.locations, func(j joinedLocation) bool {
		return j.location == l && slices.ContainsFunc(j.fragments, func(run string) bool {
			id, _, _ := strings.Cut(run, "-")
			return c.held[trace{l.TenantKey(), id}]
		})
	})
}

// holds tells whether the tenant whose things are looked at has the key in its folders.
func (c *Collector) holds(key string) bool {
	if c.policy.Tenant == "" {
		return true
	}
	for _, area := range []string{deck.QuarantineArea, "replays/_status"} {
		key = strings.TrimPrefix(key, area+"/")
	}
	location, _, err := deck.ParseLocation(deck.WithoutNote(key))
	return err == nil && c.wanted(location)
}

// leftover is a trace of which a run like this one was interrupted. What somebody else buried is not touched: the evidence may be on its
// way to another location.
func (c *Collector) leftover(ctx context.Context, location deck.Location) (Removal, bool) {
	_, why, moved, err := c.deck.MovedTo(ctx, location)
	return Removal{What: Leftover, Key: location.Prefix(), Reason: why, location: location}, err == nil && !moved && why == deck.ReasonRetention && c.wanted(location)
}

// judge decides about one location.
func (c *Collector) judge(ctx context.Context, location deck.Location) (removals []Removal, err error) {
	tombs, err := c.deck.Tombstones(ctx, location)
	if err != nil {
		return nil, err
	}
	all, err := c.deck.Remains(ctx, location)
	if err != nil {
		return nil, err
	}
	state := deck.LocationState{Parts: slices.DeleteFunc(slices.Clone(all.Parts), tombs.Part)}
	for _, g := range all.Generations {
		if !tombs.Generation(g.Generation) {
			state.Generations = append(state.Generations, g)
			continue
		}
		removals = append(removals, Removal{What: Leftover, Key: location.Prefix() + "/" + g.Generation.String(), Reason: deck.ReasonSuperseded, location: location, generation: g.Generation})
	}
	age, err := c.ageOf(ctx, location, state)
	if err != nil {
		return removals, err
	}
	if expired, ok := age.expired(c.policy, location.Area); ok {
		removal := Removal{What: Trace, Key: location.Prefix(), Reason: deck.ReasonRetention, RunIDs: age.runs, location: location, seen: state,
			CapturedAt: &age.captured, ExpiredAt: &expired}
		if !age.failure.IsZero() {
			removal.LastFailure = &age.failure
		}
		return append(removals, removal), nil
	}
	current, ok := state.Current()
	if !ok {
		return removals, nil
	}
	stale := location.Area == deck.AreaJoined && c.joined.stale(location)
	for _, g := range state.Generations {
		if g.Compare(current.Generation) < 0 || stale && g.Complete {
			removals = append(removals, Removal{What: Generation, Key: location.Prefix() + "/" + g.Generation.String(), Reason: deck.ReasonSuperseded, location: location, generation: g.Generation,
				seen: state})
		}
	}
	return removals, nil
}

// Remove takes one thing away. When the location has changed since it was judged, nothing is done and gone is false.
func (c *Collector) Remove(ctx context.Context, r *Removal) (gone bool, err error) {
	if r.What == Reel || r.What == Rows {
		return c.removeRows(ctx, r)
	}
	if r.What == Temporary {
		r.Objects = 1
		return true, c.deck.Store().(deck.Leaver).RemoveAbandoned(ctx, r.Key)
	}
	burial := deck.Burial{Reason: r.Reason, At: c.policy.Now}
	if r.What != Leftover {
		now, err := c.deck.State(ctx, r.location)
		if err != nil {
			return false, err
		}
		if r.What == Trace && !sameState(now, r.seen) || r.What == Generation && !r.stillSuperseded(now) {
			return false, nil
		}
	}
	if r.generation.Digest != "" {
		r.Objects, err = c.deck.BuryGeneration(ctx, r.location, r.generation, burial)
		return err == nil, err
	}
	if r.Objects, err = c.deck.Bury(ctx, r.location, burial); err != nil {
		return false, err
	}
	notes, err := c.deck.RemoveReplayStatuses(ctx, r.location)
	r.Objects += notes
	return err == nil, err
}

// stillSuperseded reports that what replaced the generation is there still: a complete generation above it, or, of a joined run that moved,
// the same highest one as before.
func (r *Removal) stillSuperseded(now deck.LocationState) bool {
	current, ok := now.Current()
	if r.location.Area == deck.AreaJoined {
		before, _ := r.seen.Current()
		return !ok || current.Generation.Compare(before.Generation) == 0 || current.Compare(r.generation) > 0
	}
	return ok && current.Compare(r.generation) > 0
}

func sameState(a, b deck.LocationState) bool {
	same := func(x, y deck.GenerationState) bool { return x.Generation == y.Generation && x.Complete == y.Complete }
	return slices.Equal(a.Parts, b.Parts) && slices.EqualFunc(a.Generations, b.Generations, same)
}
