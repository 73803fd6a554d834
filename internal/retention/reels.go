// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/reel"
	"github.com/tapedeck/tapedeck/internal/reel/view"
)

// Reel is a reel of which every run is older than the policy allows.
const Reel = "reel"

// reels yields the reels that go as a whole. That takes one deletion where each of their traces alone would take several requests, and leaves no tombstones. A reel with anything in it that a
// closer look could keep is left to that look: a held trace, one of a joined run, one of which a replay has been noted, or of which something lies elsewhere.
func (c *Collector) reels(ctx context.Context) iter.Seq2[Removal, error] {
	return func(yield func(Removal, error) bool) {
		catalog := view.Catalog(c.deck)
		if catalog == nil || len(c.joined.unread) > 0 {
			return
		}
		raw := view.Raw(c.deck)
		for _, folder := range []string{deck.StatusFolder, string(deck.AreaRuns) + "/", string(deck.AreaReplays) + "/", string(deck.AreaUndecided) + "/", string(deck.AreaJoined) + "/"} {
			for _, err := range raw.List(ctx, folder) {
				if err != nil {
					yield(Removal{}, err)
				}
				return // something lies beside the reels
			}
		}
		keep := func(area deck.Area) time.Duration {
			if area == deck.AreaUndecided {
				return c.policy.KeepUndecided
			}
			return c.policy.Keep
		}
		old := func(area deck.Area, at time.Time) bool { return !c.policy.Now.Before(at.Add(keep(area))) }
		written := func(o reel.Object) time.Time { // the end of that day
			day, err := time.Parse(time.DateOnly, o.Date)
			if err != nil {
				return c.policy.Now
			}
			return day.AddDate(0, 0, 1)
		}
		may := func(o reel.Object) bool {
			return (c.policy.Tenant == "" || o.Tenant == c.policy.Tenant || o.Tenant == deck.SafeName(c.policy.Tenant)) && old(o.Area, written(o))
		}
		going, err := catalog.Expired(ctx, may, func(o reel.Object, m *reel.Meta) bool {
			if c.held[trace{deck.SafeName(m.Tenant), m.TraceID}] {
				return false
			}
			last := max(m.StartedAt, m.EndedAt)
			if last == 0 { // evidence without a run: it is no older than the day on which it was written
				return true
			}
			return old(deck.Area(m.Area), time.UnixMicro(last))
		})
		if err != nil {
			yield(Removal{}, err)
			return
		}
		for _, o := range slices.SortedFunc(maps.Keys(going), func(a, b reel.Object) int { return cmp.Compare(a.Key(), b.Key()) }) {
			for _, k := range going[o] {
				c.gone[trace{k.Tenant, k.TraceID}] = true
			}
			expired := written(o).Add(keep(o.Area)).UTC()
			if !yield(Removal{What: Reel, Key: o.Key(), Reason: deck.ReasonRetention, Traces: len(going[o]), ExpiredAt: &expired}, nil) {
				return
			}
		}
	}
}

// removeReel takes a reel away.
func (c *Collector) removeReel(ctx context.Context, r *Removal) (bool, error) {
	if !strings.HasPrefix(r.Key, reel.Area+"/") {
		return false, nil
	}
	r.Objects = 1
	defer view.Catalog(c.deck).Stale()
	return true, view.Raw(c.deck).Delete(ctx, r.Key)
}
