// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decktest

import (
	"context"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"

	// The drivers for the decks that tests use.
	_ "github.com/tapedeck/tapedeck/internal/deck/store/file"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/mem"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/s3"
)

// Keys returns the keys of all objects in a store.
func Keys(t testing.TB, s deck.Store) []string {
	t.Helper()
	var out []string
	for o, err := range s.List(context.WithoutCancel(t.Context()), "") {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, o.Key)
	}
	return out
}
