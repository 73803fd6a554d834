// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	_ "github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
)

// TestADeckBeginsInAnEmptyPlace: no writer makes a deck of what holds other things, or the deck of one layout of one of the other that has lost its marker.
func TestADeckBeginsInAnEmptyPlace(t *testing.T) {
	for _, tt := range []struct {
		name  string
		keys  []string
		want  deck.Layout
		wrong string // what the error says; "" is none
	}{
		{"empty", nil, deck.LayoutReels, ""},
		{"empty, of files", nil, deck.LayoutFiles, ""},
		{"only the marker", []string{"tapedeck.json"}, "", ""},
		{"a file", []string{"traces.jsonl"}, deck.LayoutReels, "traces.jsonl"},
		{"a file, no layout asked for", []string{"traces.jsonl"}, "", "traces.jsonl"},
		{"a folder", []string{"src/main.go"}, deck.LayoutFiles, "src/"},
		{"files without their marker", []string{"runs/default/00/x"}, deck.LayoutFiles, ""},
		{"files without their marker, and something else", []string{"aside/x", "runs/default/00/x"}, deck.LayoutFiles, ""},
		{"files without their marker for reels", []string{"runs/default/00/x"}, deck.LayoutReels, "a deck of files"},
		{"reels without their marker", []string{"reels/runs/x", "tombstones/x"}, deck.LayoutReels, ""},
		{"reels without their marker for files", []string{"reels/runs/x"}, deck.LayoutFiles, "a deck of reels"},
		{"reels without their marker, no layout asked for", []string{"reels/runs/x"}, "", "a deck of reels"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const address = "mem://begin"
			t.Cleanup(func() { mem.Drop("begin") })
			store, err := deck.OpenStore(t.Context(), address)
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range tt.keys {
				body := []byte("x")
				if deck.IsMarker(key) {
					body = []byte(`{"kind":"tape-deck","layout":"2"}` + "\n")
				}
				if _, err := store.PutNew(t.Context(), key, body, ""); err != nil {
					t.Fatal(err)
				}
			}
			d, err := deck.OpenLayout(t.Context(), address, tt.want)
			switch {
			case tt.wrong == "" && err != nil, tt.wrong != "" && (!errors.Is(err, deck.ErrLayout) || !strings.Contains(err.Error(), tt.wrong)):
				t.Errorf("opened: %v", err)
			}
			if err == nil {
				_ = d.Close()
			}
		})
	}
}
