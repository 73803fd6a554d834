// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"math"
	"reflect"
	"slices"

	"github.com/parquet-go/parquet-go/format"
	"golang.org/x/sync/errgroup"
)

// Scan looks for runs in all reels of a deck, in no order. It reads the column of trace ids, then the columns that tell which runs are wanted, then what is asked of
// those runs. So most of a deck is not read.
type Scan struct {
	// Want chooses among the reels; nil is all.
	Want func(Name) bool
	// Equal are columns of texts, and the text that each has or, of a list, has among its values. They are looked at first.
	Equal []Equal
	// Filter are the columns that Test reads. Test chooses among the rows that have what Equal says; nil is all.
	Filter []string
	Test   func(*Meta) bool
	// Columns are read of the rows that are wanted; nil is all.
	Columns []string
	// First, if Limit is not 0, is a column of numbers or times: of the runs that are the only row of their trace, no more are given than those of the least values, or
	// with Last of the greatest, then of the least trace ids.
	First string
	Last  bool
	Limit int
	// Odd are traces that no row speaks for alone, whatever the reels say: of which something lies elsewhere, or was taken away.
	Odd []TraceKey
}

// Equal is a condition of a Scan.
type Equal struct{ Column, Value string }

// closeRows is how far apart rows may lie that are read together: they share pages, which are decoded once then.
const closeRows = 64

// needed are the columns without which a row has no address and no derivation.
var needed = []string{"tenant", "trace_id", "root_span_id", "run_id", "replay_run_id", "area", "part", "parts", "items", "producer", "revision"}

// scanned is one reel of a scan.
type scanned struct {
	file   *File
	tenant string
	salt   uint64
	ids    [][]traceID // by group, of each row
}

// traceID is a trace id, big-endian.
type traceID struct{ high, low uint64 }

// candidate is a row that passes, by the columns that were read so far.
type candidate struct {
	reel  int
	group int
	row   int64
	value float64 // of the column First
}

// Run calls run for each run that is the only row of its trace and passes, and trace for the rows of every other trace, which have to be united before anything
// can be said of them. Either returns false to end the scan.
func (s *Scan) Run(ctx context.Context, c *Catalog, run func(*Meta) bool, trace func([]*Entry) bool) error {
	var reels []*scanned
	err := c.retry(ctx, func(objects []Object) error {
		objects = slices.DeleteFunc(slices.Clone(objects), func(o Object) bool { return s.Want != nil && !s.Want(o.Name) })
		files, err := c.open(ctx, objects)
		if err != nil {
			return err
		}
		reels = make([]*scanned, len(files))
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(opened)
		for i, f := range files {
			reels[i] = &scanned{file: f, tenant: objects[i].Tenant, salt: salted(objects[i].Tenant)}
			g.Go(func() error { return reels[i].readIDs(ctx) })
		}
		return g.Wait()
	})
	if err != nil {
		return err
	}
	several := repeated(reels)
	for _, k := range s.Odd {
		if id, ok := parseTraceID([]byte(k.TraceID)); ok {
			several[id.short(salted(k.Tenant))] = true
		}
	}
	united := map[TraceKey][]*Entry{}
	var keys []TraceKey
	unite := func(r *scanned, group int, odd []bool) error {
		for _, at := range spansOf(group, odd, closeRows) {
			entries, err := r.file.entries(ctx, at, nil)
			if err != nil {
				return err
			}
			for _, e := range entries {
				if !odd[e.row] {
					continue
				}
				k := TraceKey{r.tenant, e.TraceID}
				if united[k] == nil {
					keys = append(keys, k)
				}
				united[k] = append(united[k], e)
			}
		}
		return nil
	}
	var candidates []candidate
	for i, r := range reels {
		for group := range r.ids {
			pass, odd, err := s.group(ctx, r, group, several)
			if err != nil {
				return err
			}
			if s.Limit > 0 {
				if candidates, err = s.weigh(ctx, candidates, i, r, group, pass); err != nil {
					return err
				}
			} else {
				again, more, err := s.take(ctx, r, group, pass, run)
				if err != nil || !more {
					return err
				}
				for i := range odd {
					odd[i] = odd[i] || again[i]
				}
			}
			if err := unite(r, group, odd); err != nil {
				return err
			}
		}
	}
	s.sort(reels, candidates)
	for taken := 0; taken < s.Limit && len(candidates) > 0; candidates = candidates[1:] {
		c := candidates[0]
		pass := make([]bool, c.row+1)
		pass[c.row] = true
		odd, more, err := s.take(ctx, reels[c.reel], c.group, pass, run)
		if err != nil || !more {
			return err
		}
		if !slices.Contains(odd, true) {
			taken++
		}
		if err := unite(reels[c.reel], c.group, odd); err != nil {
			return err
		}
	}
	for _, k := range keys {
		if !trace(united[k]) {
			return nil
		}
	}
	return nil
}

// readIDs reads the trace ids of all rows.
func (r *scanned) readIDs(ctx context.Context) error {
	for _, at := range r.file.all() {
		v, err := r.file.read(ctx, "trace_id", at)
		if err != nil {
			return err
		}
		ids := make([]traceID, v.rows)
		for i, text := range v.texts {
			id, ok := parseTraceID(text)
			if !ok {
				return corrupt("a trace id that is none")
			}
			ids[i] = id
		}
		if int64(len(ids)) != at.to {
			return corrupt("%d trace ids of %d rows", len(ids), at.to)
		}
		r.ids = append(r.ids, ids)
	}
	return nil
}

const spread64 = 0x9E3779B97F4A7C15

// salted is a number for a tenant: traces of two tenants are two. It is FNV-1a.
func salted(tenant string) (salt uint64) {
	for _, b := range []byte(tenant) {
		salt = (salt ^ uint64(b)) * 1099511628211
	}
	return salt
}

func parseTraceID(text []byte) (traceID, bool) {
	var id [16]byte
	if len(text) != 32 {
		return traceID{}, false
	}
	if _, err := hex.Decode(id[:], text); err != nil {
		return traceID{}, false
	}
	return traceID{binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])}, true
}

// short is a trace of a tenant as a number that is not 0. Two traces may come to the same one: they are looked at more closely than they need be.
func (id traceID) short(salt uint64) uint64 { return max(1, id.high^id.low*spread64^salt) }

// repeated are the traces that have more than one row.
func repeated(reels []*scanned) map[uint64]bool {
	n := 0
	for _, r := range reels {
		n += r.file.Rows()
	}
	size := 16
	for size < 2*n {
		size *= 2
	}
	table := make([]uint64, size) // open addressing; 0 is free
	several := map[uint64]bool{}
	for _, r := range reels {
		for _, ids := range r.ids {
			for _, full := range ids {
				id := full.short(r.salt)
				at := int(id*spread64>>32) & (size - 1)
				for table[at] != 0 && table[at] != id {
					at = (at + 1) & (size - 1)
				}
				if table[at] == id {
					several[id] = true
				}
				table[at] = id
			}
		}
	}
	return several
}

// group looks at a row group. It returns the rows that pass, and those of traces that have to be united.
func (s *Scan) group(ctx context.Context, r *scanned, group int, several map[uint64]bool) (pass, odd []bool, err error) {
	rows := len(r.ids[group])
	all := span{group, 0, int64(rows)}
	unclear := make([]bool, rows)
	for i, id := range r.ids[group] {
		unclear[i] = len(several) > 0 && several[id.short(r.salt)]
	}
	if nulls, err := r.file.nulls(group, "run_id"); err != nil {
		return nil, nil, err
	} else if nulls != 0 {
		v, err := r.file.read(ctx, "run_id", all)
		if err != nil {
			return nil, nil, err
		}
		for i, null := range v.null {
			unclear[i] = unclear[i] || null
		}
	}
	pass = make([]bool, rows)
	for i := range pass {
		pass[i] = !unclear[i]
	}
	for _, e := range s.Equal {
		if !slices.Contains(pass, true) {
			break
		}
		v, err := r.file.read(ctx, e.Column, all)
		if err != nil {
			return nil, nil, err
		}
		for i := range pass {
			pass[i] = pass[i] && v.has(i, e.Value)
		}
	}
	// What passes may lie far apart: pages without any are not read.
	for _, at := range spansOf(group, pass, closeRows) {
		if s.Test != nil {
			metas, err := r.file.metas(ctx, at, s.Filter)
			if err != nil {
				return nil, nil, err
			}
			for i := range metas {
				row := at.from + int64(i)
				pass[row] = pass[row] && s.Test(&metas[i])
			}
		}
	}
	return pass, unclear, nil
}

// take reads what is asked for of the rows of a group that pass. It returns those that do not stand for their trace alone.
func (s *Scan) take(ctx context.Context, r *scanned, group int, pass []bool, run func(*Meta) bool) (odd []bool, more bool, err error) {
	unclear := make([]bool, len(pass))
	columns := s.Columns
	if columns != nil {
		columns = slices.Concat(columns, needed)
	}
	for _, at := range spansOf(group, pass, closeRows) {
		metas, err := r.file.metas(ctx, at, columns)
		if err != nil {
			return nil, false, err
		}
		for i := range metas {
			m, row := &metas[i], at.from+int64(i)
			switch {
			case !pass[row]:
			case m.Part == "" || len(m.Parts) != 1 || m.Parts[0] != m.Part:
				unclear[row] = true // of several pieces, or of one that is not there
			default:
				if err := m.check(); err != nil {
					return nil, false, err
				}
				if !run(m) {
					return nil, false, nil
				}
			}
		}
	}
	return unclear, true, nil
}

// weigh adds the rows of a group that pass to the candidates.
func (s *Scan) weigh(ctx context.Context, list []candidate, reel int, r *scanned, group int, pass []bool) ([]candidate, error) {
	for _, at := range spansOf(group, pass, closeRows) {
		v, err := r.file.read(ctx, s.First, at)
		if err != nil {
			return nil, err
		}
		for i := range v.rows {
			if row := at.from + int64(i); pass[row] {
				list = append(list, candidate{reel, group, row, v.number(i)})
			}
		}
	}
	return list, nil
}

// sort puts the candidates first that are wanted first.
func (s *Scan) sort(reels []*scanned, list []candidate) {
	slices.SortFunc(list, func(a, b candidate) int {
		order := cmp.Compare(a.value, b.value)
		if s.Last {
			order = -order
		}
		x, y := reels[a.reel].ids[a.group][a.row], reels[b.reel].ids[b.group][b.row]
		return cmp.Or(order, cmp.Compare(x.high, y.high), cmp.Compare(x.low, y.low))
	})
}

// number is a value as a number; the least if there is none.
func (v *vector) number(row int) float64 {
	switch {
	case v.null[row]:
	case v.leaf.kind == format.Int64:
		return float64(v.longs[row])
	case v.leaf.kind == format.Double && !math.IsNaN(v.floats[row]):
		return v.floats[row]
	}
	return math.Inf(-1)
}

// IsNumber tells whether a narrow column can be Scan.First.
func IsNumber(name string) bool {
	kind, ok := KindOf(name)
	return ok && (kind == reflect.Int64 || kind == reflect.Float64)
}

// spansOf are the rows that are chosen, as spans. Those that lie no further apart than gap are one; they hold rows that are not chosen then.
func spansOf(group int, chosen []bool, gap int64) (spans []span) {
	for i, ok := range chosen {
		row := int64(i)
		switch n := len(spans); {
		case !ok:
		case n > 0 && row-spans[n-1].to <= gap:
			spans[n-1].to = row + 1
		default:
			spans = append(spans, span{group, row, row + 1})
		}
	}
	return spans
}

// has tells whether a row has a text, or has it among its values.
func (v *vector) has(row int, text string) bool {
	if v.leaf.list {
		return slices.ContainsFunc(v.texts[v.start(row):v.ends[row]], func(b []byte) bool { return string(b) == text })
	}
	return !v.null[row] && string(v.texts[row]) == text
}

// nulls is how many rows of a group have no value in a column; -1 if the index does not say it.
func (f *File) nulls(group int, name string) (n int64, err error) {
	defer recovered(&err)
	c := f.leaves[name]
	if c.index == absent {
		return f.groups[group].NumRows, nil
	}
	chunk := &f.groups[group].Columns[c.index]
	b, ok := f.at(chunk.ColumnIndexOffset, int64(chunk.ColumnIndexLength))
	if !ok || len(b) == 0 {
		return -1, nil
	}
	var index format.ColumnIndex
	if _, err := unmarshal(b, &index); err != nil {
		return 0, err
	}
	if len(index.NullCounts) != len(index.NullPages) {
		return -1, nil
	}
	for _, nulls := range index.NullCounts {
		n += nulls
	}
	return n, nil
}

// IsText tells whether a narrow column holds texts, or lists of them.
func IsText(name string) bool {
	kind, ok := KindOf(name)
	return ok && kind == reflect.String
}

// KindOf is what a narrow column holds, or its lists: reflect.String, Int64 (times too), Float64 or Bool.
func KindOf(name string) (reflect.Kind, bool) {
	i := slices.IndexFunc(columns, func(c column) bool { return c.name == name && !slices.Contains(wideColumns, name) })
	if i < 0 {
		return 0, false
	}
	t := reflect.TypeFor[Meta]().Field(columns[i].field[1]).Type
	if k := t.Kind(); k == reflect.Pointer || k == reflect.Slice {
		t = t.Elem()
	}
	return t.Kind(), true
}
