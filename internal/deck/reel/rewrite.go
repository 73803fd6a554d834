// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// Evidence returns how many bytes the evidence of a part has, and how to read it.
func (t *Trace) Evidence(part string) (size int64, read func(ctx context.Context) ([]byte, error)) {
	e := t.evidence(part)
	if e == nil {
		return 0, func(context.Context) ([]byte, error) {
			return nil, fmt.Errorf("%w: no row of trace %s has the evidence %s", deck.ErrCorrupt, t.Location.TraceID, part)
		}
	}
	return e.EvidenceBytes, func(ctx context.Context) ([]byte, error) { return e.content(ctx, "evidence") }
}

// Tape reads tape.json.
func (e *Entry) Tape(ctx context.Context) ([]byte, error) { return e.content(ctx, "tape") }

// Formats are those of the newest row.
func (t *Trace) Formats() []string {
	var newest *Entry
	for _, e := range t.Entries {
		if len(e.Formats) > 0 && (newest == nil || e.Items > newest.Items || e.Items == newest.Items && slices.Compare(e.Formats, newest.Formats) > 0) {
			newest = e
		}
	}
	if newest == nil {
		return nil
	}
	return newest.Formats
}

// replacedTogether is how many reels are removed at a time, by one announcement. Until then they take room
// beside what replaces them.
const replacedTogether = 64

// Rewrite writes the reels that hold some traces again: change changes their rows, and says which stay. What tombstones take away leaves these reels, too. A reel is taken
// away after what stays of it is durable. Stopped anywhere, it can be called again.
//
// Whoever erases puts the tombstone before it looks for reels, and whoever writes reels from others looks at the tombstones behind its last write. So of two that
// meet, the later look sees what the other has done.
func (c *Catalog) Rewrite(ctx context.Context, wanted func(TraceKey) bool, change func(*Row) bool) error {
	defer c.Stale()
	const most = 10
	for range most {
		tombs, err := LoadTombs(ctx, c.store)
		if err != nil {
			return err
		}
		c.Stale()
		objects, err := c.List(ctx)
		if err != nil {
			return err
		}
		again := false
		var written, replaced []Object
		for _, o := range objects {
			made, changed, err := c.rewrite(ctx, o, tombs, wanted, change)
			if errors.Is(err, deck.ErrNotFound) {
				again = true // a compaction has put its rows into another one
				continue
			}
			if err != nil {
				return fmt.Errorf("rewrite %s: %w", o.Key(), err)
			}
			if made != nil {
				written = append(written, *made)
			}
			if changed {
				replaced = append(replaced, o)
			}
			if len(replaced) == replacedTogether {
				if err := c.delete(ctx, replaced...); err != nil {
					return err
				}
				replaced = nil
			}
		}
		if err := c.delete(ctx, replaced...); err != nil {
			return err
		}
		if err := c.Settle(ctx, tombs, written); err != nil {
			return err
		}
		if !again {
			return nil
		}
	}
	return errors.New("the reels of the deck change all the time; call it again")
}

// Settle takes out of reels that were just written what was buried since tombstones were loaded.
func (c *Catalog) Settle(ctx context.Context, before *Tombs, written []Object) error {
	for len(written) > 0 {
		tombs, err := LoadTombs(ctx, c.store)
		if err != nil {
			return err
		}
		fresh := tombs.Since(before)
		if len(fresh) == 0 {
			return nil
		}
		before = tombs
		var next, replaced []Object
		for _, o := range written {
			made, changed, err := c.rewrite(ctx, o, tombs, func(k TraceKey) bool { return fresh[TraceKey{deck.SafeName(k.Tenant), k.TraceID}] }, nil)
			if err != nil && !errors.Is(err, deck.ErrNotFound) { // who has taken it away has looked as well
				return err
			}
			if made != nil {
				next = append(next, *made)
			}
			if changed {
				replaced = append(replaced, o)
			}
		}
		if err := c.delete(ctx, replaced...); err != nil {
			return err
		}
		written = next
	}
	return nil
}

// rewrite writes a reel again if it holds wanted traces, and returns what it has written: nil where nothing
// stays. Where the reel has changed, the caller deletes it.
func (c *Catalog) rewrite(ctx context.Context, o Object, tombs *Tombs, wanted func(TraceKey) bool, change func(*Row) bool) (made *Object, changed bool, err error) {
	f, err := c.openOne(ctx, o)
	if err != nil {
		return nil, false, err
	}
	holds := false
	for _, s := range f.all() {
		keys, err := f.metas(ctx, s, []string{"tenant", "trace_id"})
		if err != nil {
			return nil, false, err
		}
		holds = holds || slices.ContainsFunc(keys, func(m Meta) bool { return wanted(TraceKey{m.Tenant, m.TraceID}) })
	}
	if !holds {
		return nil, false, nil
	}
	encoder := newEncoder()
	from, content := cursor{file: f, spans: f.all()}, window{file: f}
	for {
		e, err := from.peek(ctx)
		if err != nil {
			return nil, false, err
		}
		if e == nil {
			break
		}
		from.buffer = from.buffer[1:]
		left, err := tombs.Left(ctx, []*Entry{e})
		if err != nil {
			return nil, false, err
		}
		if len(left.Rows) == 0 {
			continue
		}
		row := Row{Meta: left.Rows[0].Meta}
		if row.Evidence, err = content.read(ctx, e, "evidence"); err != nil {
			return nil, false, err
		}
		if row.TapeBytes > 0 {
			if row.Tape, err = content.read(ctx, e, "tape"); err != nil {
				return nil, false, err
			}
		}
		if change != nil && wanted(TraceKey{row.Tenant, row.TraceID}) && !change(&row) {
			continue
		}
		if err := encoder.add(row); err != nil {
			return nil, false, err
		}
	}
	if encoder.rows == 0 {
		return nil, true, nil
	}
	body, err := encoder.close()
	if err != nil {
		return nil, false, err
	}
	n := NameOf(o.Area, o.Tenant, c.now(), o.Level, body)
	n.Tenant, n.Date = o.Tenant, o.Date
	if n == o.Name {
		return nil, false, nil
	}
	if _, err := c.store.PutNew(ctx, n.Key(), body, contentType); err != nil {
		return nil, false, err
	}
	return &Object{n, int64(len(body))}, true, nil
}
