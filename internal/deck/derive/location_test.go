// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/tape"
)

// pieces are the spans of a recorded run, one set each; the last one carries the tag.
func pieces(t *testing.T, tag string) (all []*evidence.Set, trace string) {
	t.Helper()
	set, err := firstRun()
	if err != nil {
		t.Fatal(err)
	}
	traces := spans(set)
	for i, td := range traces {
		if tag != "" && i == len(traces)-1 {
			td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().PutStr("replay_run_id", tag)
		}
		one := evidence.NewSet()
		one.AddTraces(td)
		all = append(all, one)
	}
	if len(all) < 4 {
		t.Fatalf("only %d spans", len(all))
	}
	return all, set.Split()[0].TraceID
}

var firstRun = sync.OnceValues(func() (*evidence.Set, error) {
	runs, err := readCorpus()
	if err != nil {
		return nil, err
	}
	return runs[0].Evidence()
})

func union(sets ...*evidence.Set) *evidence.Set {
	all := evidence.NewSet()
	for _, s := range sets {
		all.Merge(s)
	}
	return all
}

// eachLayout runs a test for the decks of every layout.
func eachLayout(t *testing.T, run func(*testing.T, deck.Layout)) {
	t.Helper()
	for _, layout := range []deck.Layout{deck.LayoutFiles1, deck.LayoutFiles} {
		t.Run("layout "+string(layout), func(t *testing.T) { run(t, layout) })
	}
}

func memDeck(t *testing.T, layout deck.Layout) (*deck.Deck, *decktest.FaultStore, func(Accept) *Writer) {
	t.Helper()
	return memDeckOf(t, layout, func(f *decktest.FaultStore) deck.Store { return f })
}

// batchStore creates several objects as a store of files does: with one call, in their order.
type batchStore struct{ *decktest.FaultStore }

func (s batchStore) PutAllNew(ctx context.Context, objects []deck.NewObject) (created bool, err error) {
	for _, o := range objects {
		isNew, err := s.PutNew(ctx, o.Key, o.Body, o.ContentType)
		if err != nil {
			return created, err
		}
		created = created || isNew
	}
	return created, nil
}

// eachStore runs a test with a store that creates objects one by one, and with one that creates several with one call.
func eachStore(t *testing.T, test func(t *testing.T, as func(*decktest.FaultStore) deck.Store)) {
	t.Run("one by one", func(t *testing.T) { test(t, func(f *decktest.FaultStore) deck.Store { return f }) })
	t.Run("batches", func(t *testing.T) { test(t, func(f *decktest.FaultStore) deck.Store { return batchStore{f} }) })
}

// eachBatchingLayout is eachLayout, and the layout in which a writer does not look first with a store of batches.
func eachBatchingLayout(t *testing.T, test func(t *testing.T, layout deck.Layout, as func(*decktest.FaultStore) deck.Store)) {
	eachLayout(t, func(t *testing.T, layout deck.Layout) {
		test(t, layout, func(f *decktest.FaultStore) deck.Store { return f })
	})
	t.Run("batches", func(t *testing.T) {
		test(t, deck.LayoutFiles, func(f *decktest.FaultStore) deck.Store { return batchStore{f} })
	})
}

func memDeckOf(t *testing.T, layout deck.Layout, as func(*decktest.FaultStore) deck.Store) (*deck.Deck, *decktest.FaultStore, func(Accept) *Writer) {
	t.Helper()
	name := strings.NewReplacer("/", "-", "#", "-", "_", "-").Replace(strings.ToLower(t.Name()))
	mem.Drop(name)
	t.Cleanup(func() { mem.Drop(name) })
	store, err := deck.OpenStore(t.Context(), "mem://"+name)
	if err != nil {
		t.Fatal(err)
	}
	faults := decktest.Wrap(store)
	decktest.MakeDeck(t, faults, layout)
	d, err := deck.New(t.Context(), as(faults), "mem://"+name)
	if err != nil {
		t.Fatal(err)
	}
	return d, faults, func(a Accept) *Writer {
		return NewWriter(d, Options{Options: generation.Options{Producer: tape.Producer{Name: "tapedeck", Version: "test"}}, Accept: a})
	}
}

// put is a write that ends without an error, or with one that says that there is no run yet.
func put(t *testing.T, w *Writer, trace string, set *evidence.Set, complete bool) Placement {
	t.Helper()
	s, err := w.Store(t.Context(), Request{Tenant: "default", TraceID: trace, Set: set, Complete: complete})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Tapes(t.Context(), s, nil); err != nil && !isNoRun(err) {
		t.Fatal(err)
	}
	return s.Placement
}

// areas tells which locations are listed, and how many parts lie in each.
func areas(t *testing.T, d *deck.Deck) map[string]int {
	t.Helper()
	got := map[string]int{}
	for p, err := range d.Locations(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		parts, err := d.Parts(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		name := string(p.Area)
		if p.ReplayRunID != "" {
			name += "/" + p.ReplayRunID
		}
		got[name] += len(parts)
	}
	return got
}

// leftBelow lists the objects that lie in an area, listed or not, without what the deck notes about traces beside them.
func leftBelow(t *testing.T, d *deck.Deck, area deck.Area) (keys []string) {
	t.Helper()
	for o, err := range d.Store().List(context.WithoutCancel(t.Context()), string(area)+"/") {
		if err != nil {
			t.Fatal(err)
		}
		if !deck.IsNote(o.Key) {
			keys = append(keys, o.Key)
		}
	}
	return keys
}

func currentTape(t *testing.T, d *deck.Deck, p deck.Location) *tape.Tape {
	t.Helper()
	gen, ok, err := d.Current(t.Context(), p)
	if err != nil || !ok || len(gen.Runs) != 1 {
		t.Fatalf("%s: %+v, %v, %v", p, gen, ok, err)
	}
	body, err := d.ReadFile(t.Context(), p, gen.Generation, gen.Runs[0].Root, deck.TapeFile)
	if err != nil {
		t.Fatal(err)
	}
	read, err := tape.Read(body)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestUndecidedBecomesReplayWhenTheTagComes(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout deck.Layout) {
		all, trace := pieces(t, "r-1")
		early, late := union(all[:2]...), union(all[2:]...)
		d, _, writer := memDeck(t, layout)
		if p := put(t, writer(AcceptUndecided), trace, early, false); p.Area != deck.AreaUndecided || p.Refused {
			t.Errorf("%+v", p)
		}
		if p := put(t, writer(AcceptReplay), trace, late, true); p.Area != deck.AreaReplays || p.Promoted != 1 || p.Leaked != 0 {
			t.Errorf("%+v", p)
		}
		if diff := cmp.Diff(map[string]int{"replays/r-1": 2}, areas(t, d)); diff != "" {
			t.Error(diff)
		}
		if left := leftBelow(t, d, deck.AreaUndecided); len(left) != 0 {
			t.Error("left over", left)
		}
		read := currentTape(t, d, deck.Location{Area: deck.AreaReplays, ReplayRunID: "r-1", Tenant: "default", TraceID: trace})
		if read.Run.ReplayRunID != "r-1" {
			t.Errorf("the tape says %q", read.Run.ReplayRunID)
		}
	})
}

func TestTagAfterAProductionWriteLeavesATombstoneThere(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout deck.Layout) {
		all, trace := pieces(t, "r-1")
		n := len(all)
		d, _, writer := memDeck(t, layout)
		if p := put(t, writer(AcceptProduction), trace, union(all[:n-1]...), true); p.Area != deck.AreaRuns {
			t.Errorf("%+v", p)
		}
		if p := put(t, writer(AcceptReplay), trace, all[n-1], true); p.Area != deck.AreaReplays || p.Leaked != 1 {
			t.Errorf("%+v", p)
		}
		if diff := cmp.Diff(map[string]int{"replays/r-1": 2}, areas(t, d)); diff != "" {
			t.Error(diff)
		}
		if left := leftBelow(t, d, deck.AreaRuns); len(left) != 0 {
			t.Error("left over in production", left)
		}
		to, why, moved, err := d.MovedTo(t.Context(), deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: trace})
		if err != nil || !moved || why != deck.ReasonLateTag || to.ReplayRunID != "r-1" {
			t.Error(to, why, moved, err)
		}
		// Late spans without a tag follow their trace, whoever writes them.
		for _, a := range []Accept{AcceptAny, AcceptProduction, AcceptReplay, AcceptUndecided} {
			if p := put(t, writer(a), trace, all[0], true); p.Area != deck.AreaReplays || p.Refused {
				t.Errorf("%q: %+v", a, p)
			}
		}
	})
}

func TestWriterBeginsNoTraceOfASideThatItDoesNotAccept(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout deck.Layout) {
		production, trace := pieces(t, "")
		replay, _ := pieces(t, "r-1")
		for _, test := range []struct {
			accept  Accept
			set     *evidence.Set
			replay  bool
			area    deck.Area
			refused bool
		}{
			{AcceptAny, union(production...), false, deck.AreaRuns, false},
			{AcceptAny, union(replay...), true, deck.AreaReplays, false},
			{AcceptProduction, union(production...), false, deck.AreaRuns, false},
			{AcceptProduction, union(replay...), true, deck.AreaUndecided, true},
			{AcceptReplay, union(production...), false, deck.AreaUndecided, true},
			{AcceptReplay, union(replay...), true, deck.AreaReplays, false},
			{AcceptUndecided, union(production...), false, deck.AreaUndecided, false},
			{AcceptUndecided, union(replay...), true, deck.AreaUndecided, true},
		} {
			t.Run(fmt.Sprintf("%q replay %v", test.accept, test.replay), func(t *testing.T) {
				d, _, writer := memDeck(t, layout)
				for range 2 {
					p := put(t, writer(test.accept), trace, test.set, true)
					if p.Area != test.area || p.Refused != test.refused || p.Verdict.Replay != test.replay {
						t.Errorf("%+v", p)
					}
				}
				if n := len(areas(t, d)); n != 1 {
					t.Errorf("it lies in %d places", n)
				}
				tapes := 0
				for _, key := range leftBelow(t, d, test.area) {
					if strings.HasSuffix(key, deck.TapeFile) {
						tapes++
					}
				}
				if (tapes == 0) != test.refused {
					t.Errorf("%d tapes", tapes)
				}
				// The right writer takes it up, and nothing stays behind.
				right := AcceptProduction
				if test.replay {
					right = AcceptReplay
				}
				p := put(t, writer(right), trace, test.set, true)
				if want := map[bool]deck.Area{false: deck.AreaRuns, true: deck.AreaReplays}[test.replay]; p.Area != want || p.Refused {
					t.Errorf("the right writer: %+v", p)
				}
				if left := leftBelow(t, d, deck.AreaUndecided); len(left) != 0 {
					t.Error("left over", left)
				}
			})
		}
	})
}

// TestPiecesInAnyOrderThroughAnyWritersEndInOnePlace writes the spans of one run in random pieces, from several goroutines. The writers
// accept this or that. Some writes fail and are tried again. Two collectors do the same when the load balancer before them stops keeping a
// trace together.
func TestPiecesInAnyOrderThroughAnyWritersEndInOnePlace(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout deck.Layout) {
		for seed := range uint64(60) {
			for _, tag := range []string{"", "r-1"} {
				t.Run(fmt.Sprintf("seed %d tag %q", seed, tag), func(t *testing.T) {
					r := rand.New(rand.NewPCG(seed, 7))
					all, trace := pieces(t, tag)
					d, faults, writer := memDeck(t, layout)
					accepts := []Accept{AcceptAny, AcceptProduction, AcceptReplay, AcceptUndecided}
					type delivery struct {
						set      *evidence.Set
						w        *Writer
						complete bool
						first    bool
					}
					var deliveries []delivery
					r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
					for rest := all; len(rest) > 0; {
						n := 1 + r.IntN(len(rest))
						deliveries = append(deliveries, delivery{union(rest[:n]...), writer(accepts[r.IntN(len(accepts))]), r.IntN(2) == 0, r.IntN(2) == 0})
						rest = rest[n:]
					}
					boom := errors.New("power cut")
					for range 6 {
						faults.FailAfter(1+r.IntN(60), boom)
						faults.FailBefore(1+r.IntN(60), boom)
					}
					var wg sync.WaitGroup
					for _, v := range deliveries {
						wg.Go(func() {
							for {
								_, err := v.w.Write(t.Context(), Request{Tenant: "default", TraceID: trace, Set: v.set, Complete: v.complete, First: v.first})
								if err == nil || isNoRun(err) {
									return
								}
								if !errors.Is(err, boom) && !errors.Is(err, errMoved) {
									t.Error(err)
									return
								}
							}
						})
					}
					wg.Wait()
					faults.Reset()
					if tag != "" && len(leftBelow(t, d, deck.AreaRuns)) > 0 {
						listed := areas(t, d)
						if listed["runs"] > 0 {
							t.Fatalf("a replay is listed in production: %v", listed)
						}
					}
					// One more delivery of the whole, by the writer whose side it is, gathers what is left.
					side := map[bool]Accept{true: AcceptProduction, false: AcceptReplay}[tag == ""]
					p := put(t, writer(side), trace, union(all...), true)
					location := deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: trace}
					if tag != "" {
						location.Area, location.ReplayRunID = deck.AreaReplays, tag
					}
					if p.Area != location.Area {
						t.Fatalf("%+v", p)
					}
					if listed := areas(t, d); len(listed) != 1 {
						t.Fatalf("listed: %v", listed)
					}
					if n := len(leftBelow(t, d, deck.AreaUndecided)); n > 0 {
						t.Errorf("%d objects left under undecided/", n)
					}
					if n := len(leftBelow(t, d, deck.AreaRuns)); tag != "" && n > 0 {
						t.Errorf("%d objects left in production", n)
					}
					want := whole(t, union(all...), trace, location)
					if diff := cmp.Diff(want, string(currentTape(t, d, location).AppendJSON(nil))); diff != "" {
						t.Errorf("another tape than that of the whole:\n%.1000s", diff)
					}
				})
			}
		}
	})
}

// whole is the tape of the evidence when it comes at once.
func whole(t *testing.T, set *evidence.Set, trace string, location deck.Location) string {
	t.Helper()
	mem.Drop("whole")
	d, err := deck.Open(t.Context(), "mem://whole")
	if err != nil {
		t.Fatal(err)
	}
	put(t, NewWriter(d, Options{Options: generation.Options{Producer: tape.Producer{Name: "tapedeck", Version: "test"}}}), trace, set, true)
	return string(currentTape(t, d, location).AppendJSON(nil))
}

func TestWritersThatMeetEachOtherAtTheRootLeaveNothingBehind(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout deck.Layout) {
		all, trace := pieces(t, "")
		early, late := union(all[:2]...), union(all[2:]...)
		// The writer of the root runs between any two operations of the writer that has no root.
		for n := 1; ; n++ {
			d, faults, writer := memDeck(t, layout)
			put(t, writer(AcceptAny), strings.Repeat("0", 31)+"1", all[0], true) // makes the marker
			faults.Reset()
			met := false
			faults.Hook(func(_ context.Context, op decktest.Op) error {
				if op.N == n && !met {
					met = true
					put(t, writer(AcceptAny), trace, late, true)
				}
				return nil
			})
			put(t, writer(AcceptAny), trace, early, false)
			faults.Reset()
			if !met {
				if n < 8 {
					t.Errorf("only %d operations", n)
				}
				return
			}
			gen, ok, err := d.Current(t.Context(), deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: trace})
			if err != nil || !ok || gen.Items != len(all) {
				t.Errorf("met at %d: %d of %d items, %v", n, gen.Items, len(all), err)
			}
			if left := leftBelow(t, d, deck.AreaUndecided); len(left) != 0 {
				t.Errorf("met at %d: left %v", n, left)
			}
		}
	})
}

func TestEvidenceThatWasTakenAwayIsNotWrittenAgain(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout deck.Layout) {
		all, trace := pieces(t, "")
		d, _, writer := memDeck(t, layout)
		put(t, writer(AcceptAny), trace, union(all...), true)
		if _, err := d.Bury(t.Context(), deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: trace}, deck.Burial{Reason: deck.ReasonRetention}); err != nil {
			t.Fatal(err)
		}
		_, err := writer(AcceptAny).Write(t.Context(), Request{Tenant: "default", TraceID: trace, Set: all[0], Complete: true})
		if !errors.Is(err, deck.ErrBuried) || !strings.Contains(err.Error(), "retention") {
			t.Error(err)
		}
		if got := areas(t, d); len(got) != 0 {
			t.Error(got)
		}
	})
}

func TestScrubbedPartDoesNotComeBackWhereItsTraceMoved(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout deck.Layout) {
		all, trace := pieces(t, "r-1")
		n := len(all)
		d, _, writer := memDeck(t, layout)
		put(t, writer(AcceptAny), trace, union(all[:n-1]...), true)
		runs := deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: trace}
		parts, err := d.Parts(t.Context(), runs)
		if err != nil || len(parts) != 1 {
			t.Fatal(parts, err)
		}
		if err := d.BuryPart(t.Context(), runs, parts[0], deck.Burial{Reason: deck.ReasonScrub}); err != nil {
			t.Fatal(err)
		}
		put(t, writer(AcceptAny), trace, all[n-1], true)
		_, err = writer(AcceptAny).Write(t.Context(), Request{Tenant: "default", TraceID: trace, Set: union(all[:n-1]...), Complete: true})
		if !errors.Is(err, deck.ErrBuried) {
			t.Error(err)
		}
		if keys := leftBelow(t, d, deck.AreaReplays); slices.ContainsFunc(keys, func(k string) bool { return strings.Contains(k, parts[0]) }) {
			t.Error("the scrubbed part is back", keys)
		}
	})
}
