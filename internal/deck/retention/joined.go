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
	"github.com/tapedeck/tapedeck/internal/deck/runs"
)

// joined is what is known of the joined runs of a deck. Their evidence lies with the traces that they are made of.
type joined struct {
	locations []joinedLocation
	// ends: trace → the end of the last joined run that it is a part of.
	ends map[trace]time.Time
	// unread are tenants of which a joined tape could not be read: any trace may be a part of it.
	unread map[string]bool
}

type trace struct{ tenant, id string }

type joinedLocation struct {
	location  deck.Location
	items     int
	fragments []string // run ids, sorted
}

// readJoined reads the joined tapes. It returns false when the caller should stop.
func (c *Collector) readJoined(ctx context.Context, fail func(error) bool) bool {
	c.joined = joined{ends: map[trace]time.Time{}, unread: map[string]bool{}}
	for location, err := range c.deck.Locations(ctx, deck.AreaJoined) {
		if err != nil {
			fail(err)
			return false
		}
		if !c.wanted(location) {
			continue
		}
		_, err := c.deck.ReadCurrent(ctx, location, func(current deck.GenerationState) error { return c.readJoinedLocation(ctx, location, current) })
		if err != nil {
			c.joined.unread[location.Tenant] = true
			if !fail(fmt.Errorf("%s: %w; no trace of this tenant is taken away", location, err)) {
				return false
			}
		}
	}
	return true
}

func (c *Collector) readJoinedLocation(ctx context.Context, location deck.Location, current deck.GenerationState) error {
	tapes, err := runs.Tapes(ctx, c.deck, location, current)
	if err != nil {
		return err
	}
	p := joinedLocation{location: location, items: current.Items}
	for _, t := range tapes {
		p.fragments = append(p.fragments, t.Run.Joined...)
		for _, id := range t.Sources.TraceIDs {
			if key := (trace{location.Tenant, id}); t.Run.EndedAt.After(c.joined.ends[key]) {
				c.joined.ends[key] = t.Run.EndedAt
			}
		}
	}
	slices.Sort(p.fragments)
	c.joined.locations = append(c.joined.locations, p)
	return nil
}

// age adds to the age of a trace that of the joined runs it is a part of.
func (j *joined) age(location deck.Location, a *age) error {
	if j.unread[location.Tenant] {
		return errors.New("it may be a part of a joined run that cannot be read")
	}
	a.see(j.ends[trace{location.Tenant, location.TraceID}])
	return nil
}

// stale tells whether the runs of a joined location lie in another one by now: earlier evidence came, so that they begin with another trace.
func (j *joined) stale(location deck.Location) bool {
	i := slices.IndexFunc(j.locations, func(p joinedLocation) bool { return p.location == location })
	if i < 0 || len(j.locations[i].fragments) == 0 {
		return false
	}
	old := j.locations[i]
	return slices.ContainsFunc(j.locations, func(p joinedLocation) bool {
		return p.location != old.location && p.location.Tenant == old.location.Tenant && p.items > old.items &&
			!slices.ContainsFunc(old.fragments, func(f string) bool { _, found := slices.BinarySearch(p.fragments, f); return !found })
	})
}
