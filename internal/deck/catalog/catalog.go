// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package catalog lists and opens the runs of a deck for those who look at it, within the limits that they have: a tenant, and how much is
// searched.
package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/filter"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	"github.com/tapedeck/tapedeck/tape"
)

// Catalog is a deck as one reader sees it.
type Catalog struct {
	Deck *deck.Deck
	// Tenant is the only tenant whose runs are there; "" is all.
	Tenant string
	// SearchLimit bounds the search for ids that the layout of the deck does not know; 0 is runs.DefaultLimit.
	SearchLimit int
}

// Run is a run that was opened.
type Run struct {
	Ref  deck.Ref
	Tape *tape.Tape
	Data []byte // tape.json
}

// Several is returned for an id that more than one run has.
type Several struct{ Refs []deck.Ref }

func (e *Several) Error() string { return fmt.Sprintf("%d runs have this id", len(e.Refs)) }

// Open opens the run of an id. Tenant and area tell runs of one id apart where they are given, and never reach beyond the tenant of the
// catalog. What is not there, or not for this reader, is deck.ErrNotFound.
func (c *Catalog) Open(ctx context.Context, id, tenant, area string) (*Run, error) {
	found, err := runs.Find(ctx, c.Deck, runs.Query{ID: id, Tenant: cmp.Or(c.Tenant, tenant), Limit: c.SearchLimit})
	if several := runs.Ambiguous(ctx, c.Deck, err); len(several) > 0 {
		found, err = several, nil
	}
	if errors.Is(err, deck.ErrBadKey) {
		err = fmt.Errorf("%w: %w", deck.ErrNotFound, err)
	}
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(r deck.Ref) bool {
		return !r.Location.Of(c.Tenant) || area != "" && string(r.Location.Area) != area
	})
	switch {
	case len(found) == 0:
		return nil, deck.ErrNotFound
	case len(found) > 1:
		return nil, &Several{found}
	}
	return c.Read(ctx, found[0])
}

// Read opens a run that Open or a listing has found.
func (c *Catalog) Read(ctx context.Context, at deck.Ref) (*Run, error) {
	o := &Run{}
	err := runs.Read(ctx, c.Deck, at, func(ref deck.Ref) error {
		data, err := c.Deck.Store().Get(ctx, ref.Key)
		if err == nil {
			o.Ref, o.Data = ref, data
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if o.Tape, err = tape.ReadSealed(o.Data); err != nil {
		return nil, err
	}
	if !(deck.Location{Tenant: o.Tape.Run.Tenant}).Of(c.Tenant) {
		return nil, deck.ErrNotFound
	}
	return o, nil
}

// Choice is which runs are listed, and in which order.
type Choice struct {
	filter.Filter        // its Tenant is that of the catalog
	Search        string // in ids, names, models, tools and the question; case does not count
	Sort          string // one of Sorts; the greatest is the first
	Skip, Limit   int
	// Dropped lists runs, too, whose content was not kept.
	Dropped bool
	// Each, if there is one, is shown every run that is chosen, whatever is skipped. Models and tools are
	// read for it.
	Each func(*view.Run)
}

// Sorts are the columns that a list can be ordered by.
var Sorts = []string{"started_at", "duration_ms", "model_calls", "tool_calls", "output_tokens"}

// columns are what a listed run has.
var columns = []string{"run_id", "started_at", "agent", "service", "status", "error_type", "grade", "model_calls", "tool_calls", "duration_ms", "input_tokens", "output_tokens", "findings", "user_message", "area", "tenant", "trace_id", "root_span_id", "keep"}

var searched = []string{"run_id", "conversation_id", "task_id", "agent", "service", "user_message", "tools", "models", "error_type"}

// Listing is a page of a list.
type Listing struct {
	Runs   []view.Run
	More   bool
	Unread int   // traces that cannot be read
	Cause  error // of the last of them
}

// List lists runs. Only a choice that cannot be understood, and the end of the context, are errors.
func (c *Catalog) List(ctx context.Context, choice Choice, now time.Time) (*Listing, error) {
	choice.Tenant = c.Tenant
	if err := choice.Check(now); err != nil {
		return nil, err
	}
	if !slices.Contains(Sorts, choice.Sort) {
		choice.Sort = Sorts[0]
	}
	most := choice.Skip + choice.Limit + 1 // one more tells whether there are more
	q := choice.Query(view.Query{Columns: columns, First: choice.Sort, Last: true, Limit: most, Dropped: choice.Dropped})
	if choice.Each != nil {
		q.Columns, q.Limit = append(slices.Clone(columns), "models", "tools"), 0
	}
	if choice.Search != "" {
		before, want := q.Test, strings.ToLower(choice.Search)
		q.Filter = append(q.Filter, searched...)
		q.Test = func(m *reel.Meta) bool {
			return (before == nil || before(m)) && slices.ContainsFunc(searched, func(column string) bool {
				v, _ := m.Value(column)
				return strings.Contains(strings.ToLower(filter.Text(v)), want)
			})
		}
	}
	out := &Listing{}
	var list []ranked
	for run, err := range view.Select(ctx, c.Deck, q) {
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			out.Unread, out.Cause = out.Unread+1, err
			continue
		}
		if choice.Each != nil {
			choice.Each(&run)
		}
		if list = append(list, newRanked(run, choice.Sort)); len(list) > 2*most+1000 {
			list = first(list, most)
		}
	}
	list = first(list, most)
	out.More = len(list) == most
	for _, r := range list[min(choice.Skip, len(list)):min(choice.Skip+choice.Limit, len(list))] {
		out.Runs = append(out.Runs, *r.Run)
	}
	return out, nil
}

// ranked is a run with the number that it is ordered by. Runs are large, and are not moved while they are
// ordered.
type ranked struct {
	number int64
	*view.Run
}

func newRanked(r view.Run, column string) ranked {
	switch v, _ := r.Value(column); v := v.(type) {
	case int64:
		return ranked{v, &r}
	case time.Time:
		return ranked{v.UnixMicro(), &r}
	}
	return ranked{-1, &r}
}

// first orders runs, the greatest first, and cuts them. Runs that are alike are ordered by their ids, so that
// pages do not overlap.
func first(list []ranked, limit int) []ranked {
	slices.SortFunc(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.number, a.number), strings.Compare(a.RunID, b.RunID), strings.Compare(a.Ref.Key, b.Ref.Key))
	})
	return list[:min(len(list), limit)]
}
