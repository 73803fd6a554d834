// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// Column is a column of a reel as a table of another engine declares it.
type Column struct {
	Name string
	Type ColumnType
	List bool // of texts
}

// ColumnType is the type of the values of a column.
type ColumnType int

// The types of columns.
const (
	Text ColumnType = iota
	Bytes
	Long
	Double
	Bool
	Instant // microseconds, UTC
)

// Schema returns all columns of a reel in their order, content included.
func Schema() (list []Column) {
	types := map[format.Type]ColumnType{format.ByteArray: Text, format.Int64: Long, format.Double: Double, format.Boolean: Bool}
	for _, c := range columns {
		column := Column{c.name, types[c.leaf.kind], c.leaf.list}
		switch c.name {
		case "evidence":
			column.Type = Bytes
		case "started_at", "ended_at":
			column.Type = Instant
		}
		list = append(list, column)
	}
	return list
}

// Inventory is what a catalog of tables records of a reel.
type Inventory struct {
	Object
	Rows           int64
	Tenant         string // of all rows, as the column says it
	Started, Ended Range
	Groups         []int64 // where row groups begin
}

// Range holds the bounds of a column of times, in microseconds.
type Range struct{ Low, High, Nulls int64 }

func (r *Range) add(v int64) {
	switch {
	case v == 0:
		r.Nulls++
	case r.Low == 0:
		r.Low, r.High = v, v
	default:
		r.Low, r.High = min(r.Low, v), max(r.High, v)
	}
}

// Inventory reads the inventory of a reel. A reel is of one area and one tenant; another one is
// deck.ErrCorrupt.
func (c *Catalog) Inventory(ctx context.Context, o Object) (Inventory, error) {
	v := Inventory{Object: o}
	f, err := c.openOne(ctx, o)
	if err != nil {
		return v, err
	}
	v.Rows = f.rows
	for _, g := range f.groups {
		if g.NumRows > 0 {
			first := g.Columns[0].MetaData
			v.Groups = append(v.Groups, cmp.Or(first.DictionaryPageOffset, first.DataPageOffset))
		}
	}
	first := true
	from := cursor{file: f, spans: f.all(), columns: []string{"tenant", "started_at", "ended_at", "area"}}
	for {
		e, err := from.peek(ctx)
		if err != nil {
			return v, fmt.Errorf("reel %s: %w", o.Key(), err)
		}
		if e == nil {
			return v, nil
		}
		from.buffer = from.buffer[1:]
		if first {
			v.Tenant, first = e.Tenant, false
		}
		if e.Tenant != v.Tenant || deck.SafeName(e.Tenant) != o.Tenant || deck.Area(e.Area) != o.Area {
			return v, fmt.Errorf("reel %s: %w: rows of another area or tenant", o.Key(), deck.ErrCorrupt)
		}
		v.Started.add(e.StartedAt)
		v.Ended.add(e.EndedAt)
	}
}

// Buried returns the positions of the rows of a reel that tombstones hide, in order. A row of which a
// tombstone leaves the evidence alone is one of them.
func (c *Catalog) Buried(ctx context.Context, o Object, tombs *Tombs) (positions []int64, err error) {
	var f *File
	for _, k := range tombs.Traces() {
		if k.Tenant != o.Tenant {
			continue
		}
		if f == nil {
			if f, err = c.openOne(ctx, o); err != nil {
				return nil, err
			}
		}
		spans, err := f.Find(ctx, "trace_id", k.TraceID, false)
		if err != nil {
			return nil, err
		}
		for _, s := range spans {
			rows, err := f.entries(ctx, s, nil)
			if err != nil {
				return nil, err
			}
			left, err := tombs.Left(ctx, rows)
			if err != nil {
				return nil, err
			}
			for _, e := range rows {
				if !slices.Contains(left.Rows, e) {
					positions = append(positions, f.position(e))
				}
			}
		}
	}
	slices.Sort(positions)
	return positions, nil
}

// position is the number of a row in the reel.
func (f *File) position(e *Entry) int64 {
	at := e.row
	for _, g := range f.groups[:e.group] {
		at += g.NumRows
	}
	return at
}

// Digest tells sets of tombstones apart.
func (t *Tombs) Digest() string {
	sum := sha256.New()
	for _, k := range t.Traces() {
		for _, b := range t.of[k] { // in the order of their listing
			_, _ = io.WriteString(sum, b.location.Prefix()+"/"+b.name+"\n")
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
