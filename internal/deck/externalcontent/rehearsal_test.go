// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package externalcontent

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
)

func TestRehearsalWritesNothingAndReadsAsIfItHad(t *testing.T) {
	below, err := deck.OpenStore(t.Context(), "mem://"+t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Drop(t.Name()) })
	put := func(s deck.Store, key string, want bool) {
		t.Helper()
		if created, err := s.PutNew(t.Context(), key, []byte(key), ""); err != nil || created != want {
			t.Errorf("%s: %t, %v", key, created, err)
		}
	}
	list := func(s deck.Store) (keys []string) {
		for o, err := range s.List(t.Context(), "a/") {
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, o.Key)
		}
		return keys
	}
	put(below, "a/2", true)
	put(below, "a/4", true)
	r := NewRehearsal(below)
	for _, key := range []string{"a/5", "a/1", "a/3", "b/1"} {
		put(r, key, true)
		put(r, key, false)
	}
	put(r, "a/2", false)
	if diff := cmp.Diff([]string{"a/1", "a/2", "a/3", "a/4", "a/5"}, list(r)); diff != "" {
		t.Error(diff)
	}
	if body, err := r.Get(t.Context(), "a/3"); string(body) != "a/3" {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"a/2", "a/4"}, list(below)); diff != "" {
		t.Error(diff)
	}
	r.Forget()
	if _, err := r.Get(t.Context(), "a/3"); !errors.Is(err, deck.ErrNotFound) || len(list(r)) != 2 {
		t.Error(err)
	}
}
