// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package manyruns_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/testbed/manyruns"
)

// TestRunsAreWhatDerivationMakesOfThem: what was not derived is what would have been.
func TestRunsAreWhatDerivationMakesOfThem(t *testing.T) {
	t.Cleanup(func() { mem.Drop("many") })
	d, err := deck.OpenLayout(t.Context(), "mem://many", deck.LayoutReels)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	const runs = 300
	reels, err := manyruns.Write(t.Context(), d, manyruns.Options{Runs: runs, PerReel: 70, Days: 3, Kinds: 9, Seed: 4})
	if err != nil || reels != 5 {
		t.Fatal(reels, err)
	}
	n := 0
	var agents, conversations []string
	for entries, err := range view.Catalog(d).Walk(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		trace := reel.Unite(entries)
		if len(entries) != 1 || trace.Current == nil {
			t.Fatalf("%d rows, %v", len(entries), trace.Current)
		}
		n++
		agents, conversations = append(agents, entries[0].Agent), append(conversations, entries[0].ConversationID)
		want, err := view.Derive(t.Context(), trace, generation.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := trace.Current.Generation; got != want.Generation {
			t.Errorf("generation %s, derivation makes %s", got, want.Generation)
		}
		body, err := entries[0].Tape(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(want.Runs[0].Files, func(f deck.File) bool { return f.Name == deck.TapeFile })
		if diff := cmp.Diff(string(want.Runs[0].Files[i].Body), string(body)); diff != "" {
			t.Fatal(diff)
		}
	}
	if n != runs {
		t.Errorf("%d runs", n)
	}
	slices.Sort(agents)
	slices.Sort(conversations)
	if len(slices.Compact(agents)) < 3 || len(slices.Compact(conversations)) != runs {
		t.Error("the runs are all the same")
	}
}
