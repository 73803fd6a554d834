// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package mem keeps decks in the memory of the process. It is for tests and for
// commands that need a deck for a moment. Importing it adds the scheme mem.
package mem

import (
	"bytes"
	"context"
	"iter"
	"net/url"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/tapedeck/tapedeck/internal/deck"
)

func init() { deck.Register("mem", nil, open) }

// memory holds the contents of mem:// stores by name, for the life of the
// process: two opens of one name see the same objects.
var memory = struct {
	sync.Mutex
	byName map[string]*store
}{byName: map[string]*store{}}

// store keeps objects in memory. keys is sorted and has exactly the keys of
// bodies: listings follow every write, so sorting per listing would be
// quadratic.
type store struct {
	mu     sync.RWMutex
	keys   []string
	bodies map[string][]byte
}

// open opens mem://name[/prefix].
func open(_ context.Context, u *url.URL) (deck.Store, error) {
	if u.Host == "" {
		return nil, deck.BadURL("mem", "mem URLs are mem://name")
	}
	if err := deck.CheckOptions(u, nil); err != nil {
		return nil, err
	}
	memory.Lock()
	m := memory.byName[u.Host]
	if m == nil {
		m = &store{bodies: map[string][]byte{}}
		memory.byName[u.Host] = m
	}
	memory.Unlock()
	return deck.WithPrefix(m, u.Path)
}

// Drop forgets the objects of mem://name. Stores that are open keep them.
func Drop(name string) {
	memory.Lock()
	defer memory.Unlock()
	delete(memory.byName, name)
}

func (m *store) PutNew(ctx context.Context, key string, body []byte, _ string) (bool, error) {
	if err := deck.CheckPut(ctx, "mem", key, body); err != nil {
		return false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.bodies[key]; ok {
		return false, nil
	}
	m.bodies[key] = bytes.Clone(body)
	i := sort.SearchStrings(m.keys, key)
	m.keys = slices.Insert(m.keys, i, key)
	return true, nil
}

func (m *store) Get(ctx context.Context, key string) ([]byte, error) {
	if err := deck.CheckGet(ctx, "get", "mem", key); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	body, ok := m.bodies[key]
	if !ok {
		return nil, deck.NotFound("mem", key)
	}
	return append([]byte{}, body...), nil
}

func (m *store) GetRange(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	if err := deck.CheckGet(ctx, "get", "mem", key); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	body, ok := m.bodies[key]
	if !ok {
		return nil, deck.NotFound("mem", key)
	}
	if err := deck.CheckRange("mem", key, offset, length, int64(len(body))); err != nil {
		return nil, err
	}
	return append([]byte{}, body[offset:][:length]...), nil
}

func (m *store) Delete(ctx context.Context, key string) error {
	if err := deck.CheckGet(ctx, "delete", "mem", key); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.bodies[key]; !ok {
		return nil
	}
	delete(m.bodies, key)
	i := sort.SearchStrings(m.keys, key)
	m.keys = slices.Delete(m.keys, i, i+1)
	return nil
}

func (m *store) List(ctx context.Context, prefix string) iter.Seq2[deck.Object, error] {
	return func(yield func(deck.Object, error) bool) {
		if err := deck.CheckList(ctx, "mem", prefix); err != nil {
			yield(deck.Object{}, err)
			return
		}
		for next := prefix; ; {
			key, size, ok := m.from(next)
			if !ok || !strings.HasPrefix(key, prefix) || !yield(deck.Object{Key: key, Size: size}, nil) {
				return
			}
			next = key + "\x00"
		}
	}
}

func (m *store) ListFolders(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err := deck.CheckList(ctx, "mem", prefix); err != nil {
			yield("", err)
			return
		}
		for next := prefix; ; {
			key, _, ok := m.from(next)
			if !ok || !strings.HasPrefix(key, prefix) {
				return
			}
			i := strings.IndexByte(key[len(prefix):], '/')
			if i < 0 {
				next = key + "\x00"
				continue
			}
			folder := key[:len(prefix)+i+1]
			if !yield(folder, nil) {
				return
			}
			// "0" is the byte after "/": the first key behind this folder.
			next = folder[:len(folder)-1] + "0"
		}
	}
}

// from returns the first key that is not below next.
func (m *store) from(next string) (key string, size int64, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	i := sort.SearchStrings(m.keys, next)
	if i == len(m.keys) {
		return "", 0, false
	}
	return m.keys[i], int64(len(m.bodies[m.keys[i]])), true
}

func (m *store) Close() error { return nil }
