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
	"github.com/tapedeck/tapedeck/tape"
)

// The process shares one encoder and one decoder of parts. They are made before any test runs, because nothing that is made within a
// synctest bubble can be used outside of it.
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

// PutTape writes a generation of one tape, which gets its run id and seal, and takes away those that were there.
func PutTape(t testing.TB, d *deck.Deck, area deck.Area, made *tape.Tape, items int) (deck.Location, deck.Generation) {
	t.Helper()
	made.Run.RunID = made.Run.TraceID + "-" + made.Run.RootSpanID
	if err := made.Seal(); err != nil {
		t.Fatal(err)
	}
	location := deck.Location{Area: area, Tenant: made.Run.Tenant, TraceID: made.Run.TraceID}
	if area == deck.AreaReplays {
		location.ReplayRunID = made.Run.ReplayRunID
	}
	before, err := d.Generations(t.Context(), location)
	if err != nil {
		t.Fatal(err)
	}
	generation := deck.NewGeneration(items, nil, []byte("test"))
	files := []deck.RunFiles{{Root: made.Run.RootSpanID, Files: []deck.File{{Name: deck.TapeFile, Body: made.AppendJSON(nil)}}}}
	if _, err := d.PutGeneration(t.Context(), location, generation, files); err != nil {
		t.Fatal(err)
	}
	if err := d.RemoveGenerations(t.Context(), location, before); err != nil {
		t.Fatal(err)
	}
	return location, generation
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
