// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package transfer carries a deck into another one, whatever the layouts of the two: evidence and tapes byte for byte, and everything that is noted about them.
// Repeating it changes nothing, and it goes on where it was stopped.
package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/signature"
)

// Options choose what is carried.
type Options struct {
	// Tenant and Areas limit it; empty is all.
	Tenant string
	Areas  []deck.Area
	// Wants chooses among the runs; nil is all. A trace goes as a whole when one of its runs is wanted. What is noted about other traces is left out then, except
	// their tombstones, and so is the quarantine, where nothing is known of runs.
	Wants func(*reel.Meta) bool
	// Limits are those of the reels that are written; zero is reel.DefaultLimits.
	Limits reel.Limits
	// Sign signs the tapes that are derived of the evidence of both decks; nil signs none. Others come with their signatures.
	Sign *signature.Signer
	// Refused is told what is not carried, and why. Calls do not overlap.
	Refused func(what string, err error)
}

// Counts say what became of things of one kind: Read = Written + There + Refused.
type Counts struct {
	Read    int `json:"read"`
	Written int `json:"written"`
	There   int `json:"already_there"`
	Refused int `json:"refused"`
}

// Sums are what a transfer has done.
type Sums struct {
	Traces     Counts `json:"traces"`
	LeftOut    int    `json:"left_out"` // traces that Options do not choose
	Parts      Counts `json:"parts"`
	Tapes      Counts `json:"tapes"`
	Tombstones Counts `json:"tombstones"` // and flags
	Holds      Counts `json:"holds"`
	Replays    Counts `json:"replay_status"`
	Quarantine Counts `json:"quarantine"`
	Beside     int    `json:"beside_reels"`  // traces that lie as files beside the reels: a reel cannot hold them as they are
	United     int    `json:"united"`        // traces of which the deck had other evidence: their tapes are of both
	Superseded int    `json:"superseded"`    // generations that readers do not see, and incomplete ones: not carried
	NotOfADeck int    `json:"not_of_a_deck"` // objects that are nothing of a deck: not carried
}

// Refused is how much was not carried, of all kinds.
func (s *Sums) Refused() (n int) {
	for _, c := range []Counts{s.Traces, s.Parts, s.Tapes, s.Tombstones, s.Holds, s.Replays, s.Quarantine} {
		n += c.Refused
	}
	return n
}

// workers is how many traces are read and written at a time. Each holds one trace.
const workers = 8

// carrier is one transfer on its way.
type carrier struct {
	from, to *deck.Deck
	o        Options
	reels    *reel.Writer // nil for a deck of files
	merge    *derive.Writer
	begun    bool // the other deck held traces before
	// Of a deck of reels: traces of which something is buried, locations that have files beside the reels, and what is in the reels.
	buried map[reel.TraceKey]bool
	beside map[string]bool
	known  known

	mu    sync.Mutex
	sums  Sums
	names map[string]string // tenants, as they stand in keys → as they are
}

// Run carries from into to. An error ends it; called again, it goes on. What cannot be carried is refused, counted, and stays where it is.
func Run(ctx context.Context, from, to *deck.Deck, o Options) (Sums, error) {
	if o.Limits == (reel.Limits{}) {
		o.Limits = reel.DefaultLimits
	}
	if o.Refused == nil {
		o.Refused = func(string, error) {}
	}
	c := &carrier{from: from, to: to, o: o, names: map[string]string{}, merge: derive.NewWriter(to, derive.Options{Options: generation.Options{Producer: generation.Producer(), Sign: o.Sign}})}
	if o.Tenant != "" {
		c.names[deck.SafeName(o.Tenant)] = o.Tenant
	}
	err := c.run(ctx)
	return c.sums, err
}

func (c *carrier) run(ctx context.Context) error {
	if err := c.to.Begin(ctx); err != nil {
		return err
	}
	for _, err := range c.to.Locations(ctx) {
		if err != nil {
			return err
		}
		c.begun = true
		break
	}
	// What was taken away stays away: nothing comes before its tombstone. And nothing can go that a hold keeps.
	if err := c.notes(ctx); err != nil {
		return err
	}
	if c.to.Layout() == deck.LayoutReels {
		tombs, err := reel.LoadTombs(ctx, view.Raw(c.to))
		if err != nil {
			return err
		}
		c.buried = map[reel.TraceKey]bool{}
		for _, k := range tombs.Traces() {
			c.buried[k] = true
		}
		if c.beside, err = view.Beside(ctx, c.to); err != nil {
			return err
		}
		c.known.catalog = view.Catalog(c.to)
		defer c.known.close()
		c.reels = reel.NewWriter(c.to, c.o.Limits)
		defer c.reels.Close()
	}
	if c.o.Wants == nil {
		if err := c.copyAll(ctx, deck.HoldArea+"/", &c.sums.Holds); err != nil {
			return err
		}
	}
	if err := c.traces(ctx); err != nil {
		return err
	}
	if c.o.Wants != nil {
		return nil
	}
	if c.from.Layout() != deck.LayoutReels { // readers of reels see the rows of a trace wherever they lie
		if err := c.leftovers(ctx); err != nil {
			return err
		}
	}
	if err := c.copyAll(ctx, deck.StatusFolder, &c.sums.Replays); err != nil {
		return err
	}
	return c.copyAll(ctx, deck.QuarantineArea+"/", &c.sums.Quarantine)
}

// refuse counts and says what is not carried. An error that is not about the thing itself is returned: it ends the transfer.
func (c *carrier) refuse(counts *Counts, what string, err error) error {
	of := (*deck.StoreError)(nil)
	about := slices.ContainsFunc([]error{deck.ErrCorrupt, deck.ErrBuried, deck.ErrHeld, deck.ErrTooLarge, deck.ErrBadKey, errGone}, func(cause error) bool { return errors.Is(err, cause) })
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || !about && errors.As(err, &of) {
		return fmt.Errorf("%s: %w", what, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	counts.Refused++
	c.o.Refused(what, err)
	return nil
}

// errGone is about something that was listed and is not there any more.
var errGone = errors.New("it was taken away meanwhile")

// wants tells whether a location may be carried, as far as its key tells.
func (c *carrier) wants(l deck.Location) bool {
	return (len(c.o.Areas) == 0 || slices.Contains(c.o.Areas, l.Area)) && l.Of(c.o.Tenant)
}

// notes carries tombstones and flags.
func (c *carrier) notes(ctx context.Context) error {
	raw := view.Raw(c.from)
	for o, err := range raw.List(ctx, "") {
		if err != nil {
			return err
		}
		if !deck.IsNote(o.Key) {
			if !ofADeck(o.Key) {
				c.sums.NotOfADeck++
			}
			continue
		}
		n, err := c.from.ReadNote(ctx, o.Key)
		if errors.Is(err, deck.ErrNotFound) {
			continue
		}
		if err == nil && !n.Location.Of(c.o.Tenant) {
			continue
		}
		c.sums.Tombstones.Read++
		created := false
		if err == nil {
			created, err = c.to.PutNote(ctx, n)
		}
		switch {
		case err != nil:
			if err := c.refuse(&c.sums.Tombstones, o.Key, err); err != nil {
				return err
			}
		case created:
			c.sums.Tombstones.Written++
		default:
			c.sums.Tombstones.There++
		}
	}
	return nil
}

// ofADeck tells keys of a deck from those of something else.
func ofADeck(key string) bool {
	if _, _, err := deck.ParseLocation(key); err == nil || deck.IsMarker(key) {
		return true
	}
	if _, ok := reel.ParseName(key); ok {
		return true
	}
	if _, ok := reel.ParseIDs(key); ok {
		return true
	}
	area, rest, _ := strings.Cut(key, "/")
	switch {
	case area == deck.HoldArea:
		return strings.Count(rest, "/") == 2
	case area == deck.QuarantineArea || strings.HasPrefix(key, deck.StatusFolder):
		_, _, err := deck.ParseLocation(strings.TrimPrefix(strings.TrimPrefix(key, deck.StatusFolder), deck.QuarantineArea+"/"))
		return err == nil
	}
	return false
}

// copyAll carries objects that have the same key in every layout.
func (c *carrier) copyAll(ctx context.Context, prefix string, counts *Counts) error {
	from, to := view.Raw(c.from), view.Raw(c.to)
	for o, err := range from.List(ctx, prefix) {
		if err != nil {
			return err
		}
		if !ofADeck(o.Key) {
			continue
		}
		at := strings.TrimPrefix(strings.TrimPrefix(o.Key, deck.StatusFolder), deck.QuarantineArea+"/")
		l, _, err := deck.ParseLocation(at)
		if err != nil { // a hold: it belongs to no area
			tenant, _, _ := strings.Cut(strings.TrimPrefix(o.Key, deck.HoldArea+"/"), "/")
			if c.o.Tenant != "" && tenant != c.o.Tenant && tenant != deck.SafeName(c.o.Tenant) {
				continue
			}
		} else if !c.wants(l) {
			continue
		}
		created, err := func() (bool, error) {
			if prefix == deck.StatusFolder {
				if t, err := c.to.Tombstones(ctx, l); err != nil || t.Trace() {
					return false, errors.Join(err, deck.ErrBuried)
				}
			}
			body, err := from.Get(ctx, o.Key)
			if errors.Is(err, deck.ErrNotFound) {
				return false, errGone
			}
			if err != nil {
				return false, err
			}
			return to.PutNew(ctx, o.Key, body, contentTypeOf(o.Key))
		}()
		c.mu.Lock()
		counts.Read++
		switch {
		case err == nil && created:
			counts.Written++
		case err == nil:
			counts.There++
		}
		c.mu.Unlock()
		if err != nil {
			if err := c.refuse(counts, o.Key, err); err != nil {
				return err
			}
		}
	}
	return nil
}

func contentTypeOf(key string) string {
	if strings.HasSuffix(key, deck.PartSuffix) {
		return "application/zstd"
	}
	return "application/json"
}

// traces carries the traces.
func (c *carrier) traces(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slots := make(chan struct{}, workers)
	var all sync.WaitGroup
	carry := func(l deck.Location) bool {
		has, err := c.has(ctx, l)
		if err != nil {
			cancel(err)
			return false
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return false
		}
		all.Go(func() {
			// Whoever waits for a reel leaves its place to the next trace.
			idle := sync.OnceFunc(func() { <-slots })
			defer idle()
			if err := c.trace(ctx, l, has, idle); err != nil {
				cancel(err)
			}
		})
		return true
	}
	for l, walkErr := range c.chosen(ctx) {
		if walkErr != nil {
			err = walkErr
			break
		}
		if !carry(l) {
			break
		}
	}
	for range workers { // until the last one waits for its reel, or is done
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
	}
	if c.reels != nil {
		c.reels.Flush()
	}
	all.Wait()
	return errors.Join(err, context.Cause(ctx))
}

// chosen walks the locations that are wanted.
func (c *carrier) chosen(ctx context.Context) func(yield func(deck.Location, error) bool) {
	seen := 0
	want := func(l deck.Location) bool {
		seen++
		return c.wants(l)
	}
	return func(yield func(deck.Location, error) bool) {
		given := 0
		defer func() { c.sums.LeftOut = seen - given }()
		if c.o.Wants == nil {
			for l, err := range c.from.Locations(ctx) {
				if err == nil && !want(l) {
					continue
				}
				given++
				if !yield(l, err) {
					return
				}
			}
			return
		}
		var last deck.Location
		for r, err := range view.Runs(ctx, c.from, want) {
			if err != nil {
				given++
				if err := c.refuseRead(err); err != nil {
					yield(deck.Location{}, err)
					return
				}
				continue
			}
			if r.Ref.Location == last || !c.o.Wants(&r.Meta) {
				continue
			}
			last = r.Ref.Location
			given++
			if !yield(last, nil) {
				return
			}
		}
	}
}

// refuseRead is refuse for a trace of which the runs cannot be read, so that it is not known whether they are wanted.
func (c *carrier) refuseRead(err error) error {
	c.mu.Lock()
	c.sums.Traces.Read++
	c.mu.Unlock()
	return c.refuse(&c.sums.Traces, "a trace that cannot be read", err)
}
