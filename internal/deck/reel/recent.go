// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"bytes"
	"context"
	"slices"
	"sync"
)

// recent is content that was read lately. Rows that stand next to each other share a page, and whoever reads all tapes of a deck reads a reel in order: so the pages behind one that was
// read after its neighbour come with it, and most rows cost no request. It is shared by the files of a catalog, and safe for concurrent use.
type recent struct {
	mu     sync.Mutex
	bytes  int64
	blocks map[blockKey]*block
	order  []blockKey // the one that was begun first in front
	ranges []readRange
}

// readRange is what was read of a reel, in small: the narrow columns of a few rows are asked for again and again while one run is looked up.
type readRange struct {
	key    string
	offset int64
	body   []byte
}

// Bounds of the ranges that are kept: of each, and their number.
const (
	rangeBytes = 128 << 10
	mostRanges = 32
)

// fetch reads ranges of a reel, and keeps small ones.
func (r *recent) fetch(key string, from Fetch) Fetch {
	return func(ctx context.Context, offset, length int64) ([]byte, error) {
		r.mu.Lock()
		i := slices.IndexFunc(r.ranges, func(h readRange) bool {
			return h.key == key && offset >= h.offset && offset+length <= h.offset+int64(len(h.body))
		})
		var have readRange
		if i >= 0 {
			have = r.ranges[i]
		}
		r.mu.Unlock()
		if i >= 0 {
			return have.body[offset-have.offset:][:length:length], nil
		}
		body, err := from(ctx, offset, length)
		if err == nil && length <= rangeBytes && int64(len(body)) == length {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.ranges = append(r.ranges, readRange{key, offset, body}); len(r.ranges) > mostRanges {
				r.ranges = slices.Delete(r.ranges, 0, 1)
			}
		}
		return body, err
	}
}

// A block is of one column of one reel: each has one at a time.
type blockKey struct {
	file   *File
	column string
}

// block is the values of some rows.
type block struct {
	mu       sync.Mutex // held while it is read: others want the same rows
	group    int
	from, to int64 // [from, to); empty: nothing was read
	next     int   // the page behind it
	texts    [][]byte

	counted int64 // bytes; recent.mu is held
}

// Bounds of what is kept. A block that is larger is read for its one row, and not kept.
const (
	recentBytes = 64 << 20
	blockBytes  = 8 << 20   // of a block, decompressed
	aheadBytes  = 256 << 10 // that are fetched together, compressed
)

func newRecent() *recent { return &recent{blocks: map[blockKey]*block{}} }

// of returns the block of a column of a file.
func (r *recent) of(k blockKey) *block {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.blocks[k]
	if b == nil {
		b = &block{}
		r.blocks[k] = b
		r.order = append(r.order, k)
	}
	return b
}

// forget lets go of a file that is no longer there.
func (r *recent) forget(key string, f *File) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ranges = slices.DeleteFunc(r.ranges, func(h readRange) bool { return h.key == key })
	r.order = slices.DeleteFunc(r.order, func(k blockKey) bool {
		if k.file == f {
			r.drop(k)
		}
		return k.file == f
	})
}

// drop takes a block out. Whoever reads it goes on.
func (r *recent) drop(k blockKey) {
	r.bytes -= r.blocks[k].counted
	delete(r.blocks, k)
}

// count notes how large a block is by now, and lets go of the oldest ones when all are too large.
func (r *recent) count(k blockKey, b *block, size int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.blocks[k] != b {
		return
	}
	r.bytes += size - b.counted
	b.counted = size
	for r.bytes > recentBytes && len(r.order) > 1 {
		r.drop(r.order[0])
		r.order = r.order[1:]
	}
}

// content returns a wide column of a row.
func (r *recent) content(ctx context.Context, f *File, column string, group int, row int64) ([]byte, error) {
	k := blockKey{f, column}
	b := r.of(k)
	text, size, err := b.take(ctx, f, column, group, row)
	r.count(k, b, size)
	return text, err
}

// take returns the value of a row, and how many bytes the block has then.
func (b *block) take(ctx context.Context, f *File, column string, group int, row int64) (_ []byte, size int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	text, err := b.read(ctx, f, column, group, row)
	for _, t := range b.texts {
		size += int64(len(t))
	}
	if size > blockBytes {
		b.texts, b.to, size = nil, b.from, 0
	}
	return text, size, err
}

// read returns the value of a row, and keeps those that came with it.
func (b *block) read(ctx context.Context, f *File, column string, group int, row int64) ([]byte, error) {
	if group == b.group && row >= b.from && row < b.to {
		return bytes.Clone(b.texts[row-b.from]), nil
	}
	pages, err := f.pages(group, f.leaves[column])
	if err != nil {
		return nil, err
	}
	first := slices.IndexFunc(pages, func(p page) bool { return row >= p.from && row < p.to })
	if first < 0 {
		return nil, corrupt("no %s in row %d", column, row)
	}
	last := first
	if group == b.group && first == b.next && first > 0 && b.to > b.from || group == b.group+1 && first == 0 && b.to > b.from {
		for last+1 < len(pages) && pages[last+1].offset+pages[last+1].size-pages[first].offset <= aheadBytes {
			last++
		}
	}
	s := span{group, pages[first].from, pages[last].to}
	v, err := f.read(ctx, column, s)
	if err != nil {
		return nil, err
	}
	if int64(v.rows) != s.to-s.from || int64(len(v.texts)) != s.to-s.from {
		return nil, corrupt("no %s in row %d", column, row)
	}
	b.group, b.from, b.to, b.next, b.texts = group, s.from, s.to, last+1, v.texts
	return bytes.Clone(b.texts[row-s.from]), nil
}
