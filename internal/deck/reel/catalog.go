// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// Object is a reel as a listing shows it.
type Object struct {
	Name
	Size int64
}

// Catalog is the reels of a deck. It is safe for concurrent use.
type Catalog struct {
	store deck.Store // that holds the reels, not a view of it
	cache Cache
	now   func() time.Time
	// beforeRemoval is told of reels before they are removed; nil is nobody.
	beforeRemoval func(ctx context.Context, keys []string) error
	// recent and nearby are for the files that stay open.
	recent *recent
	nearby nearby

	mu      sync.Mutex
	objects []Object
	indexes []idObject
	answers map[lookUp]map[string]bool // of the indexes
	files   map[string]*File           // open ones, by key
	listed  time.Time                  // zero: never, or no longer true
	pruned  bool
	changed bool // reels were taken away
}

// fresh is how long a listing is taken for true. A reader that finds a reel gone lists again at once.
const fresh = time.Second

// opened is how many reels are opened at a time.
const opened = 16

// NewCatalog returns the catalog of the reels in a store.
func NewCatalog(store deck.Store, cache Cache) *Catalog {
	return &Catalog{store: store, cache: cache, now: time.Now, recent: newRecent(), nearby: nearby{chunks: map[chunkKey][]*Entry{}}, files: map[string]*File{}, answers: map[lookUp]map[string]bool{}}
}

// BeforeRemoval has a function called with the keys of reels before they are removed: when what stays of them
// is durable. Where it fails, nothing is removed. Set it before anything is removed.
func (c *Catalog) BeforeRemoval(told func(ctx context.Context, keys []string) error) {
	c.beforeRemoval = told
}

// Announce says that reels are about to be removed.
func (c *Catalog) Announce(ctx context.Context, keys []string) error {
	if c.beforeRemoval == nil || len(keys) == 0 {
		return nil
	}
	if err := c.beforeRemoval(ctx, keys); err != nil {
		return fmt.Errorf("before the removal of %d reels: %w", len(keys), err)
	}
	return nil
}

// delete announces the removal of reels, and removes them.
func (c *Catalog) delete(ctx context.Context, objects ...Object) error {
	keys := make([]string, len(objects))
	for i, o := range objects {
		keys[i] = o.Key()
	}
	if err := c.Announce(ctx, keys); err != nil {
		return err
	}
	c.mu.Lock()
	c.changed = c.changed || len(keys) > 0
	c.mu.Unlock()
	for _, key := range keys {
		if err := c.store.Delete(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// Stale makes the next reader list the reels again.
func (c *Catalog) Stale() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listed = time.Time{}
}

// List returns the reels, in the order of keys.
func (c *Catalog) List(ctx context.Context) ([]Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.listed.IsZero() && c.now().Sub(c.listed) < fresh {
		return c.objects, nil
	}
	at := c.now()
	objects, indexes, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	c.objects, c.listed = objects, at
	if !slices.Equal(indexes, c.indexes) {
		c.indexes = indexes
		clear(c.answers)
	}
	there := map[string]bool{}
	for _, o := range objects {
		there[o.Key()] = true
	}
	for key := range c.files {
		if !there[key] {
			c.recent.forget(key, c.files[key])
			c.nearby.forget(c.files[key])
			delete(c.files, key)
		}
	}
	if !c.pruned {
		c.pruned = true
		c.cache.prune(objects, indexes)
	}
	return objects, nil
}

// list lists until two listings are the same. A listing is no snapshot: of a compaction that runs beside it, one listing can come too early for the output and
// too late for the input.
func (c *Catalog) list(ctx context.Context) (before []Object, indexes []idObject, err error) {
	const most = 5
	for i := range most {
		var objects []Object
		indexes = nil
		for o, err := range c.store.List(ctx, Area+"/") {
			if err != nil {
				return nil, nil, err
			}
			if n, ok := ParseName(o.Key); ok {
				objects = append(objects, Object{n, o.Size})
			} else if digest, ok := ParseIDs(o.Key); ok {
				indexes = append(indexes, idObject{digest, o.Size})
			}
		}
		if i > 0 && slices.Equal(before, objects) || len(objects) == 0 {
			return objects, indexes, nil
		}
		before = objects
	}
	return before, indexes, nil // it changes all the time: what is gone is found out when it is read
}

// file opens a reel, and keeps it open.
func (c *Catalog) file(ctx context.Context, o Object) (*File, error) {
	key := o.Key()
	c.mu.Lock()
	f := c.files[key]
	c.mu.Unlock()
	if f != nil {
		return f, nil
	}
	f, err := c.openOne(ctx, o)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := c.files[key]; first != nil {
		return first, nil // somebody else was faster
	}
	f.recent, f.fetch = c.recent, c.recent.fetch(key, f.fetch)
	c.files[key] = f
	return f, nil
}

func (c *Catalog) openOne(ctx context.Context, o Object) (*File, error) {
	key := o.Key()
	fetch := c.fetch(key)
	tail := c.cache.read(o.Digest)
	f, err := Open(ctx, fetch, o.Size, tail)
	if err != nil && tail != nil { // the copy is damaged, or the reel is gone
		tail = nil
		f, err = Open(ctx, fetch, o.Size, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("reel %s: %w", key, err)
	}
	if tail == nil {
		c.cache.write(o.Digest, f.Tail())
	}
	return f, nil
}

// open opens reels side by side.
func (c *Catalog) open(ctx context.Context, objects []Object) ([]*File, error) {
	files := make([]*File, len(objects))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(opened)
	for i, o := range objects {
		g.Go(func() (err error) {
			files[i], err = c.file(ctx, o)
			return err
		})
	}
	return files, g.Wait()
}

// retry calls read again when a reel is gone: a compaction has put its rows into another one.
func (c *Catalog) retry(ctx context.Context, read func(objects []Object) error) error {
	const most = 5
	for i := 1; ; i++ {
		objects, err := c.List(ctx)
		if err == nil {
			err = read(objects)
		}
		if !errors.Is(err, deck.ErrNotFound) || i == most {
			return err
		}
		c.Stale()
	}
}

// TraceKey names a trace.
type TraceKey struct{ Tenant, TraceID string }

func (k TraceKey) compare(o TraceKey) int {
	return cmp.Or(strings.Compare(k.Tenant, o.Tenant), strings.Compare(k.TraceID, o.TraceID))
}

// Find returns the traces of which a row has a value in a column, or, by prefix, begins with it.
func (c *Catalog) Find(ctx context.Context, column, value string, prefix bool) (found []TraceKey, err error) {
	err = c.retry(ctx, func(objects []Object) error {
		found = nil
		files, err := c.open(ctx, c.near(ctx, objects, column, value, prefix))
		if err != nil {
			return err
		}
		var mu sync.Mutex
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(opened)
		for _, f := range files {
			g.Go(func() error {
				spans, err := f.Find(ctx, column, value, prefix)
				if err != nil {
					return err
				}
				for _, s := range spans {
					rows, err := f.metas(ctx, s, []string{"tenant", "trace_id"})
					if err != nil {
						return err
					}
					mu.Lock()
					for _, m := range rows {
						found = append(found, TraceKey{m.Tenant, m.TraceID})
					}
					mu.Unlock()
				}
				return nil
			})
		}
		return g.Wait()
	})
	slices.SortFunc(found, TraceKey.compare)
	return slices.Compact(found), err
}

// Trace returns the rows of a trace, of the tenants that stand in keys as tenant.
func (c *Catalog) Trace(ctx context.Context, tenant, traceID string) (entries []*Entry, err error) {
	err = c.retry(ctx, func(objects []Object) error {
		entries = nil
		objects = slices.DeleteFunc(slices.Clone(objects), func(o Object) bool { return o.Tenant != tenant })
		files, err := c.open(ctx, c.near(ctx, objects, "trace_id", traceID, false))
		if err != nil {
			return err
		}
		var mu sync.Mutex
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(opened)
		for _, f := range files {
			g.Go(func() error {
				spans, err := f.Find(ctx, "trace_id", traceID, false)
				if err != nil {
					return err
				}
				for _, s := range spans {
					found, err := c.nearby.entries(ctx, f, s)
					if err != nil {
						return err
					}
					mu.Lock()
					entries = append(entries, found...)
					mu.Unlock()
				}
				return nil
			})
		}
		return g.Wait()
	})
	return entries, err
}

// entries reads the rows of a span, with these columns or all.
func (f *File) entries(ctx context.Context, s span, columns []string) ([]*Entry, error) {
	rows, err := f.metas(ctx, s, columns)
	if err != nil {
		return nil, err
	}
	entries := make([]*Entry, len(rows))
	for i := range rows {
		entries[i] = &Entry{rows[i], f, s.group, s.from + int64(i)}
		if err := rows[i].check(); columns == nil && err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// content reads a wide column of the row.
func (e *Entry) content(ctx context.Context, column string) ([]byte, error) {
	return e.file.content(ctx, column, e.group, e.row)
}

// chunkRows is how many rows of a reel a walk holds.
const chunkRows = 1024

// cursor reads the rows of a reel in order.
type cursor struct {
	file    *File
	spans   []span
	columns []string // that are read; nil is all
	buffer  []*Entry
}

// peek returns the next row; nil at the end.
func (c *cursor) peek(ctx context.Context) (*Entry, error) {
	for len(c.buffer) == 0 {
		if len(c.spans) == 0 {
			return nil, nil
		}
		s := c.spans[0]
		if s.to-s.from > chunkRows {
			s.to = s.from + chunkRows
			c.spans[0].from = s.to
		} else {
			c.spans = c.spans[1:]
		}
		var err error
		if c.buffer, err = c.file.entries(ctx, s, c.columns); err != nil {
			return nil, err
		}
	}
	return c.buffer[0], nil
}

// Walk yields the rows of each trace of the deck, in the order of tenants, then of trace ids. want chooses among the reels; nil is all.
func (c *Catalog) Walk(ctx context.Context, want func(Name) bool) iter.Seq2[[]*Entry, error] {
	return c.walkColumns(ctx, want, nil)
}

// walkColumns is Walk with some columns of the rows; nil is all.
func (c *Catalog) walkColumns(ctx context.Context, want func(Name) bool, columns []string) iter.Seq2[[]*Entry, error] {
	return func(yield func([]*Entry, error) bool) {
		var last TraceKey
		err := c.retryWalk(ctx, &last, want, columns, func(entries []*Entry) bool { return yield(entries, nil) })
		if err != nil {
			yield(nil, err)
		}
	}
}

// retryWalk walks on behind the last trace when a reel is gone.
func (c *Catalog) retryWalk(ctx context.Context, last *TraceKey, want func(Name) bool, columns []string, yield func([]*Entry) bool) error {
	const most = 5
	for failed := 0; ; {
		before := *last
		err := c.walk(ctx, last, want, columns, yield)
		if !errors.Is(err, deck.ErrNotFound) {
			return err
		}
		if failed++; *last != before {
			failed = 0
		}
		if failed == most {
			return err
		}
		c.Stale()
	}
}

func (c *Catalog) walk(ctx context.Context, last *TraceKey, want func(Name) bool, columns []string, yield func([]*Entry) bool) error {
	all, err := c.List(ctx)
	if err != nil {
		return err
	}
	byTenant := map[string][]Object{}
	var tenants []string
	for _, o := range all {
		if want != nil && !want(o.Name) {
			continue
		}
		if byTenant[o.Tenant] == nil {
			tenants = append(tenants, o.Tenant)
		}
		byTenant[o.Tenant] = append(byTenant[o.Tenant], o)
	}
	slices.SortFunc(tenants, func(a, b string) int { return strings.Compare(a+"/", b+"/") }) // as keys stand
	for _, tenant := range tenants {
		if done := deck.SafeName(last.Tenant); *last != (TraceKey{}) && tenant+"/" < done+"/" {
			continue
		}
		if stop, err := c.walkTenant(ctx, byTenant[tenant], tenant, last, columns, yield); stop || err != nil {
			return err
		}
	}
	return nil
}

// walkTenant merges the reels of a tenant, which are in the order of trace ids.
func (c *Catalog) walkTenant(ctx context.Context, objects []Object, tenant string, last *TraceKey, columns []string, yield func([]*Entry) bool) (stop bool, err error) {
	files, err := c.open(ctx, objects)
	if err != nil {
		return false, err
	}
	cursors := make([]*cursor, len(files))
	for i, f := range files {
		cursors[i] = &cursor{file: f, spans: f.all(), columns: columns}
	}
	for {
		next := ""
		for _, c := range cursors {
			e, err := c.peek(ctx)
			if err != nil {
				return false, err
			}
			if e != nil && (next == "" || e.TraceID < next) {
				next = e.TraceID
			}
		}
		if next == "" {
			return false, nil
		}
		var entries []*Entry
		for _, c := range cursors {
			for {
				e, err := c.peek(ctx)
				if err != nil {
					return false, err
				}
				if e == nil || e.TraceID != next {
					break
				}
				entries = append(entries, e)
				c.buffer = c.buffer[1:]
			}
		}
		key := TraceKey{entries[0].Tenant, next}
		if *last != (TraceKey{}) && deck.SafeName(last.Tenant) == tenant && next <= last.TraceID {
			continue
		}
		if !yield(entries) {
			return true, nil
		}
		*last = key
	}
}
