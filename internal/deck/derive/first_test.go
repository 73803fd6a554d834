// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
)

func TestNewTraceCostsThreeWritesAndOneListing(t *testing.T) { eachStore(t, newTraceCosts) }

func newTraceCosts(t *testing.T, as func(*decktest.FaultStore) deck.Store) {
	all, trace := pieces(t, "")
	d, faults, writer := memDeckOf(t, deck.LayoutFiles, as)
	w := writer(AcceptProduction)
	first := Request{Tenant: "default", TraceID: strings.Repeat("0", 31) + "1", Set: all[0], Complete: true, First: true}
	if _, err := w.Write(t.Context(), first); err != nil && !isNoRun(err) { // proves the marker
		t.Fatal(err)
	}
	faults.Reset()
	s, written, err := w.Deliver(t.Context(), Request{Tenant: "default", TraceID: trace, Set: union(all...), Complete: true, First: true})
	if err != nil || len(written) != 1 || s.Placement.Area != deck.AreaRuns {
		t.Fatal(s, written, err)
	}
	operations := func() (names []string) {
		for _, op := range faults.Ops() {
			names = append(names, op.Name)
		}
		if !strings.Contains(faults.Ops()[0].Key, deck.PartSuffix) {
			t.Error("the evidence is not what is written first")
		}
		return names
	}
	if diff := cmp.Diff([]string{"put", "put", "put", "list"}, operations()); diff != "" {
		t.Error(diff)
	}
	location := deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: trace}
	if diff := cmp.Diff(whole(t, union(all...), trace, location), string(currentTape(t, d, location).AppendJSON(nil))); diff != "" {
		t.Error(diff)
	}
	// Evidence of which no tape can be made is written all the same, and nothing is tried twice.
	w.deriver.Enter = func(at string) {
		if at == generation.StageRender {
			panic("a value that nobody thought of")
		}
	}
	faults.Reset()
	first.TraceID, first.Set = strings.Repeat("0", 31)+"2", union(all...)
	if _, err := w.Write(t.Context(), first); !errors.Is(err, generation.ErrUnderivable) {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"put", "list"}, operations()); diff != "" {
		t.Error(diff)
	}
}

// meeting is what somebody else does to a trace that is being written for the first time, and what must hold when both have ended.
type meeting struct {
	name string
	act  func(t *testing.T, d *deck.Deck, writer func(Accept) *Writer)
	hold func(t *testing.T, d *deck.Deck, err error)
}

// meetings returns them, and the request of the writer that is met: it has all but the last span.
func meetings(t *testing.T) (Request, []meeting) {
	all, trace := pieces(t, "r-1")
	n := len(all)
	plain, _ := pieces(t, "")
	runs := deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: trace}
	replay := runs
	replay.Area, replay.ReplayRunID = deck.AreaReplays, "r-1"
	r := Request{Tenant: "default", TraceID: trace, Set: union(plain[:n-1]...), Complete: true, First: true}
	part, err := r.Set.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	own := deck.PartDigest(part)
	write := func(set *evidence.Set, complete, first bool) func(*testing.T, *deck.Deck, func(Accept) *Writer) {
		return func(t *testing.T, _ *deck.Deck, writer func(Accept) *Writer) {
			_, err := writer(AcceptAny).Write(t.Context(), Request{Tenant: "default", TraceID: trace, Set: set, Complete: complete, First: first})
			if err != nil && !isNoRun(err) {
				t.Error(err)
			}
		}
	}
	whole := func(at deck.Location, items int) func(*testing.T, *deck.Deck, error) {
		return func(t *testing.T, d *deck.Deck, err error) {
			t.Helper()
			if err != nil {
				t.Error(err)
			}
			gen, ok, err := d.Current(t.Context(), at)
			if err != nil || !ok || gen.Items != items {
				t.Errorf("%d of %d items, %v", gen.Items, items, err)
			}
			state, err := d.State(t.Context(), at)
			if err != nil {
				t.Error(err)
			} else if d.Layout() == deck.LayoutFiles1 {
				// In layout 1 a writer that was slow may leave a generation that is replaced, for the next writer.
				state.Generations = nil
			}
			for _, g := range state.Generations {
				if g.Items != items { // two of as many items hold the same tapes, of other parts
					t.Errorf("generation %s is left", g)
				}
			}
			for _, area := range []deck.Area{deck.AreaRuns, deck.AreaUndecided} {
				if left := leftBelow(t, d, area); area != at.Area && len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
			}
		}
	}
	return r, []meeting{
		{"nobody", func(*testing.T, *deck.Deck, func(Accept) *Writer) {}, whole(runs, n-1)},
		{"the rest, as new", write(plain[n-1], true, true), whole(runs, n)},
		{"the rest", write(plain[n-1], true, false), whole(runs, n)},
		{"more than it has", write(union(plain...), true, true), whole(runs, n)},
		{"less than it has", write(union(plain[:2]...), true, true), whole(runs, n-1)},
		{"the same", write(union(plain[:n-1]...), true, true), whole(runs, n-1)},
		{"the rest, undecided", write(plain[n-1], false, false), whole(runs, n)},
		{"the tag", write(all[n-1], true, true), whole(replay, n)},
		{"all with the tag", write(union(all...), true, true), whole(replay, n)},
		{"erasure", func(t *testing.T, d *deck.Deck, _ func(Accept) *Writer) {
			if _, err := d.Bury(t.Context(), runs, deck.Burial{Reason: deck.ReasonRequest}); err != nil {
				t.Error(err)
			}
		}, func(t *testing.T, d *deck.Deck, err error) {
			if err != nil && !errors.Is(err, deck.ErrBuried) {
				t.Error(err)
			}
			if left := leftBelow(t, d, deck.AreaRuns); len(left) > 0 {
				t.Errorf("what was erased lies there: %v", left)
			}
		}},
		{"scrubbing of the part", func(t *testing.T, d *deck.Deck, _ func(Accept) *Writer) {
			state, err := d.State(t.Context(), runs)
			if err != nil {
				t.Error(err)
			}
			if err := d.BuryPart(t.Context(), runs, own, deck.Burial{Reason: deck.ReasonScrub}); err != nil {
				t.Error(err)
			}
			for _, g := range state.Generations {
				if _, err := d.BuryGeneration(t.Context(), runs, g.Generation, deck.Burial{Reason: deck.ReasonScrub}); err != nil {
					t.Error(err)
				}
			}
		}, func(t *testing.T, d *deck.Deck, err error) {
			if err != nil && !errors.Is(err, deck.ErrBuried) {
				t.Error(err)
			}
			for _, key := range leftBelow(t, d, deck.AreaRuns) {
				if body, err := d.Store().Get(t.Context(), key); err != nil || len(body) > 16 {
					t.Errorf("%s holds %d bytes of what was scrubbed, %v", key, len(body), err)
				}
			}
		}},
	}
}

// Somebody else acts between any two operations of the writer of a new trace: whoever looks last sees what the other has done.
func TestWhoeverMeetsTheWriterOfANewTraceIsSeen(t *testing.T) {
	r, all := meetings(t)
	for _, m := range all {
		t.Run(m.name, func(t *testing.T) {
			eachBatchingLayout(t, func(t *testing.T, layout deck.Layout, as func(*decktest.FaultStore) deck.Store) {
				for n := 1; ; n++ {
					d, faults, writer := memDeckOf(t, layout, as)
					met := false
					faults.Reset()
					faults.Hook(func(_ context.Context, op decktest.Op) error {
						if op.N == n && !met {
							met = true
							m.act(t, d, writer)
						}
						return nil
					})
					_, err := writer(AcceptAny).Write(t.Context(), r)
					faults.Reset()
					if !met { // the other comes when it has ended
						m.act(t, d, writer)
					}
					m.hold(t, d, err)
					if t.Failed() {
						t.Fatalf("met at operation %d", n)
					}
					if !met {
						return
					}
				}
			})
		})
	}
}

// The writer dies at any operation, before or after its effect; what somebody else has done before it began, or does after it died, holds when the
// trace is delivered again.
func TestWriterOfANewTraceThatDiesHarmsNothing(t *testing.T) {
	r, all := meetings(t)
	boom := errors.New("power cut")
	for _, m := range all {
		for _, before := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, before %v", m.name, before), func(t *testing.T) {
				eachBatchingLayout(t, func(t *testing.T, layout deck.Layout, as func(*decktest.FaultStore) deck.Store) {
					for n := 1; ; n++ {
						died := false
						for _, lost := range []bool{true, false} {
							d, faults, writer := memDeckOf(t, layout, as)
							if before {
								m.act(t, d, writer)
							}
							faults.Reset()
							faults.Hook(func(_ context.Context, op decktest.Op) error {
								if op.N > n || op.N == n && lost { // from here on nothing happens
									return boom
								}
								return nil
							})
							if !lost {
								faults.FailAfter(n, boom)
							}
							_, err := writer(AcceptAny).Write(t.Context(), r)
							died = died || errors.Is(err, boom)
							faults.Reset()
							if !before {
								m.act(t, d, writer)
							}
							_, err = writer(AcceptAny).Write(t.Context(), r)
							m.hold(t, d, err)
							if t.Failed() {
								t.Fatalf("died at operation %d, without its effect: %v", n, lost)
							}
						}
						if !died {
							return
						}
					}
				})
			})
		}
	}
}

// Where the deck holds nothing of a trace, the way of a new trace and that of any other write the same objects.
func TestNewTraceGivesTheObjectsOfAnyOther(t *testing.T) {
	all, trace := pieces(t, "")
	var keys [2][]string
	for i, first := range []bool{true, false} {
		d, _, writer := memDeck(t, deck.LayoutFiles)
		if _, err := writer(AcceptAny).Write(t.Context(), Request{Tenant: "default", TraceID: trace, Set: union(all...), Complete: true, First: first}); err != nil {
			t.Fatal(err)
		}
		keys[i] = decktest.Keys(t, d.Store())
	}
	if diff := cmp.Diff(keys[1], keys[0]); diff != "" || !slices.IsSorted(keys[0]) {
		t.Error(diff)
	}
}
