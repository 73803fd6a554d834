// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package externalcontent

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// Rehearsal is the store of a dry run: it keeps what would be written in memory and returns it from there until Forget.
type Rehearsal struct {
	deck.Store

	mu      sync.Mutex
	objects map[string][]byte
}

// NewRehearsal returns a Rehearsal that reads from a store and closes it.
func NewRehearsal(s deck.Store) *Rehearsal { return &Rehearsal{Store: s, objects: map[string][]byte{}} }

// Forget drops what was kept.
func (r *Rehearsal) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.objects)
}

// PutNew implements deck.Store.
func (r *Rehearsal) PutNew(ctx context.Context, key string, body []byte, _ string) (bool, error) {
	switch _, err := r.Get(ctx, key); {
	case err == nil:
		return false, nil
	case !errors.Is(err, deck.ErrNotFound):
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects[key] = slices.Clone(body)
	return true, nil
}

// Get implements deck.Store.
func (r *Rehearsal) Get(ctx context.Context, key string) ([]byte, error) {
	r.mu.Lock()
	body, ok := r.objects[key]
	r.mu.Unlock()
	if ok {
		return slices.Clone(body), nil
	}
	return r.Store.Get(ctx, key)
}

// List implements deck.Store.
func (r *Rehearsal) List(ctx context.Context, prefix string) iter.Seq2[deck.Object, error] {
	r.mu.Lock()
	var kept []deck.Object
	for key, body := range r.objects {
		if strings.HasPrefix(key, prefix) {
			kept = append(kept, deck.Object{Key: key, Size: int64(len(body))})
		}
	}
	r.mu.Unlock()
	slices.SortFunc(kept, func(a, b deck.Object) int { return strings.Compare(a.Key, b.Key) })
	return func(yield func(deck.Object, error) bool) {
		for o, err := range r.Store.List(ctx, prefix) {
			for err == nil && len(kept) > 0 && kept[0].Key <= o.Key {
				next := kept[0]
				if kept = kept[1:]; next.Key < o.Key && !yield(next, nil) {
					return
				}
			}
			if !yield(o, err) || err != nil {
				return
			}
		}
		for _, o := range kept {
			if !yield(o, nil) {
				return
			}
		}
	}
}

// Delete implements deck.Store. It deletes nothing.
func (r *Rehearsal) Delete(_ context.Context, key string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.objects, key)
	return nil
}
