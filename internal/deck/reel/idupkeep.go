// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// Indexed is what Index has done.
type Indexed struct {
	Written, Removed int
	Bytes            int64 // of those that were written
}

// Index brings the id indexes of the deck up to date: each speaks of reels that are there, and of reels that compactions have made each is spoken of, but for one. Sizes of indexes double from one to
// the next, up to the largest, so there are few. want chooses among the reels that are added; with nil, all, indexes that are there are put together, too. It may be called by several programs at
// once, and be stopped anywhere.
func (c *Catalog) Index(ctx context.Context, want func(Name) bool) (done Indexed, err error) {
	const most = 20 // what others do meanwhile is for the next call
	for range most {
		again, err := c.index(ctx, want, &done)
		if err != nil || !again {
			return done, err
		}
	}
	return done, nil
}

// Tidy lets the id indexes forget reels that this program has written again, or taken away.
func (c *Catalog) Tidy(ctx context.Context) error {
	c.mu.Lock()
	changed := c.changed && len(c.indexes) > 0
	c.changed = false
	c.mu.Unlock()
	if !changed {
		return nil
	}
	_, err := c.Index(ctx, nil)
	return err
}

// index writes one index, if there is one to write.
func (c *Catalog) index(ctx context.Context, want func(Name) bool, done *Indexed) (again bool, err error) {
	c.Stale()
	objects, err := c.List(ctx)
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	olds := slices.SortedFunc(slices.Values(c.indexes), func(a, b idObject) int { return cmp.Or(cmp.Compare(a.size, b.size), cmp.Compare(a.digest, b.digest)) })
	c.mu.Unlock()
	there := map[string]bool{}
	for _, o := range objects {
		there[o.Digest] = o.Level > 0
	}
	// An index that speaks of what is gone, or of nothing that others do not speak of, is made again.
	var taken []idObject
	spoken := map[string]bool{}
	heads := map[idObject]*idIndex{}
	for _, o := range slices.Backward(olds) {
		x, err := c.idHead(ctx, o, c.fetch(o.key()))
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case err != nil && !errors.Is(err, deck.ErrCorrupt) && !errors.Is(err, deck.ErrNotFound):
			return false, err
		case err != nil: // what it speaks of is read
			taken = append(taken, o)
			continue
		case slices.ContainsFunc(x.reels, func(digest string) bool { return !there[digest] }), !slices.ContainsFunc(x.reels, func(digest string) bool { return !spoken[digest] }):
			taken = append(taken, o)
		}
		heads[o] = x
		for _, digest := range x.reels {
			spoken[digest] = true
		}
	}
	var missing []Object
	for _, o := range objects {
		if o.Level > 0 && !spoken[o.Digest] && (want == nil || want(o.Name)) {
			missing = append(missing, o)
		}
	}
	switch {
	case want != nil:
		taken = nil
	case len(taken) == 0 && len(missing) < fewReels:
		sum := int64(0)
		for i := range olds {
			if sum += olds[i].size; i > 0 && olds[i].size <= 2*olds[i-1].size && sum <= maxIDs*idEntry {
				taken = olds[:i+1]
				break
			}
		}
	}
	if len(taken) == 0 && len(missing) < fewReels {
		return false, nil
	}
	for _, o := range olds {
		if head := heads[o]; head != nil && !slices.Contains(taken, o) {
			for _, digest := range head.reels {
				there[digest] = false // it goes on speaking of it
			}
		}
	}
	w := idWriter{catalog: c, wanted: there, numbers: map[string]int{}, made: map[string]bool{}, done: done}
	for _, o := range taken {
		if head := heads[o]; head != nil {
			if err := w.takeIndex(ctx, o, head); err != nil {
				return false, err
			}
		}
	}
	for _, o := range missing {
		if err := w.takeReel(ctx, o); err != nil {
			return false, err
		}
	}
	if err := w.flush(ctx); err != nil {
		return false, err
	}
	for _, o := range taken {
		if w.made[o.digest] {
			continue
		}
		if err := c.store.Delete(ctx, o.key()); err != nil {
			return false, err
		}
		done.Removed++
	}
	return true, nil
}

// idWriter puts entries together. It holds what it puts together, and the index that this becomes.
type idWriter struct {
	catalog *Catalog
	wanted  map[string]bool // digests of reels
	reels   []string
	numbers map[string]int // of reels
	runs    [idSections][][]byte
	entries int
	made    map[string]bool // indexes
	done    *Indexed
}

// number is that of a reel in the index that is made.
func (w *idWriter) number(digest string) uint16 {
	n, ok := w.numbers[digest]
	if !ok {
		n = len(w.reels)
		w.numbers[digest] = n
		w.reels = append(w.reels, digest)
	}
	return uint16(n)
}

// takeIndex adds what an index says of reels that are there, and that nothing was said of yet.
func (w *idWriter) takeIndex(ctx context.Context, o idObject, head *idIndex) error {
	if err := w.room(ctx, head.sections[0].entries+head.sections[1].entries, len(head.reels)); err != nil {
		return err
	}
	body, err := w.catalog.store.Get(ctx, o.key())
	if errors.Is(err, deck.ErrNotFound) {
		return nil // somebody else has put it together with others
	}
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != o.digest {
		return nil // damaged: what it speaks of is read by the next call
	}
	to := make([]int, len(head.reels))
	for i, digest := range head.reels {
		to[i] = -1
		if _, said := w.numbers[digest]; !said && w.wanted[digest] {
			to[i] = int(w.number(digest))
		}
	}
	for i := range head.sections {
		s := &head.sections[i]
		run := make([]byte, 0, s.entries*idEntry)
		for e := range slices.Chunk(body[s.offset:][:s.entries*idEntry], idEntry) {
			from := int(binary.BigEndian.Uint16(e[8:]))
			if from >= len(to) {
				return corrupt("an id index that does not hold together")
			}
			if to[from] >= 0 {
				run = binary.BigEndian.AppendUint16(append(run, e[:8]...), uint16(to[from]))
			}
		}
		w.add(i, run)
	}
	return nil
}

// add adds entries that are in the order of keys.
func (w *idWriter) add(section int, run []byte) {
	w.runs[section] = append(w.runs[section], run)
	w.entries += len(run) / idEntry
}

// takeReel adds the ids of a reel, unless somebody else has merged it meanwhile.
func (w *idWriter) takeReel(ctx context.Context, o Object) error {
	if err := w.readReel(ctx, o); !errors.Is(err, deck.ErrNotFound) {
		return err
	}
	return nil
}

func (w *idWriter) readReel(ctx context.Context, o Object) error {
	f, err := w.catalog.openOne(ctx, o)
	if err != nil {
		return err
	}
	if err := w.room(ctx, 2*f.Rows(), 1); err != nil {
		return err
	}
	var keys [idSections][]uint64
	for _, s := range f.all() {
		near, err := f.ahead(ctx, s, idColumns, maxBlock)
		if err != nil {
			return err
		}
		for _, column := range idColumns {
			v, err := near.read(ctx, column, s)
			if err != nil {
				return err
			}
			for i, text := range v.texts {
				if v.null[i] || len(text) == 0 {
					continue
				}
				section, key, _, ok := keysOf(column, string(text), false)
				if !ok {
					return corrupt("a trace id that is none")
				}
				keys[section] = append(keys[section], key)
			}
		}
	}
	n := w.number(o.Digest)
	for section, keys := range keys {
		slices.Sort(keys)
		run := make([]byte, 0, len(keys)*idEntry)
		for _, key := range slices.Compact(keys) {
			run = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint64(run, key), n)
		}
		w.add(section, run)
	}
	return nil
}

// room writes what there is if so many entries, or reels, more are too many.
func (w *idWriter) room(ctx context.Context, entries, reels int) error {
	if w.entries > 0 && w.entries+entries > maxIDs || len(w.reels)+reels > idMostReels {
		return w.flush(ctx)
	}
	return nil
}

// flush writes an index of what there is.
func (w *idWriter) flush(ctx context.Context) error {
	if len(w.reels) == 0 {
		return nil
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(len(w.reels)))
	for _, digest := range w.reels {
		sum, err := hex.DecodeString(digest)
		if err != nil {
			return err
		}
		head = append(head, sum...)
	}
	blocks := make([]byte, 0, w.entries*idEntry)
	for section := range w.runs {
		start := len(blocks)
		for e := range mergeRuns(w.runs[section]) {
			blocks = append(blocks, e...)
		}
		w.runs[section] = nil
		head = binary.BigEndian.AppendUint32(head, uint32((len(blocks)-start)/idEntry))
		for block := range slices.Chunk(blocks[start:], idBlock*idEntry) {
			head = append(head, block[:8]...)
			head = binary.BigEndian.AppendUint32(head, crc32.Checksum(block, crcTable))
		}
	}
	body := make([]byte, 0, idPrologue+len(head)+len(blocks))
	body = append(body, idMagic...)
	body = binary.BigEndian.AppendUint32(body, uint32(len(head)))
	body = binary.BigEndian.AppendUint32(body, crc32.Checksum(head, crcTable))
	body = append(append(body, head...), blocks...)
	sum := sha256.Sum256(body)
	o := idObject{hex.EncodeToString(sum[:]), int64(len(body))}
	if _, err := w.catalog.store.PutNew(ctx, o.key(), body, idType); err != nil {
		return fmt.Errorf("write id index: %w", err)
	}
	w.done.Written++
	w.done.Bytes += o.size
	w.made[o.digest] = true
	w.reels, w.numbers, w.entries = nil, map[string]int{}, 0
	return nil
}

// mergeRuns yields the entries of sorted runs in order, each once.
func mergeRuns(runs [][]byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		// The run whose entry comes first is in front: a heap of few.
		runs = slices.DeleteFunc(slices.Clone(runs), func(r []byte) bool { return len(r) == 0 })
		less := func(i, j int) bool { return bytes.Compare(runs[i][:idEntry], runs[j][:idEntry]) < 0 }
		down := func(i int) {
			for {
				least := i
				for child := 2*i + 1; child <= 2*i+2 && child < len(runs); child++ {
					if less(child, least) {
						least = child
					}
				}
				if least == i {
					return
				}
				runs[i], runs[least] = runs[least], runs[i]
				i = least
			}
		}
		for i := len(runs) / 2; i >= 0; i-- {
			down(i)
		}
		var last []byte
		for len(runs) > 0 {
			e := runs[0][:idEntry]
			if !bytes.Equal(e, last) {
				if !yield(e) {
					return
				}
				last = e
			}
			if runs[0] = runs[0][idEntry:]; len(runs[0]) == 0 {
				runs[0] = runs[len(runs)-1]
				runs = runs[:len(runs)-1]
			}
			if len(runs) > 0 {
				down(0)
			}
		}
	}
}
