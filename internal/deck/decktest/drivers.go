// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decktest

import (
	"context"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"

	// The drivers for the decks that tests use.
	_ "github.com/tapedeck/tapedeck/internal/deck/store/file"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/s3"
)

// The process shares one encoder and one decoder of parts. What is made within a synctest bubble cannot be used outside of it, so they are made
// before any test runs.
func init() {
	const name = "codecs"
	defer mem.Drop(name)
	ctx := context.Background()
	d, err := deck.Open(ctx, "mem://"+name)
	if err == nil {
		_, _, err = d.PutPart(ctx, deck.Location{Area: deck.AreaRuns, Tenant: name, TraceID: "00000000000000000000000000000001"}, []byte(name))
	}
	if err == nil {
		_, err = deck.Unpack(nil)
	}
	if err != nil {
		panic(err)
	}
}

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
