// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"context"
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

// rows reads all of a reel, content included.
func (f *File) load(ctx context.Context) (rows []Row, err error) {
	for _, s := range f.all() {
		metas, err := f.metas(ctx, s, nil)
		if err != nil {
			return nil, err
		}
		evidence, err := f.read(ctx, "evidence", s)
		if err != nil {
			return nil, err
		}
		tapes, err := f.read(ctx, "tape", s)
		if err != nil {
			return nil, err
		}
		if evidence.rows != len(metas) || tapes.rows != len(metas) {
			return nil, corrupt("rows without content")
		}
		for i, m := range metas {
			rows = append(rows, Row{m, evidence.texts[i], tapes.texts[i]})
		}
	}
	return rows, nil
}

// Rewrite writes the reels that hold some traces again: change changes their rows, and says which stay. A reel is taken away after what stays of it is durable.
// Stopped anywhere, it can be called again.
func (c *Catalog) Rewrite(ctx context.Context, wanted func(TraceKey) bool, change func(*Row) bool) error {
	defer c.Stale()
	c.Stale()
	objects, err := c.List(ctx)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := c.rewrite(ctx, o, wanted, change); err != nil {
			return fmt.Errorf("rewrite %s: %w", o.Key(), err)
		}
	}
	return nil
}

func (c *Catalog) rewrite(ctx context.Context, o Object, wanted func(TraceKey) bool, change func(*Row) bool) error {
	f, err := c.file(ctx, o)
	if err != nil {
		return err
	}
	holds := false
	for _, s := range f.all() {
		keys, err := f.metas(ctx, s, []string{"tenant", "trace_id"})
		if err != nil {
			return err
		}
		holds = holds || slices.ContainsFunc(keys, func(m Meta) bool { return wanted(TraceKey{m.Tenant, m.TraceID}) })
	}
	if !holds {
		return nil
	}
	rows, err := f.load(ctx)
	if err != nil {
		return err
	}
	kept := rows[:0]
	for _, row := range rows {
		if !wanted(TraceKey{row.Tenant, row.TraceID}) || change(&row) {
			kept = append(kept, row)
		}
	}
	if len(kept) > 0 {
		body, err := Encode(kept)
		if err != nil {
			return err
		}
		n := NameOf(o.Area, o.Tenant, c.now(), o.Level, body)
		if n.Date = o.Date; n == o.Name {
			return nil
		}
		if _, err := c.store.PutNew(ctx, n.Key(), body, contentType); err != nil {
			return err
		}
	}
	return c.store.Delete(ctx, o.Key())
}
