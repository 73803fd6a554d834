// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/goleak"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/file"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/s3"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

var limits = reel.Limits{MaxBytes: 64 << 20, MaxRuns: 1000, MaxWait: 50 * time.Millisecond}

var readCorpus = sync.OnceValues(func() ([]groundtruth.Run, error) { return groundtruth.Corpus("../../../../testdata/corpus") })

// corpus returns some of the recorded runs, from every part of the corpus.
func corpus(t testing.TB, most int) []groundtruth.Run {
	t.Helper()
	all, err := readCorpus()
	if err != nil {
		t.Fatal(err)
	}
	var some []groundtruth.Run
	for i := 0; i < len(all); i += max(1, len(all)/most) {
		some = append(some, all[i])
	}
	return some
}

func setOf(t testing.TB, run groundtruth.Run) *evidence.Set {
	t.Helper()
	set, err := run.Evidence()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// split deals the items of a set into sets, some of them twice.
func split(r *rand.Rand, set *evidence.Set) []*evidence.Set {
	sets := make([]*evidence.Set, 1+r.IntN(4))
	for i := range sets {
		sets[i] = evidence.NewSet()
	}
	for _, item := range set.Items() {
		for range 1 + r.IntN(2) {
			td := ptrace.NewTraces()
			rs := td.ResourceSpans().AppendEmpty()
			item.Resource.Resource().CopyTo(rs.Resource())
			rs.SetSchemaUrl(item.Resource.SchemaUrl())
			ss := rs.ScopeSpans().AppendEmpty()
			item.Scope.Scope().CopyTo(ss.Scope())
			ss.SetSchemaUrl(item.Scope.SchemaUrl())
			item.Span.CopyTo(ss.Spans().AppendEmpty())
			sets[r.IntN(len(sets))].AddTraces(td)
		}
	}
	if notes := set.Notes(); notes.Len() > 0 {
		sets = append(sets, notes)
	}
	return sets
}

func openDeck(t testing.TB, url string, l deck.Layout) *deck.Deck {
	t.Helper()
	d, err := deck.OpenLayout(t.Context(), url, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

var options = derive.Options{Options: generation.Options{Producer: generation.Producer()}}

// deliver writes the traces of sets, in one layout or the other, a complete trace or a piece of one at a time.
func deliver(t testing.TB, d *deck.Deck, sets ...*evidence.Set) {
	t.Helper()
	deliverBy(t, d, options, sets...)
}

func deliverBy(t testing.TB, d *deck.Deck, options derive.Options, sets ...*evidence.Set) {
	t.Helper()
	var to interface {
		Deliver(context.Context, derive.Request) (*derive.Stored, []derive.Written, error)
	} = derive.NewWriter(d, options)
	if d.Layout() == deck.LayoutReels {
		w := derive.NewReelWriter(d, options, limits)
		defer w.Close()
		to = w
	}
	var wg sync.WaitGroup
	for _, set := range sets {
		for _, tr := range set.Split() {
			wg.Go(func() {
				_, _, err := to.Deliver(t.Context(), derive.Request{Tenant: "default", TraceID: tr.TraceID, Set: tr.Set, Complete: true})
				if err != nil && !errors.Is(err, generation.ErrNoRun) {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
}

// tapes returns what a reader finds: the files of the current tapes, below area, tenant and run.
func tapes(t testing.TB, d *deck.Deck) map[string]string {
	t.Helper()
	files := map[string]string{}
	for location, err := range d.Locations(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		state, err := d.State(t.Context(), location)
		if err != nil {
			t.Fatal(err)
		}
		if len(state.Parts) == 0 {
			t.Errorf("%s has no evidence", location)
		}
		for _, part := range state.Parts {
			if _, err := d.ReadPart(t.Context(), location, part); err != nil {
				t.Error(err)
			}
		}
		current, _ := state.Current()
		for _, run := range current.Runs {
			for _, name := range run.Files {
				body, err := d.ReadFile(t.Context(), location, current.Generation, run.Root, name)
				if err != nil {
					t.Fatal(err)
				}
				files[path.Join(location.Prefix(), run.Root, name)] = string(body)
			}
		}
	}
	return files
}

func urls(t *testing.T) map[string]func(t *testing.T) string {
	return map[string]func(t *testing.T) string{
		"memory": func(t *testing.T) string {
			name := strings.ReplaceAll(t.Name(), "/", "-")
			t.Cleanup(func() { mem.Drop(name) })
			return "mem://" + name
		},
		"file": func(t *testing.T) string { return decktest.FileURL(t) + "?sync=false" },
		"s3":   func(t *testing.T) string { return decktest.VersityGW(t).URL },
	}
}

// TestBothLayoutsShowTheSame: the same evidence in any order, split and duplication, in reels or in files, is the same to a reader.
func TestBothLayoutsShowTheSame(t *testing.T) {
	for where, url := range urls(t) {
		t.Run(where, func(t *testing.T) {
			seed := uint64(11)
			r := rand.New(rand.NewPCG(seed, 1))
			files := openDeck(t, "mem://files-"+where, deck.LayoutFiles)
			t.Cleanup(func() { mem.Drop("files-" + where) })
			reels := openDeck(t, url(t), deck.LayoutReels)
			for _, run := range corpus(t, 25) {
				set := setOf(t, run)
				deliver(t, files, set)
				for _, piece := range split(r, set) {
					deliver(t, reels, piece)
				}
			}
			want, got := tapes(t, files), tapes(t, reels)
			if len(want) < 40 {
				t.Fatalf("only %d files", len(want))
			}
			if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
				t.Fatalf("seed %d: other files:\n%s", seed, diff)
			}
			for name := range want {
				if want[name] != got[name] {
					t.Errorf("seed %d: %s differs:\n%.1500s", seed, name, cmp.Diff(want[name], got[name]))
				}
			}
			// A program that comes later finds out the layout by itself, and every run by its ids.
			again := openDeck(t, reels.URL(), "")
			if again.Layout() != deck.LayoutReels {
				t.Fatalf("layout %q", again.Layout())
			}
			n := 0
			for name, body := range want {
				if path.Base(name) != deck.TapeFile {
					continue
				}
				if n++; n > 5 {
					break
				}
				run := strings.Split(name, "/")
				refs, err := again.Find(t.Context(), run[len(run)-3]+"-"+run[len(run)-2], "")
				if err != nil || len(refs) != 1 {
					t.Fatalf("%s: %v, %v", name, refs, err)
				}
				if found, err := deck.ReadRef(t.Context(), refs[0]); where != "memory" && (err != nil || string(found) != body) {
					t.Errorf("%s is not what its address holds: %v", name, err)
				}
				if refs, err := again.Find(t.Context(), run[len(run)-3][:12], ""); err != nil || len(refs) == 0 {
					t.Errorf("%s by its first digits: %v", name, err)
				}
			}
		})
	}
}

// TestManyTracesShareAReel: an object for all that come together, and no request but for it.
func TestManyTracesShareAReel(t *testing.T) {
	store, err := deck.OpenStore(t.Context(), "mem://share")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Drop("share") })
	counted := decktest.Wrap(store)
	d, err := deck.New(t.Context(), counted, "mem://share")
	if err != nil {
		t.Fatal(err)
	}
	if d.Layout() != deck.LayoutFiles {
		t.Fatalf("an empty deck has layout %q", d.Layout())
	}
	// A deck that has its marker already, as every collector but the first finds it.
	if _, err := store.PutNew(t.Context(), "tapedeck.json", []byte(`{"kind":"tape-deck","layout":"reels-1"}`+"\n"), ""); err != nil {
		t.Fatal(err)
	}
	if d, err = deck.New(t.Context(), counted, "mem://share"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	if err := d.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	counted.Reset()
	var sets []*evidence.Set
	for _, run := range corpus(t, 30) {
		sets = append(sets, setOf(t, run))
	}
	n := 0
	for _, set := range sets {
		n += len(set.Split())
	}
	w := derive.NewReelWriter(d, options, reel.Limits{MaxBytes: 512 << 20, MaxRuns: n, MaxWait: time.Minute})
	var wg sync.WaitGroup
	for _, set := range sets {
		for _, tr := range set.Split() {
			wg.Go(func() {
				_, _, err := w.Deliver(t.Context(), derive.Request{Tenant: "default", TraceID: tr.TraceID, Set: tr.Set, Complete: true})
				if err != nil && !errors.Is(err, generation.ErrNoRun) {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	w.Close()
	if calls := counted.Count(); calls > 2 { // an object for the runs, and one for the replays
		t.Errorf("%d requests for %d traces", calls, n)
	}
}

// TestNamesFindRuns: every id of a run is found without reading the tapes.
func TestNamesFindRuns(t *testing.T) {
	d := openDeck(t, "mem://names", deck.LayoutReels)
	t.Cleanup(func() { mem.Drop("names") })
	var sets []*evidence.Set
	for _, run := range corpus(t, 60) {
		sets = append(sets, setOf(t, run))
	}
	deliver(t, d, sets...)
	named := 0
	for entries, err := range view.Catalog(d).Walk(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			for _, id := range []string{e.ConversationID, e.InvocationID, e.TaskID, e.CorrelationID} {
				if id == "" || e.RunID == "" {
					continue
				}
				named++
				refs, err := runs.Find(t.Context(), d, runs.Query{ID: id, Limit: 1})
				if err != nil {
					t.Fatal(err)
				}
				if !slices.ContainsFunc(refs, func(r deck.Ref) bool { return r.RunID() == e.RunID }) {
					t.Errorf("%s is not found by %s", e.RunID, id)
				}
			}
		}
	}
	if named == 0 {
		t.Fatal("no run has another id")
	}
}

// TestErasedRunsAreNowhere: what is buried is hidden at once, and gone from every object when the command ends.
func TestErasedRunsAreNowhere(t *testing.T) {
	d := openDeck(t, "mem://erased", deck.LayoutReels)
	t.Cleanup(func() { mem.Drop("erased") })
	for _, run := range corpus(t, 12) {
		deliver(t, d, setOf(t, run))
	}
	before := tapes(t, d)
	var victim deck.Location
	for l, err := range d.Locations(t.Context(), deck.AreaRuns) {
		if err != nil {
			t.Fatal(err)
		}
		victim = l
	}
	by, err := deck.Open(t.Context(), "mem://erased")
	if err != nil {
		t.Fatal(err)
	}
	if removed, err := by.Bury(t.Context(), victim, deck.Burial{Reason: deck.ReasonRequest}); err != nil || removed == 0 {
		t.Fatal(removed, err)
	}
	if state, err := by.State(t.Context(), victim); err != nil || len(state.Parts) > 0 {
		t.Errorf("it is shown still: %v, %v", state, err)
	}
	if err := by.Close(); err != nil {
		t.Fatal(err)
	}
	again := openDeck(t, "mem://erased", "")
	after := tapes(t, again)
	for name := range before {
		if strings.Contains(name, victim.TraceID) == (after[name] != "") {
			t.Errorf("%s: there is %t", name, after[name] != "")
		}
	}
	for entries, err := range view.Catalog(again).Walk(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if entries[0].TraceID == victim.TraceID {
			t.Error("a reel holds it still")
		}
	}
}

func TestATombstonedPartIsHidden(t *testing.T) {
	d := openDeck(t, "mem://part", deck.LayoutReels)
	t.Cleanup(func() { mem.Drop("part") })
	set := setOf(t, corpus(t, 12)[3])
	r := rand.New(rand.NewPCG(5, 5))
	for _, piece := range split(r, set) {
		deliver(t, d, piece)
	}
	buried := 0
	for l, err := range d.Locations(t.Context(), deck.AreaRuns) {
		if err != nil {
			t.Fatal(err)
		}
		buried++
		parts, err := d.Parts(t.Context(), l)
		if err != nil || len(parts) < 2 {
			t.Fatalf("%d parts, %v", len(parts), err)
		}
		if err := d.BuryPart(t.Context(), l, parts[0], deck.Burial{Reason: deck.ReasonScrub}); err != nil {
			t.Fatal(err)
		}
		left, err := d.Parts(t.Context(), l)
		if err != nil || len(left) != len(parts)-1 || slices.Contains(left, parts[0]) {
			t.Errorf("%v, %v", left, err)
		}
		if _, err := d.State(t.Context(), l); err != nil {
			t.Error(err)
		}
	}
	if buried == 0 {
		t.Error("no trace")
	}
}

// TestALayoutIsNotChanged: a writer that wants the other one is told.
func TestALayoutIsNotChanged(t *testing.T) {
	for _, have := range []deck.Layout{deck.LayoutFiles, deck.LayoutReels} {
		url := "mem://layout-" + string(have)
		t.Cleanup(func() { mem.Drop("layout-" + string(have)) })
		d := openDeck(t, url, have)
		if err := d.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, want := range []deck.Layout{deck.LayoutFiles, deck.LayoutReels} {
			other, err := deck.OpenLayout(t.Context(), url, want)
			if (err == nil) != (have == want) || err != nil && !errors.Is(err, deck.ErrLayout) {
				t.Errorf("a deck of %s opened for %s: %v", have, want, err)
			}
			if err == nil {
				_ = other.Close()
			}
		}
	}
}
