// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/derive"
)

// joined is what is known of the joined runs of a deck. Their evidence lies with the traces that they are made of.
type joined struct {
	places []joinedPlace
	// ends: trace → the end of the last joined run that it is a part of.
	ends map[trace]time.Time
	// unread are tenants of which a joined tape could not be read: any trace may be a part of it.
	unread map[string]bool
}

type trace struct{ tenant, id string }

type joinedPlace struct {
	place     deck.Place
	items     int
	fragments []string // run ids, sorted
}

// readJoined reads the joined tapes. It returns false when the caller should stop.
func (c *Collector) readJoined(ctx context.Context, fail func(error) bool) bool {
	c.joined = joined{ends: map[trace]time.Time{}, unread: map[string]bool{}}
	for place, err := range c.deck.Places(ctx, deck.AreaJoined) {
		if err != nil {
			fail(err)
			return false
		}
		if !c.wanted(place) {
			continue
		}
		_, err := c.deck.ReadCurrent(ctx, place, func(current deck.GenerationState) error { return c.readJoinedPlace(ctx, place, current) })
		if err != nil {
			c.joined.unread[place.Tenant] = true
			if !fail(fmt.Errorf("%s: %w; no trace of this tenant is taken away", place, err)) {
				return false
			}
		}
	}
	return true
}

func (c *Collector) readJoinedPlace(ctx context.Context, place deck.Place, current deck.GenerationState) error {
	tapes, err := derive.ReadTapes(ctx, c.deck, place, current)
	if err != nil {
		return err
	}
	p := joinedPlace{place: place, items: current.Items}
	for _, t := range tapes {
		p.fragments = append(p.fragments, t.Run.Joined...)
		for _, id := range t.Sources.TraceIDs {
			if key := (trace{place.Tenant, id}); t.Run.EndedAt.After(c.joined.ends[key]) {
				c.joined.ends[key] = t.Run.EndedAt
			}
		}
	}
	slices.Sort(p.fragments)
	c.joined.places = append(c.joined.places, p)
	return nil
}

// age adds to the age of a trace that of the joined runs it is a part of.
func (j *joined) age(place deck.Place, a *age) error {
	if j.unread[place.Tenant] {
		return errors.New("it may be a part of a joined run that cannot be read")
	}
	a.see(j.ends[trace{place.Tenant, place.TraceID}])
	return nil
}

// stale tells whether the runs of a joined place lie in another one by now: earlier evidence came, so that they begin with another trace.
func (j *joined) stale(place deck.Place) bool {
	i := slices.IndexFunc(j.places, func(p joinedPlace) bool { return p.place == place })
	if i < 0 || len(j.places[i].fragments) == 0 {
		return false
	}
	old := j.places[i]
	return slices.ContainsFunc(j.places, func(p joinedPlace) bool {
		return p.place != old.place && p.place.Tenant == old.place.Tenant && p.items > old.items &&
			!slices.ContainsFunc(old.fragments, func(f string) bool { _, found := slices.BinarySearch(p.fragments, f); return !found })
	})
}
