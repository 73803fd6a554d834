// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"context"
	"iter"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
)

// What is taken away of reels.
const (
	Reel = "reel" // a reel of which every run is older than the policy allows
	Rows = "rows" // the runs of a reel that are; others stay
)

// reels yields what goes of reels: those as a whole of which everything is too old, and of others the traces that are. A reel takes a few requests, whatever goes of it, where each trace alone
// would take several; and no tombstones are left. Young reels with old runs, as an import makes them, are left to a look at each trace, and so is a trace that the look could keep: one of
// which a replay has been noted, that is a part of a joined run, or of which something lies elsewhere.
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
		want := func(n reel.Name) bool {
			return c.policy.Tenant == "" || n.Tenant == c.policy.Tenant || n.Tenant == deck.SafeName(c.policy.Tenant)
		}
		going, err := catalog.Expired(ctx, want, func(rows []reel.Aged) bool {
			if c.held[trace{deck.SafeName(rows[0].Meta.Tenant), rows[0].TraceID}] {
				return false
			}
			for _, row := range rows {
				at := max(row.StartedAt, row.EndedAt) // none of evidence without a run, which is no older than the day on which it was written
				if !old(row.Object.Area, written(row.Object)) || at > 0 && !old(deck.Area(row.Meta.Area), time.UnixMicro(at)) {
					return false
				}
			}
			return true
		})
		if err != nil {
			yield(Removal{}, err)
			return
		}
		for _, e := range going {
			r := Removal{What: Rows, Key: e.Key(), Reason: deck.ReasonRetention, expiry: e}
			if e.All {
				expired := written(e.Object).Add(keep(e.Area)).UTC()
				r.What, r.ExpiredAt = Reel, &expired
			}
			for _, k := range e.Traces {
				if at := (trace{k.Tenant, k.TraceID}); !c.gone[at] { // else it is counted where it lies too
					c.gone[at] = true
					r.Traces++
				}
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// removeRows takes a reel away, or rows out of it.
func (c *Collector) removeRows(ctx context.Context, r *Removal) (bool, error) {
	r.Objects = 1
	return view.Catalog(c.deck).Remove(ctx, r.expiry)
}
