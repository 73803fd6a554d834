// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package runs

import (
	"context"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/tape"
)

// beforeGet is a store in which something happens before an object is read.
type beforeGet struct {
	deck.Store
	do func()
}

func (s *beforeGet) Get(ctx context.Context, key string) ([]byte, error) {
	if do := s.do; do != nil {
		s.do = nil
		do()
	}
	return s.Store.Get(ctx, key)
}

// TestSearchFindsARunThatIsReplacedMeanwhile: a writer replaces the generation between its listing and its reading.
func TestSearchFindsARunThatIsReplacedMeanwhile(t *testing.T) {
	address := "mem://" + t.Name()
	store, err := deck.OpenStore(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	hooked := &beforeGet{Store: store}
	d, err := deck.New(t.Context(), hooked, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	made := &tape.Tape{Run: tape.Run{Tenant: "default", TraceID: "0102030405060708090a0b0c0d0e0f10", RootSpanID: "b7ad6b7169203331", Status: tape.StatusOK, InvocationID: "inv-1"}}
	decktest.PutTape(t, d, deck.AreaRuns, made, 1)
	var now deck.Generation
	hooked.do = func() { _, now = decktest.PutTape(t, d, deck.AreaRuns, made, 2) }
	refs, err := Find(t.Context(), d, Query{ID: "inv-1"})
	if err != nil || len(refs) != 1 || refs[0].Generation != now {
		t.Fatalf("%v, %v", refs, err)
	}
}
