// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/runindex"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	"github.com/tapedeck/tapedeck/tape"
)

// Run is a run of a deck: what a reel says of it in its narrow columns, and its address.
type Run struct {
	reel.Meta
	Ref deck.Ref
}

// Query chooses among the runs of a deck.
type Query struct {
	// Want chooses among the traces; nil is all.
	Want func(deck.Location) bool
	// Equal, Filter, Test and Columns are those of reel.Scan.
	Equal   []reel.Equal
	Filter  []string
	Test    func(*reel.Meta) bool
	Columns []string
	// First, Last and Limit are those of reel.Scan: more runs may be given, but none of the first ones is left out.
	First string
	Last  bool
	Limit int
	// Dropped gives runs, too, whose content was not kept: there is no tape at their address.
	Dropped bool
	// Ordered asks for the order of Runs, at its cost.
	Ordered bool
}

// Takes tells whether a run is one that the query asks for, apart from Want.
func (q *Query) Takes(m *reel.Meta) bool {
	for _, e := range q.Equal {
		switch v, _ := m.Value(e.Column); v := v.(type) {
		case string:
			if v != e.Value {
				return false
			}
		case []string:
			if !slices.Contains(v, e.Value) {
				return false
			}
		default:
			return false
		}
	}
	return q.Test == nil || q.Test(m)
}

// withContent leaves runs out whose content was not kept.
func (q *Query) withContent() {
	before := q.Test
	if before == nil || q.Filter != nil {
		q.Filter = append(slices.Clone(q.Filter), "keep")
	}
	q.Test = func(m *reel.Meta) bool { return !m.Dropped() && (before == nil || before(m)) }
}

// contentColumn is the narrow column that has content. No index outside the deck holds it.
const contentColumn = "user_message"

// usesContent tells whether runs are chosen by content, shows whether a column is wanted of those that are.
func (q *Query) usesContent() bool {
	return slices.Contains(q.Filter, contentColumn) || slices.ContainsFunc(q.Equal, func(e reel.Equal) bool { return e.Column == contentColumn }) || q.Test != nil && q.Filter == nil
}

func (q *Query) shows(column string) bool {
	return q.Columns == nil || slices.Contains(q.Columns, column)
}

// userMessage reads the column from a tape; it is empty for one that was taken away since it was listed.
func userMessage(ctx context.Context, d *deck.Deck, ref deck.Ref) (text string, err error) {
	err = runs.Read(ctx, d, ref, func(at deck.Ref) error {
		m, err := describe(ctx, d, at)
		text = m.UserMessage
		return err
	})
	if errors.Is(err, deck.ErrNotFound) {
		err = nil
	}
	return text, err
}

// Select finds runs of a deck of either layout, in no order unless it is asked for. In a deck of reels it reads what Query asks for of the columns of reels. An error that it yields is about one
// trace, or ends it.
func Select(ctx context.Context, d *deck.Deck, q Query) iter.Seq2[Run, error] {
	v, ok := d.Store().(*View)
	if ok && !q.Dropped {
		q.withContent()
	}
	if !ok || q.Ordered {
		return func(yield func(Run, error) bool) {
			content := q.usesContent()
			for r, err := range walkRuns(ctx, d, q.Want, !ok && !content) {
				if err != nil {
					if !yield(r, err) {
						return
					}
					continue
				}
				if !q.Takes(&r.Meta) {
					continue
				}
				if !ok && !content && q.shows(contentColumn) {
					r.UserMessage, err = userMessage(ctx, d, r.Ref)
				}
				if !yield(r, err) {
					return
				}
			}
		}
	}
	return func(yield func(Run, error) bool) {
		if err := v.selectRuns(ctx, d, q, yield); err != nil {
			yield(Run{}, err)
		}
	}
}

func (v *View) selectRuns(ctx context.Context, d *deck.Deck, q Query, yield func(Run, error) bool) error {
	tombs, err := v.tombstones(ctx)
	if err != nil {
		return err
	}
	files, err := Beside(ctx, d)
	if err != nil {
		return err
	}
	scan := reel.Scan{Equal: q.Equal, Filter: q.Filter, Test: q.Test, Columns: q.Columns, Odd: tombs.Traces()}
	if q.Want == nil && reel.IsNumber(q.First) {
		scan.First, scan.Last, scan.Limit = q.First, q.Last, q.Limit
	}
	for l := range files {
		location, _, err := deck.ParseLocation(l + "/x")
		if err != nil {
			return err
		}
		scan.Odd = append(scan.Odd, reel.TraceKey{Tenant: location.TenantKey(), TraceID: location.TraceID})
	}
	slow := func(l deck.Location) bool {
		if q.Want != nil && !q.Want(l) {
			return true
		}
		found, err := runsOf(ctx, d, files, l)
		if err != nil && !yield(Run{}, fmt.Errorf("%s: %w", l, err)) {
			return false
		}
		for _, r := range found {
			if q.Takes(&r.Meta) && !yield(r, nil) {
				return false
			}
		}
		return ctx.Err() == nil
	}
	// A compaction may take a reel away that is being read. Then all is looked at again, and what was given is not given twice.
	given := map[reel.TraceKey]bool{}
	again := func(k reel.TraceKey) bool {
		before := given[k]
		given[k] = true
		return before
	}
	stopped := false
	run := func(m *reel.Meta) bool {
		l := m.Location()
		if q.Want != nil && !q.Want(l) || again(reel.TraceKey{Tenant: m.Tenant, TraceID: m.TraceID}) {
			return true
		}
		stopped = !yield(Run{*m, d.Ref(l, m.Generation(), m.RootSpanID, deck.TapeFile)}, nil)
		return !stopped
	}
	trace := func(entries []*reel.Entry) bool {
		if again(reel.TraceKey{Tenant: entries[0].Tenant, TraceID: entries[0].TraceID}) {
			return true
		}
		t, err := v.unite(ctx, entries)
		if err != nil {
			stopped = !yield(Run{}, err)
			return !stopped
		}
		v.keep(reel.TraceKey{Tenant: t.Location.TenantKey(), TraceID: t.Location.TraceID}, t)
		if !t.Buried && len(t.Entries) > 0 && !files[t.Location.Prefix()] {
			stopped = !slow(t.Location)
		}
		return !stopped
	}
	const attempts = 5
	for i := 1; ; i++ {
		err := scan.Run(ctx, v.catalog, run, trace)
		if stopped || err == nil {
			break
		}
		if i == attempts || !errors.Is(err, deck.ErrNotFound) {
			return err
		}
		v.stale()
	}
	if stopped {
		return nil
	}
	for _, l := range slices.Sorted(maps.Keys(files)) {
		location, _, err := deck.ParseLocation(l + "/x")
		if err != nil {
			return err
		}
		if !slow(location) {
			return nil
		}
	}
	return nil
}

// rowReaders is how many traces are read at a time.
const rowReaders = 16

// Runs walks the runs of a deck of either layout, in the order of areas, then of keys. want chooses among the traces; nil is all. In a deck of reels it reads narrow
// columns; tapes are read of traces that lie in files, and of those of which no row has all evidence. An error that it yields is about one trace, or ends it.
func Runs(ctx context.Context, d *deck.Deck, want func(deck.Location) bool) iter.Seq2[Run, error] {
	return walkRuns(ctx, d, want, false)
}

// found are the runs of a location.
type found struct {
	location deck.Location
	read     func() ([]Run, error)
	runs     []Run
	err      error
}

// walkRuns is Runs. With an index, which has no content, tapes of a deck of files that were read before are not read again.
func walkRuns(ctx context.Context, d *deck.Deck, want func(deck.Location) bool, indexed bool) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		var batch []found
		files, err := Beside(ctx, d)
		if err != nil {
			yield(Run{}, err)
			return
		}
		flush := func() bool {
			var reading sync.WaitGroup
			for i := range batch {
				if f := &batch[i]; f.read != nil {
					reading.Go(func() { f.runs, f.err = f.read() })
				}
			}
			reading.Wait()
			for _, f := range batch {
				if f.err != nil && !yield(Run{}, fmt.Errorf("%s: %w", f.location, f.err)) {
					return false
				}
				for _, r := range f.runs {
					if !yield(r, nil) {
						return false
					}
				}
			}
			batch = batch[:0]
			return ctx.Err() == nil
		}
		add := func(f found) bool {
			batch = append(batch, f)
			return len(batch) < rowReaders || flush()
		}
		for _, area := range deck.Areas() {
			if listing, ok, err := d.Listing(ctx, area); err != nil {
				yield(Run{}, err)
				return
			} else if ok {
				if !walkListing(ctx, d, area, listing, want, indexed, add, flush, yield) {
					return
				}
				continue
			}
			for location, err := range d.Locations(ctx, area) {
				if err != nil {
					yield(Run{}, err)
					return
				}
				if (want == nil || want(location)) && !add(found{location: location, read: func() ([]Run, error) { return runsOf(ctx, d, files, location) }}) {
					return
				}
			}
		}
		flush()
	}
}

// walkListing walks an area of a deck of files by one listing.
func walkListing(ctx context.Context, d *deck.Deck, area deck.Area, listing iter.Seq2[deck.Listed, error], want func(deck.Location) bool, indexed bool,
	add func(found) bool, flush func() bool, yield func(Run, error) bool,
) bool {
	var index *runindex.Index
	if indexed {
		index = runindex.Open(cacheFolder(d.URL()), d.URL(), area)
	}
	whole := false
	defer func() { index.Close(whole) }()
	var mu sync.Mutex
	for l, err := range listing {
		if err != nil {
			yield(Run{}, err)
			return false
		}
		f := found{location: l.Location}
		if l.Again {
			f.read = func() ([]Run, error) { return runsOf(ctx, d, nil, l.Location) }
		} else {
			f.runs = make([]Run, len(l.Tapes))
			var missing []int
			for i, o := range l.Tapes {
				m, known := index.Get(o)
				f.runs[i] = Run{m, d.Ref(l.Location, l.Current.Generation, l.Current.Runs[i].Root, deck.TapeFile)}
				if !known {
					missing = append(missing, i)
				}
			}
			if len(missing) > 0 {
				runs := f.runs
				f.read = func() ([]Run, error) {
					for _, i := range missing {
						m, err := describe(ctx, d, runs[i].Ref)
						if errors.Is(err, deck.ErrNotFound) { // replaced, or taken away
							return runsOf(ctx, d, nil, l.Location)
						}
						if err != nil {
							return nil, err
						}
						runs[i].Meta = m
						mu.Lock()
						index.Put(l.Tapes[i], m)
						mu.Unlock()
					}
					return runs, nil
				}
			}
		}
		if (want == nil || want(l.Location)) && !add(f) {
			return false
		}
	}
	whole = flush()
	return whole
}

// describe reads what a tape says of its run.
func describe(ctx context.Context, d *deck.Deck, at deck.Ref) (m reel.Meta, err error) {
	body, err := d.Store().Get(ctx, at.Key)
	if err != nil {
		return m, err
	}
	t, err := tape.Read(body)
	if err != nil {
		return m, err
	}
	m.Describe(t)
	m.Area, m.TapeBytes, m.Revision, m.Items = string(at.Location.Area), int64(len(body)), int64(at.Generation.Revision), int64(at.Generation.Items)
	return m, nil
}

// Beside are the keys of the locations of what lies as files in a deck of reels; nil for a deck of files.
func Beside(ctx context.Context, d *deck.Deck) (map[string]bool, error) {
	v, ok := d.Store().(*View)
	if !ok {
		return nil, nil
	}
	locations := map[string]bool{}
	for _, area := range deck.Areas() {
		for l, err := range v.locateFiles(ctx, area, "") {
			if err != nil {
				return nil, err
			}
			locations[l.Prefix()] = true
		}
	}
	return locations, nil
}

// runsOf returns the runs of a trace: from rows if nothing of it lies as a file, else from tapes.
func runsOf(ctx context.Context, d *deck.Deck, files map[string]bool, l deck.Location) (found []Run, err error) {
	why := ""
	if v, ok := d.Store().(*View); ok && !files[l.Prefix()] {
		t, err := v.trace(ctx, l)
		if err != nil {
			return nil, err
		}
		if t != nil {
			why = t.Keep()
		}
		if t != nil && t.Current != nil {
			for _, e := range t.Current.Runs {
				m := e.Meta
				m.Area = string(l.Area)
				found = append(found, Run{m, d.Ref(l, t.Current.Generation, e.RootSpanID, deck.TapeFile)})
			}
			return found, nil
		}
	}
	refs, err := runs.Current(ctx, d, l)
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		err := runs.Read(ctx, d, ref, func(at deck.Ref) error {
			m, err := describe(ctx, d, at)
			if err == nil {
				m.Keep = why
				found = append(found, Run{m, at})
			}
			return err
		})
		if errors.Is(err, deck.ErrNotFound) {
			continue // taken away since it was listed
		}
		if err != nil {
			return found, err
		}
	}
	return found, nil
}
