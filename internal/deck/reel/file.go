// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/parquet-go/parquet-go/bloom"
	"github.com/parquet-go/parquet-go/bloom/xxhash"
	"github.com/parquet-go/parquet-go/format"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// Bounds of a reel. One above them was not written by this project.
const (
	maxFooter   = 32 << 20
	maxIndex    = 256 << 20 // footer, page index and bloom filters
	maxRows     = 1 << 24
	maxGroup    = 1 << 17  // rows of a row group: Encode divides by bytes, and no row weighs less than minRow
	maxPageRows = 1 << 20  // values of a page
	maxNarrow   = 16 << 20 // bytes of a page of a narrow column, decompressed

	firstTail = 64 << 10 // that a look-up fetches before it knows how long the footer is
	magic     = "PAR1"
)

// Fetch reads length bytes of a reel from an offset.
type Fetch func(ctx context.Context, offset, length int64) ([]byte, error)

// File is an open reel: its index in memory, its pages in the store. Nothing in it is believed: what does not hold together is deck.ErrCorrupt. It is safe for concurrent use.
//
// The pages are decoded here and not by parquet-go, which makes room for whatever a page claims to hold.
type File struct {
	fetch     Fetch
	size      int64
	tail      []byte // from tailStart to the end: bloom filters, page index, footer
	tailStart int64
	leaves    map[string]leaf
	groups    []format.RowGroup
	rows      int64
	recent    *recent // content that was read lately; nil keeps none
}

// leaf is a column.
type leaf struct {
	index    int
	kind     format.Type
	list     bool
	optional bool
}

// absent is the index of a column that a reel does not have, see laterColumns.
const absent = -1

// Open reads the index of a reel of so many bytes. tail is what Tail returned for it before, or nil.
func Open(ctx context.Context, fetch Fetch, size int64, tail []byte) (_ *File, err error) {
	defer recovered(&err)
	f := &File{fetch: fetch, size: size}
	if size < 12 || size > deck.MaxObjectBytes {
		return nil, corrupt("a reel of %d bytes", size)
	}
	if tail == nil {
		if tail, err = f.get(ctx, max(0, size-firstTail), min(size, firstTail)); err != nil {
			return nil, err
		}
	}
	footer := int64(0)
	if n := len(tail); n < 12 || int64(n) > size || string(tail[n-4:]) != magic {
		return nil, corrupt("not a Parquet file")
	} else if footer = int64(binary.LittleEndian.Uint32(tail[n-8:])) + 8; footer > min(maxFooter, size-4) {
		return nil, corrupt("a footer of %d bytes", footer)
	}
	if tail, err = f.extend(ctx, tail, size-footer); err != nil {
		return nil, err
	}
	var meta format.FileMetaData
	if _, err := unmarshal(tail[int64(len(tail))-footer:len(tail)-8], &meta); err != nil {
		return nil, err
	}
	if err := f.adopt(&meta, size-footer); err != nil {
		return nil, err
	}
	start, err := f.indexStart(size - footer)
	if err != nil {
		return nil, err
	}
	if f.tail, err = f.extend(ctx, tail, start); err != nil {
		return nil, err
	}
	f.tail = f.tail[int64(len(f.tail))-(size-start):]
	f.tailStart = start
	return f, nil
}

// Tail is what Open needs to read nothing of the reel.
func (f *File) Tail() []byte { return f.tail }

// Rows is the number of rows.
func (f *File) Rows() int { return int(f.rows) }

func (f *File) get(ctx context.Context, offset, length int64) ([]byte, error) {
	b, err := f.fetch(ctx, offset, length)
	if err == nil && int64(len(b)) != length {
		err = corrupt("%d bytes at %d where %d should be", len(b), offset, length)
	}
	return b, err
}

// extend puts what lies between start and a tail before the tail.
func (f *File) extend(ctx context.Context, tail []byte, start int64) ([]byte, error) {
	have := f.size - int64(len(tail))
	if start >= have {
		return tail, nil
	}
	more, err := f.get(ctx, start, have-start)
	return append(slices.Clip(more), tail...), err
}

// adopt takes over what the footer says; end is where it begins.
func (f *File) adopt(meta *format.FileMetaData, end int64) error {
	if !slices.ContainsFunc(meta.KeyValueMetadata, func(kv format.KeyValue) bool { return kv.Key == formatKey && kv.Value == Format }) {
		return corrupt("not a reel of format %s", Format)
	}
	leaves, err := leavesOf(meta.Schema)
	if err != nil {
		return err
	}
	f.leaves, f.groups = map[string]leaf{}, meta.RowGroups
	for _, field := range columns {
		have, ok := leaves[field.path()]
		if !ok && slices.Contains(laterColumns, field.name) {
			have, ok = field.leaf, true
			have.index = absent
		}
		if !ok || have.kind != field.leaf.kind || have.list != field.leaf.list || have.optional != field.leaf.optional {
			return corrupt("the column %s is not there or of another type", field.name)
		}
		f.leaves[field.name] = have
	}
	for _, g := range f.groups {
		if g.NumRows < 0 || g.NumRows > maxGroup || len(g.Columns) != len(leaves) {
			return corrupt("a row group of %d rows and %d columns", g.NumRows, len(g.Columns))
		}
		if f.rows += g.NumRows; f.rows > maxRows {
			return corrupt("more than %d rows", maxRows)
		}
	}
	if f.rows != meta.NumRows {
		return corrupt("%d rows in groups, %d in all", f.rows, meta.NumRows)
	}
	return nil
}

// leavesOf numbers the columns of a schema.
func leavesOf(schema []format.SchemaElement) (map[string]leaf, error) {
	leaves := map[string]leaf{}
	at, index := 1, 0
	var walk func(path string, n int, list, optional bool) bool
	walk = func(path string, n int, list, optional bool) bool {
		for range n {
			if at >= len(schema) || strings.Count(path, ".") > 3 {
				return false
			}
			e := &schema[at]
			at++
			name := strings.TrimPrefix(path+"."+e.Name, ".")
			repeated, null := false, optional
			if e.RepetitionType.Valid {
				repeated = e.RepetitionType.V == format.Repeated
				null = null || e.RepetitionType.V == format.Optional
			}
			if children := e.NumChildren.V; e.NumChildren.Valid && children > 0 {
				if !walk(name, int(children), list || repeated, null) {
					return false
				}
				continue
			}
			if !e.Type.Valid {
				return false
			}
			leaves[name] = leaf{index, e.Type.V, list || repeated, null}
			index++
		}
		return true
	}
	if len(schema) == 0 || !schema[0].NumChildren.Valid || !walk("", int(schema[0].NumChildren.V), false, false) || at != len(schema) {
		return nil, corrupt("its schema does not hold together")
	}
	return leaves, nil
}

// indexStart is where the bloom filters or the page index begin, which lie behind all pages.
func (f *File) indexStart(end int64) (int64, error) {
	start := end
	see := func(offset, length int64) bool {
		if offset == 0 {
			return true
		}
		start = min(start, offset)
		return offset >= 4 && length >= 0 && length <= end-offset
	}
	for _, g := range f.groups {
		for i := range g.Columns {
			c := &g.Columns[i]
			if !see(c.ColumnIndexOffset, int64(c.ColumnIndexLength)) || !see(c.OffsetIndexOffset, int64(c.OffsetIndexLength)) || !see(c.MetaData.BloomFilterOffset, 0) {
				return 0, corrupt("a page index outside of the reel")
			}
		}
	}
	if f.size-start > maxIndex {
		return 0, corrupt("an index of %d bytes", f.size-start)
	}
	return start, nil
}

// at returns bytes of the index.
func (f *File) at(offset, length int64) ([]byte, bool) {
	if offset < f.tailStart || length < 0 || length > f.size-offset {
		return nil, false
	}
	return f.tail[offset-f.tailStart:][:length], true
}

// span is a run of rows of one group: [from, to).
type span struct {
	group    int
	from, to int64
}

// page is where a page lies and which rows it holds.
type page struct {
	offset, size int64
	from, to     int64
}

// pages returns the pages of a column of a group.
func (f *File) pages(group int, c leaf) ([]page, error) {
	g := &f.groups[group]
	chunk := &g.Columns[c.index]
	b, ok := f.at(chunk.OffsetIndexOffset, int64(chunk.OffsetIndexLength))
	if !ok || chunk.OffsetIndexLength == 0 {
		if g.NumRows == 0 {
			return nil, nil
		}
		return nil, corrupt("a column without page index")
	}
	var index format.OffsetIndex
	if _, err := unmarshal(b, &index); err != nil {
		return nil, err
	}
	pages := make([]page, len(index.PageLocations))
	next := int64(4)
	for i, l := range index.PageLocations {
		p := page{l.Offset, int64(l.CompressedPageSize), l.FirstRowIndex, g.NumRows}
		if i+1 < len(pages) {
			p.to = index.PageLocations[i+1].FirstRowIndex
		}
		if p.offset < next || p.size <= 0 || p.size > f.tailStart-p.offset || i == 0 && p.from != 0 || p.from < 0 || p.to < p.from || p.to-p.from > maxPageRows {
			return nil, corrupt("a page index that does not hold together")
		}
		next = p.offset + p.size
		pages[i] = p
	}
	return pages, nil
}

// mayHold tells whether rows of a group can have a value in a column, by its bloom filter. A column without one may have any.
func (f *File) mayHold(group int, c leaf, value string) (bool, error) {
	offset := f.groups[group].Columns[c.index].MetaData.BloomFilterOffset
	if offset == 0 {
		return true, nil
	}
	b, ok := f.at(offset, f.size-offset)
	if !ok {
		return false, corrupt("a bloom filter outside of the index")
	}
	var header format.BloomFilterHeader
	n, err := unmarshal(b, &header)
	if err != nil {
		return false, err
	}
	const block = 32
	if _, plain := header.Compression.Value.(*format.BloomFilterUncompressed); !plain || header.NumBytes <= 0 || header.NumBytes%block != 0 || int(header.NumBytes) > len(b)-n {
		return false, corrupt("a bloom filter that does not hold together")
	}
	return bloom.CheckSplitBlock(bytes.NewReader(b[n:]), int64(header.NumBytes), xxhash.Sum64([]byte(value)))
}

// within returns the pages of a column in which a value can lie, by the bounds of the pages.
func (f *File) within(group int, c leaf, value string, prefix bool) ([]page, error) {
	pages, err := f.pages(group, c)
	if err != nil {
		return nil, err
	}
	chunk := &f.groups[group].Columns[c.index]
	b, ok := f.at(chunk.ColumnIndexOffset, int64(chunk.ColumnIndexLength))
	if !ok || len(b) == 0 {
		return pages, nil
	}
	var index format.ColumnIndex
	if _, err := unmarshal(b, &index); err != nil {
		return nil, err
	}
	if len(index.MinValues) != len(pages) || len(index.MaxValues) != len(pages) {
		return nil, corrupt("bounds that do not belong to the pages")
	}
	var found []page
	for i, p := range pages {
		low, high := string(index.MinValues[i]), string(index.MaxValues[i])
		null := i < len(index.NullPages) && index.NullPages[i]
		// Bounds are cut, so what begins with the upper one may lie in the page.
		if !null && (low <= value || prefix && strings.HasPrefix(low, value)) && (value <= high || strings.HasPrefix(value, high)) {
			found = append(found, p)
		}
	}
	return found, nil
}

// Find returns the rows that have a value in a column of texts, or begin with it, as spans in order.
func (f *File) Find(ctx context.Context, name, value string, prefix bool) (spans []span, err error) {
	defer recovered(&err)
	c, ok := f.leaves[name]
	if !ok || c.kind != format.ByteArray || c.list {
		return nil, corrupt("no column of texts %s", name)
	}
	if c.index == absent {
		return nil, nil
	}
	for group := range f.groups {
		if !prefix {
			if ok, err := f.mayHold(group, c, value); err != nil {
				return nil, err
			} else if !ok {
				continue
			}
		}
		pages, err := f.within(group, c, value, prefix)
		if err != nil {
			return nil, err
		}
		for _, p := range pages {
			v, err := f.read(ctx, name, span{group, p.from, p.to})
			if err != nil {
				return nil, err
			}
			for i := range v.rows {
				if text := v.text(i); text != value && !(prefix && strings.HasPrefix(text, value)) {
					continue
				}
				row := p.from + int64(i)
				if n := len(spans); n > 0 && spans[n-1].group == group && spans[n-1].to == row {
					spans[n-1].to++
				} else {
					spans = append(spans, span{group, row, row + 1})
				}
			}
		}
	}
	return spans, nil
}

// all returns the spans of all rows.
func (f *File) all() []span {
	spans := make([]span, len(f.groups))
	for i, g := range f.groups {
		spans[i] = span{i, 0, g.NumRows}
	}
	return spans
}

// extent is where the values of a column in some rows lie.
type extent struct {
	begin, end int64
	pages      []page
	dictionary int64 // where the dictionary ends; 0 if there is none
}

func (f *File) extent(c leaf, s span) (x extent, err error) {
	if c.index == absent {
		return x, nil
	}
	pages, err := f.pages(s.group, c)
	if err != nil || s.from == s.to {
		return x, err
	}
	first := sort.Search(len(pages), func(i int) bool { return pages[i].to > s.from })
	last := sort.Search(len(pages), func(i int) bool { return pages[i].from >= s.to })
	if first >= last {
		return x, nil
	}
	x.pages = pages[first:last]
	x.begin, x.end = pages[first].offset, pages[last-1].offset+pages[last-1].size
	dictionary := f.groups[s.group].Columns[c.index].MetaData.DictionaryPageOffset
	if dictionary < 0 || dictionary > 0 && (dictionary < 4 || dictionary >= pages[0].offset) {
		return x, corrupt("a dictionary outside of its column")
	}
	if dictionary > 0 {
		x.dictionary = pages[0].offset
		if first == 0 {
			x.begin = dictionary // one request for both
		}
	}
	return x, nil
}

// Bounds of what is fetched together: bytes that nobody wants between two columns, and bytes in all.
const (
	maxGap   = 64 << 10
	maxBlock = 8 << 20
)

// ahead returns the file with the values of some columns in memory: columns that lie close to each other, with no more than gap bytes between them, come with one request.
func (f *File) ahead(ctx context.Context, s span, names []string, gap int64) (*File, error) {
	type block struct {
		begin, end int64
		body       []byte
	}
	var blocks []block
	for _, name := range names {
		x, err := f.extent(f.leaves[name], s)
		if err != nil {
			return nil, err
		}
		if len(x.pages) > 0 {
			blocks = append(blocks, block{begin: x.begin, end: x.end})
		}
	}
	slices.SortFunc(blocks, func(a, b block) int { return cmp.Compare(a.begin, b.begin) })
	var merged []block
	for _, b := range blocks {
		if n := len(merged); n > 0 && b.begin-merged[n-1].end <= gap && b.end-merged[n-1].begin <= maxBlock {
			merged[n-1].end = max(merged[n-1].end, b.end)
			continue
		}
		merged = append(merged, b)
	}
	for i := range merged {
		var err error
		if merged[i].body, err = f.get(ctx, merged[i].begin, merged[i].end-merged[i].begin); err != nil {
			return nil, err
		}
	}
	near := *f
	near.fetch = func(ctx context.Context, offset, length int64) ([]byte, error) {
		for _, b := range merged {
			if offset >= b.begin && offset+length <= b.end {
				return b.body[offset-b.begin:][:length], nil
			}
		}
		return f.fetch(ctx, offset, length)
	}
	return &near, nil
}

// read returns the values of a column in some rows of a group.
func (f *File) read(ctx context.Context, name string, s span) (_ *vector, err error) {
	defer recovered(&err)
	c, ok := f.leaves[name]
	if !ok || s.group < 0 || s.group >= len(f.groups) || s.from < 0 || s.to < s.from || s.to > f.groups[s.group].NumRows {
		return nil, corrupt("no rows %d to %d of column %s", s.from, s.to, name)
	}
	if c.index == absent {
		return nulls(c, int(s.to-s.from)), nil
	}
	x, err := f.extent(c, s)
	out := newVector(c)
	if err != nil || len(x.pages) == 0 {
		return out, err
	}
	body, err := f.get(ctx, x.begin, x.end-x.begin)
	if err != nil {
		return nil, err
	}
	chunk := &f.groups[s.group].Columns[c.index].MetaData
	d := decoder{leaf: c, compressed: chunk.Codec == format.Zstd, most: maxNarrow}
	if chunk.Codec != format.Zstd && chunk.Codec != format.Uncompressed {
		return nil, corrupt("pages compressed by another codec")
	}
	if slices.Contains(wideColumns, name) {
		d.most = deck.MaxObjectBytes
	}
	if x.dictionary > 0 {
		head := body[:max(0, x.dictionary-x.begin)]
		if x.begin != chunk.DictionaryPageOffset {
			if head, err = f.get(ctx, chunk.DictionaryPageOffset, x.dictionary-chunk.DictionaryPageOffset); err != nil {
				return nil, err
			}
		}
		if err := d.readDictionary(head); err != nil {
			return nil, err
		}
	}
	for _, p := range x.pages {
		v, err := d.readPage(body[p.offset-x.begin:][:p.size], int(p.to-p.from))
		if err != nil {
			return nil, err
		}
		out.append(v, int(max(s.from, p.from)-p.from), int(min(s.to, p.to)-p.from))
	}
	return out, nil
}

// vector is the values of a column in a run of rows.
type vector struct {
	leaf   leaf
	rows   int
	ends   []int // of lists: where the values of each row end
	null   []bool
	texts  [][]byte
	longs  []int64
	floats []float64
	bools  []bool
}

func newVector(c leaf) *vector { return &vector{leaf: c} }

// nulls is a column of texts, or of lists of them, without any.
func nulls(c leaf, rows int) *vector {
	if c.list {
		return &vector{leaf: c, rows: rows, ends: make([]int, rows)}
	}
	v := &vector{leaf: c, rows: rows, null: make([]bool, rows), texts: make([][]byte, rows)}
	for i := range v.null {
		v.null[i] = true
	}
	return v
}

// append adds rows of another vector of the same column.
func (v *vector) append(o *vector, from, to int) {
	if v.rows == 0 && from == 0 && to == o.rows {
		*v = *o // all of the first page
		return
	}
	a, b := from, to
	if v.leaf.list {
		a, b = o.start(from), o.start(to)
		for _, end := range o.ends[from:to] {
			v.ends = append(v.ends, len(v.texts)+end-a)
		}
	}
	v.rows += to - from
	v.null = append(v.null, o.null[a:b]...)
	switch v.leaf.kind {
	case format.ByteArray:
		v.texts = append(v.texts, o.texts[a:b]...)
	case format.Int64:
		v.longs = append(v.longs, o.longs[a:b]...)
	case format.Double:
		v.floats = append(v.floats, o.floats[a:b]...)
	case format.Boolean:
		v.bools = append(v.bools, o.bools[a:b]...)
	}
}

// start is where the values of a row begin, of a column of lists.
func (v *vector) start(row int) int {
	if row == 0 {
		return 0
	}
	return v.ends[row-1]
}

func (v *vector) text(row int) string { return string(v.texts[row]) }

func (v *vector) list(row int) []string {
	var list []string
	for _, text := range v.texts[v.start(row):v.ends[row]] {
		list = append(list, string(text))
	}
	return list
}

// value is a number, or nil where there is none.
func (v *vector) long(row int) *int64 {
	if v.null[row] {
		return nil
	}
	n := v.longs[row]
	return &n
}

func (v *vector) float(row int) *float64 {
	if v.null[row] || math.IsNaN(v.floats[row]) {
		return nil
	}
	x := v.floats[row]
	return &x
}
