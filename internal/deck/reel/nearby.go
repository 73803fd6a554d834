// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"context"
	"slices"
	"sync"
)

// nearby is the narrow columns of the rows around those that were looked up lately. A look-up decodes a page of every column for its one row, and whoever looks up
// traces one after the other, such as in the order of their start, soon wants their neighbours. So rows are kept when some of them are looked up a second time. It is
// shared by the files of a catalog, and safe for concurrent use.
type nearby struct {
	mu     sync.Mutex
	chunks map[chunkKey][]*Entry // nil: looked up once
	order  []chunkKey            // the one that was looked up first in front
}

// A chunk is chunkRows of a group, the last one less.
type chunkKey struct {
	file  *File
	group int
	chunk int64
}

// nearbyChunks is how many chunks are kept: about 1 KB for each row.
const nearbyChunks = 16

// entries is File.entries with all columns. What it returns is shared: nobody may change it.
func (n *nearby) entries(ctx context.Context, f *File, s span) ([]*Entry, error) {
	k := chunkKey{f, s.group, s.from / chunkRows}
	begin := k.chunk * chunkRows
	if s.to > begin+chunkRows {
		return f.entries(ctx, s, nil) // of two chunks
	}
	n.mu.Lock()
	kept, before := n.chunks[k]
	n.mu.Unlock()
	if kept != nil {
		return slices.Clone(kept[s.from-begin : s.to-begin]), nil
	}
	if before {
		// A row that does not hold together is the error of whoever looks that one up.
		if all, err := f.entries(ctx, span{s.group, begin, min(begin+chunkRows, f.groups[s.group].NumRows)}, nil); err == nil {
			n.keep(k, all)
			return slices.Clone(all[s.from-begin : s.to-begin]), nil
		}
	}
	entries, err := f.entries(ctx, s, nil)
	if err == nil {
		n.keep(k, nil)
	}
	return entries, err
}

// keep notes a look-up, with the rows of its chunk or without.
func (n *nearby) keep(k chunkKey, all []*Entry) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if kept, before := n.chunks[k]; !before {
		n.order = append(n.order, k)
	} else if kept != nil {
		return
	}
	n.chunks[k] = all
	for len(n.order) > nearbyChunks {
		delete(n.chunks, n.order[0])
		n.order = n.order[1:]
	}
}

// forget lets go of a file that is no longer there.
func (n *nearby) forget(f *File) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.order = slices.DeleteFunc(n.order, func(k chunkKey) bool {
		if k.file == f {
			delete(n.chunks, k)
		}
		return k.file == f
	})
}
