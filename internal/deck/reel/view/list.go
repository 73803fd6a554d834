// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
)

// beside is what lies in an area as files beside the reels, or the tombstones. Mostly that is nothing, and then no trace of it has to be looked for.
type beside struct {
	objects []deck.Object
	few     bool // all of them are known
	at      time.Time
}

// mostBeside is how many files of an area are kept in mind: those of one listing.
const mostBeside = 1000

// listBeside lists what lies beside the reels as files, tombstones included.
func (v *View) listBeside(ctx context.Context, prefix string) iter.Seq2[deck.Object, error] {
	below, tombstone := strings.CutPrefix(prefix, deck.TombstoneArea+"/")
	l, _, ok := inReel(below)
	if !ok {
		return v.Store.List(ctx, prefix)
	}
	folder := string(l.Area)
	if tombstone {
		folder = deck.TombstoneArea
	}
	return func(yield func(deck.Object, error) bool) {
		b, err := v.besideOf(ctx, folder)
		if err != nil {
			yield(deck.Object{}, err)
			return
		}
		if !b.few {
			v.Store.List(ctx, prefix)(yield)
			return
		}
		i, _ := slices.BinarySearchFunc(b.objects, prefix, func(o deck.Object, prefix string) int { return strings.Compare(o.Key, prefix) })
		for _, o := range b.objects[i:] {
			if !strings.HasPrefix(o.Key, prefix) || !yield(o, nil) {
				return
			}
		}
	}
}

// besideOf returns what lies in an area as files. It is taken for true for as long as a listing of the reels, or until this program writes something.
func (v *View) besideOf(ctx context.Context, area string) (*beside, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if b := v.beside[area]; b != nil && time.Since(b.at) < fresh {
		return b, nil
	}
	b := &beside{few: true, at: time.Now()}
	for o, err := range v.Store.List(ctx, area+"/") {
		if err != nil {
			return nil, err
		}
		if len(b.objects) == mostBeside {
			b.few = false
			b.objects = nil
			break
		}
		b.objects = append(b.objects, o)
	}
	v.beside[area] = b
	return b, nil
}

// List is that of deck.Store. It shows what the reels stand for in their place.
func (v *View) List(ctx context.Context, prefix string) iter.Seq2[deck.Object, error] {
	files := func(yield func(deck.Object, error) bool) {
		for o, err := range v.listBeside(ctx, prefix) {
			if !strings.HasPrefix(o.Key, reel.Area+"/") && !yield(o, err) {
				return
			}
		}
	}
	return merge(files, v.listReels(ctx, prefix), func(o deck.Object) string { return o.Key })
}

func (v *View) listReels(ctx context.Context, prefix string) iter.Seq2[deck.Object, error] {
	return func(yield func(deck.Object, error) bool) {
		// show yields the objects of a trace; false ends it.
		show := func(t *shown) bool {
			files, err := v.files(ctx, t)
			if err != nil {
				yield(deck.Object{}, err)
				return false
			}
			for _, f := range files {
				if strings.HasPrefix(f.Key, prefix) && !yield(f.Object, nil) {
					return false
				}
			}
			return true
		}
		if l, _, ok := inReel(prefix); ok {
			t, err := v.trace(ctx, l)
			if err != nil {
				yield(deck.Object{}, err)
			} else if t != nil {
				show(t)
			}
			return
		}
		for _, area := range []deck.Area{deck.AreaReplays, deck.AreaRuns, deck.AreaUndecided} {
			if folder := string(area) + "/"; !strings.HasPrefix(folder, prefix) && !strings.HasPrefix(prefix, folder) {
				continue
			}
			for t, err := range v.traces(ctx, area) {
				if err != nil {
					yield(deck.Object{}, err)
					return
				}
				if !show(t) {
					return
				}
			}
		}
	}
}

// ListFolders is that of deck.Store.
func (v *View) ListFolders(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		last := ""
		for o, err := range v.List(ctx, prefix) {
			if err != nil {
				yield("", err)
				return
			}
			folder, _, inside := strings.Cut(o.Key[len(prefix):], "/")
			if folder = prefix + folder + "/"; inside && folder != last {
				if last = folder; !yield(folder, nil) {
					return
				}
			}
		}
	}
}

// merge yields what two walks in the order of keys yield, each key once.
func merge[T any](a, b iter.Seq2[T, error], key func(T) string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		nextB, stop := iter.Pull2(b)
		defer stop()
		y, errB, okB := nextB()
		// upTo yields what comes before a key; false ends it.
		upTo := func(limit string, all bool) bool {
			for okB && (errB != nil || all || key(y) < limit) {
				if !yield(y, errB) || errB != nil {
					return false
				}
				y, errB, okB = nextB()
			}
			return true
		}
		for x, err := range a {
			if err != nil {
				yield(x, err)
				return
			}
			if !upTo(key(x), false) {
				return
			}
			if okB && errB == nil && key(y) == key(x) {
				y, errB, okB = nextB()
			}
			if !yield(x, nil) {
				return
			}
		}
		upTo("", true)
	}
}
