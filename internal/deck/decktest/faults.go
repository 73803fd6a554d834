// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decktest

import (
	"context"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// MakeDeck makes an empty store a deck of a layout.
func MakeDeck(t testing.TB, s deck.Store, layout deck.Layout) {
	t.Helper()
	if _, err := s.PutNew(t.Context(), "tapedeck.json", []byte(`{"kind":"tape-deck","layout":"`+string(layout)+`"}`+"\n"), "application/json"); err != nil {
		t.Fatal(err)
	}
}

// Op is one operation on a store: put, get, list, folders or delete.
type Op struct {
	N    int // 1 for the first since the last Reset
	Name string
	Key  string
}

// FaultStore notes the operations on a store and makes chosen ones fail.
type FaultStore struct {
	deck.Store

	mu            sync.Mutex
	ops           []Op
	before, after map[int]error
	hook          func(context.Context, Op) error
}

// Wrap returns a FaultStore that passes everything on.
func Wrap(s deck.Store) *FaultStore {
	return &FaultStore{Store: s, before: map[int]error{}, after: map[int]error{}}
}

// FailBefore makes the n-th operation fail without effect.
func (f *FaultStore) FailBefore(n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before[n] = err
}

// FailAfter lets the n-th operation take effect and then reports err: a lost
// reply. A listing fails before its end.
func (f *FaultStore) FailAfter(n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.after[n] = err
}

// Hook is called before every operation; its error is the result. It may wait,
// to hold an operation at a chosen point.
func (f *FaultStore) Hook(hook func(context.Context, Op) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook = hook
}

// Reset forgets all operations and faults, and counts from one again.
func (f *FaultStore) Reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ops, f.hook = nil, nil
	clear(f.before)
	clear(f.after)
}

// Ops returns the operations since the last Reset.
func (f *FaultStore) Ops() []Op {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.ops)
}

// Count returns how many operations of these names there were, or of all.
func (f *FaultStore) Count(names ...string) int {
	n := 0
	for _, op := range f.Ops() {
		if len(names) == 0 || slices.Contains(names, op.Name) {
			n++
		}
	}
	return n
}

func (f *FaultStore) begin(ctx context.Context, name, key string) (after, err error) {
	f.mu.Lock()
	op := Op{N: len(f.ops) + 1, Name: name, Key: key}
	f.ops = append(f.ops, op)
	before, after, hook := f.before[op.N], f.after[op.N], f.hook
	f.mu.Unlock()
	if before != nil {
		return nil, before
	}
	if hook != nil {
		return after, hook(ctx, op)
	}
	return after, nil
}

func (f *FaultStore) PutNew(ctx context.Context, key string, body []byte, contentType string) (bool, error) {
	after, err := f.begin(ctx, "put", key)
	if err != nil {
		return false, err
	}
	created, err := f.Store.PutNew(ctx, key, body, contentType)
	if after != nil {
		return false, after
	}
	return created, err
}

func (f *FaultStore) Get(ctx context.Context, key string) ([]byte, error) {
	after, err := f.begin(ctx, "get", key)
	if err != nil {
		return nil, err
	}
	body, err := f.Store.Get(ctx, key)
	if after != nil {
		return nil, after
	}
	return body, err
}

// GetRange is a get, too.
func (f *FaultStore) GetRange(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	after, err := f.begin(ctx, "get", key)
	if err != nil {
		return nil, err
	}
	body, err := deck.GetRange(ctx, f.Store, key, offset, length)
	if after != nil {
		return nil, after
	}
	return body, err
}

func (f *FaultStore) Delete(ctx context.Context, key string) error {
	after, err := f.begin(ctx, "delete", key)
	if err != nil {
		return err
	}
	err = f.Store.Delete(ctx, key)
	if after != nil {
		return after
	}
	return err
}

func (f *FaultStore) List(ctx context.Context, prefix string) iter.Seq2[deck.Object, error] {
	return faultySeq(ctx, f, "list", prefix, f.Store.List)
}

func (f *FaultStore) ListFolders(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return faultySeq(ctx, f, "folders", prefix, f.Store.ListFolders)
}

func faultySeq[T any](ctx context.Context, f *FaultStore, name, prefix string, list func(context.Context, string) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		after, err := f.begin(ctx, name, prefix)
		if err != nil {
			yield(zero, err)
			return
		}
		for v, err := range list(ctx, prefix) {
			if !yield(v, err) {
				return
			}
		}
		if after != nil {
			yield(zero, after)
		}
	}
}
