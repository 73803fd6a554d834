// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/goleak"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/compaction"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/file"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	_ "github.com/tapedeck/tapedeck/internal/deck/store/s3"
	"github.com/tapedeck/tapedeck/internal/deck/transfer"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/testbed/groundtruth"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

var readCorpus = sync.OnceValues(func() ([]groundtruth.Run, error) { return groundtruth.Corpus("../../../testdata/corpus") })

func corpus(t testing.TB, most int) (sets []*evidence.Set) {
	t.Helper()
	all, err := readCorpus()
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(all); i += max(1, len(all)/most) {
		set, err := all[i].Evidence()
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, set)
	}
	return sets
}

// halves deals the items of a set into two.
func halves(set *evidence.Set) (two [2]*evidence.Set) {
	two = [2]*evidence.Set{evidence.NewSet(), evidence.NewSet()}
	for i, item := range set.Items() {
		td := ptrace.NewTraces()
		rs := td.ResourceSpans().AppendEmpty()
		item.Resource.Resource().CopyTo(rs.Resource())
		rs.SetSchemaUrl(item.Resource.SchemaUrl())
		ss := rs.ScopeSpans().AppendEmpty()
		item.Scope.Scope().CopyTo(ss.Scope())
		ss.SetSchemaUrl(item.Scope.SchemaUrl())
		item.Span.CopyTo(ss.Spans().AppendEmpty())
		two[i%2].AddTraces(td)
	}
	return two
}

func memory(t testing.TB) string {
	name := fmt.Sprintf("%s-%d", strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-")), rand.Uint64())
	t.Cleanup(func() { mem.Drop(name) })
	return "mem://" + name
}

func open(t testing.TB, url string, l deck.Layout) *deck.Deck {
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

// quick are limits with which reels do not wait for long.
var quick = reel.Limits{MaxBytes: 1 << 20, MaxRuns: 5, MaxWait: 50 * time.Millisecond}

func deliver(t testing.TB, d *deck.Deck, tenant string, complete bool, sets ...*evidence.Set) (locations []deck.Location) {
	t.Helper()
	for _, set := range sets {
		for _, tr := range set.Split() {
			r := derive.Request{Tenant: tenant, TraceID: tr.TraceID, Set: tr.Set, Complete: complete}
			var err error
			var s *derive.Stored
			if d.Layout() == deck.LayoutReels {
				w := derive.NewReelWriter(d, options, quick)
				s, _, err = w.Deliver(t.Context(), r)
				w.Close()
			} else {
				s, _, err = derive.NewWriter(d, options).Deliver(t.Context(), r)
			}
			if err != nil && !errors.Is(err, generation.ErrNoRun) {
				t.Fatal(err)
			}
			l := deck.Location{Area: s.Placement.Area, Tenant: tenant, TraceID: tr.TraceID, ReplayRunID: s.Placement.Verdict.ID}
			if l.Area != deck.AreaReplays {
				l.ReplayRunID = ""
			}
			locations = append(locations, l)
		}
	}
	return locations
}

// rich fills a deck of files with one of everything that a deck can hold.
func rich(t testing.TB, d *deck.Deck) {
	t.Helper()
	ctx := t.Context()
	sets := corpus(t, 24)
	var all []deck.Location
	for i, set := range sets {
		tenant := []string{"default", "Acme Inc/EU"}[i%2]
		if i%4 == 0 {
			two := halves(set)
			deliver(t, d, tenant, true, two[0])
			all = append(all, deliver(t, d, tenant, true, two[1])...)
			continue
		}
		all = append(all, deliver(t, d, tenant, i%5 != 0, set)...)
	}
	production := slices.DeleteFunc(slices.Clone(all), func(l deck.Location) bool {
		if l.Area != deck.AreaRuns {
			return true
		}
		state, err := d.State(ctx, l)
		return err != nil || len(state.Generations) == 0 // evidence without a run
	})
	if len(production) < 12 {
		t.Fatalf("%d traces in production", len(production))
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	_, err := d.Bury(ctx, production[0], deck.Burial{Reason: deck.ReasonRequest, At: at})
	check(err)
	var parts []string
	for i := 1; i < len(production); i++ { // a trace of several parts
		parts, err = d.Parts(ctx, production[i])
		check(err)
		if len(parts) > 1 {
			production[1], production[i] = production[i], production[1]
			break
		}
	}
	if len(parts) < 2 {
		t.Fatal("no trace has two parts")
	}
	check(d.BuryPart(ctx, production[1], parts[0], deck.Burial{Reason: deck.ReasonScrub}))
	state, err := d.State(ctx, production[1])
	check(err)
	for _, g := range state.Generations { // as scrub does
		_, err = d.BuryGeneration(ctx, production[1], g.Generation, deck.Burial{Reason: deck.ReasonScrub})
		check(err)
	}
	state, err = d.State(ctx, production[2])
	check(err)
	_, err = d.BuryGeneration(ctx, production[2], state.Generations[0].Generation, deck.Burial{Reason: deck.ReasonScrub})
	check(err)
	_, err = d.PutHold(ctx, production[3], "", "case 12", at)
	check(err)
	state, err = d.State(ctx, production[4])
	check(err)
	_, err = d.PutReplayStatus(ctx, production[4], state.Generations[0].Runs[0].Root, []byte(`{"kind":"replay-status"}`+"\n"))
	check(err)
	_, err = d.PutQuarantine(ctx, production[5], []byte(`{"kind":"quarantine"}`), []byte("masked"))
	check(err)
	// A joined run, and a generation in a trace of which one run went there: rows cannot name it.
	state, err = d.State(ctx, production[6])
	check(err)
	current, _ := state.Current()
	body, err := d.ReadFile(ctx, production[6], current.Generation, current.Runs[0].Root, deck.TapeFile)
	check(err)
	joined := production[6]
	joined.Area = deck.AreaJoined
	files := []deck.RunFiles{{Root: current.Runs[0].Root, Files: []deck.File{{Name: deck.TapeFile, Body: body}}}}
	_, err = d.PutGeneration(ctx, joined, current.Generation, files)
	check(err)
	other := current.Generation
	other.Revision++
	other.Digest = strings.Repeat("ab", 32)
	_, err = d.PutGeneration(ctx, production[6], other, files)
	check(err)
	check(d.RemoveGenerations(ctx, production[6], []deck.GenerationState{current}))
}

// objects are the objects of a deck as they are stored.
func objects(t testing.TB, d *deck.Deck) map[string]string {
	t.Helper()
	all := map[string]string{}
	store := view.Raw(d)
	for o, err := range store.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		body, err := store.Get(t.Context(), o.Key)
		if err != nil {
			t.Fatal(err)
		}
		all[o.Key] = string(body)
	}
	return all
}

// shown is what readers of a deck find: the evidence and the current files, and what is noted.
func shown(t testing.TB, d *deck.Deck) map[string]string {
	t.Helper()
	ctx := t.Context()
	all := map[string]string{}
	for l, err := range d.Locations(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		state, err := d.State(ctx, l)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range state.Parts {
			body, err := d.ReadPart(ctx, l, part)
			if err != nil {
				t.Fatal(err)
			}
			all[path.Join(l.Prefix(), part)] = string(body)
		}
		current, _ := state.Current()
		for _, run := range current.Runs {
			for _, name := range run.Files {
				body, err := d.ReadFile(ctx, l, current.Generation, run.Root, name)
				if err != nil {
					t.Fatal(err)
				}
				all[path.Join(l.Prefix(), current.String(), run.Root, name)] = string(body)
			}
		}
	}
	for key, body := range objects(t, d) {
		switch {
		case deck.IsNote(key) && !strings.HasSuffix(key, "undecided.json"):
			n, err := d.ReadNote(ctx, key)
			if err != nil {
				t.Fatal(err)
			}
			// A part has another key in each layout.
			all["note "+n.Location.Prefix()+" "+path.Base(key)] = ofPart.ReplaceAllString(body, "")
		case strings.HasPrefix(key, deck.HoldArea+"/"), strings.HasPrefix(key, deck.StatusFolder), strings.HasPrefix(key, deck.QuarantineArea+"/"):
			all[key] = body
		}
	}
	return all
}

var ofPart = regexp.MustCompile(`"key":"[^"]*",`)

func carry(t testing.TB, from, to *deck.Deck, o transfer.Options) transfer.Sums {
	t.Helper()
	o.Limits = quick
	if o.Refused == nil {
		o.Refused = func(what string, err error) { t.Errorf("%s: %v", what, err) }
	}
	sums, err := transfer.Run(t.Context(), from, to, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []transfer.Counts{sums.Traces, sums.Parts, sums.Tapes, sums.Tombstones, sums.Holds, sums.Replays, sums.Quarantine} {
		if c.Read != c.Written+c.There+c.Refused {
			t.Errorf("the counts do not add up: %+v", sums)
		}
	}
	return sums
}

func written(s transfer.Sums) int {
	return s.Traces.Written + s.Parts.Written + s.Tapes.Written + s.Tombstones.Written + s.Holds.Written + s.Replays.Written + s.Quarantine.Written
}

func same(t testing.TB, when string, want, got map[string]string) {
	t.Helper()
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("%s: other keys:\n%.3000s", when, diff)
	}
	for key, body := range want {
		if other, ok := got[key]; ok && other != body {
			t.Errorf("%s: %s differs: %.300q, %.300q", when, key, body, other)
		}
	}
}

// TestADeckThereAndBackIsTheSame: from files to reels to files, in every storage, with everything that a deck can hold; and a second time nothing is written.
func TestADeckThereAndBackIsTheSame(t *testing.T) {
	files := open(t, memory(t), deck.LayoutFiles)
	rich(t, files)
	want := shown(t, files)
	for where, url := range map[string]func(*testing.T) string{
		"memory": func(t *testing.T) string { return memory(t) },
		"file":   func(t *testing.T) string { return decktest.FileURL(t) + "?sync=false" },
		"s3":     func(t *testing.T) string { return decktest.VersityGW(t).URL },
	} {
		t.Run(where, func(t *testing.T) {
			reels := open(t, url(t), deck.LayoutReels)
			back := open(t, memory(t), deck.LayoutFiles)
			first := carry(t, files, reels, transfer.Options{})
			for what, c := range map[string]transfer.Counts{"traces": first.Traces, "parts": first.Parts, "tapes": first.Tapes, "tombstones": first.Tombstones, "holds": first.Holds, "records": first.Replays, "quarantine": first.Quarantine} {
				if c.Written == 0 {
					t.Errorf("no %s: %+v", what, first)
				}
			}
			if first.Beside != 1 {
				t.Errorf("%d traces lie beside the reels, want the one that was made for it", first.Beside)
			}
			same(t, "in reels", want, shown(t, reels))
			rows := 0
			for entries, err := range view.Catalog(reels).Walk(t.Context(), nil) {
				if err != nil {
					t.Fatal(err)
				}
				rows += len(entries)
			}
			if rows < first.Parts.Written-10 {
				t.Errorf("%d rows of %d parts", rows, first.Parts.Written)
			}
			before := objects(t, reels)
			if again := carry(t, files, reels, transfer.Options{}); written(again) != 0 || again.Traces.There != first.Traces.Written {
				t.Errorf("again: %+v", again)
			}
			same(t, "again", before, objects(t, reels))
			carry(t, reels, back, transfer.Options{})
			same(t, "back in files", want, shown(t, back))
			before = objects(t, back)
			if again := carry(t, reels, back, transfer.Options{}); written(again) != 0 {
				t.Errorf("back again: %+v", again)
			}
			same(t, "back again", before, objects(t, back))
			// What was compacted meanwhile is the same deck still.
			if _, err := compaction.Run(t.Context(), reels, compaction.Options{}); err != nil {
				t.Fatal(err)
			}
			if again := carry(t, reels, back, transfer.Options{}); written(again) != 0 {
				t.Errorf("after a compaction: %+v", again)
			}
			if again := carry(t, files, reels, transfer.Options{}); written(again) != 0 {
				t.Errorf("into what was compacted: %+v", again)
			}
		})
	}
}

// TestTheSameLayoutToo: copies, also of decks of the first layout of files.
func TestTheSameLayoutToo(t *testing.T) {
	for name, l := range map[string]deck.Layout{"files": deck.LayoutFiles, "files of layout 1": deck.LayoutFiles1, "reels": deck.LayoutReels} {
		t.Run(name, func(t *testing.T) {
			from := open(t, memory(t), l)
			if l != deck.LayoutReels {
				rich(t, from)
			} else {
				deliver(t, from, "Acme Inc/EU", true, corpus(t, 12)...)
			}
			to := open(t, memory(t), from.Layout())
			carry(t, from, to, transfer.Options{})
			same(t, "copied", shown(t, from), shown(t, to))
		})
	}
}

// mortal is a store whose user dies: from its last write on, nothing reaches the store.
type mortal struct {
	deck.Store
	mu   sync.Mutex
	left int
}

var errDead = &deck.StoreError{Op: "put", Scheme: "test", Reason: "killed"}

func (m *mortal) die() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left--; m.left < 0 {
		return errDead
	}
	return nil
}

func (m *mortal) PutNew(ctx context.Context, key string, body []byte, contentType string) (bool, error) {
	if err := m.die(); err != nil {
		return false, err
	}
	return m.Store.PutNew(ctx, key, body, contentType)
}

func (m *mortal) Delete(ctx context.Context, key string) error {
	if err := m.die(); err != nil {
		return err
	}
	return m.Store.Delete(ctx, key)
}

// TestATransferThatIsKilledGoesOn: killed behind any write, again and again, it ends with the same deck, and writes no part twice.
func TestATransferThatIsKilledGoesOn(t *testing.T) {
	files := open(t, memory(t), deck.LayoutFiles)
	rich(t, files)
	want := shown(t, files)
	for name, l := range map[string]deck.Layout{"files": deck.LayoutFiles, "reels": deck.LayoutReels} {
		t.Run(name, func(t *testing.T) {
			url := memory(t)
			r := rand.New(rand.NewPCG(3, 17))
			killed := 0
			for budget := 2; ; budget += 1 + r.IntN(4) {
				store, err := deck.OpenStore(t.Context(), url)
				if err != nil {
					t.Fatal(err)
				}
				dying := &mortal{Store: store, left: budget}
				if killed == 0 { // the marker names the layout
					if _, err := store.PutNew(t.Context(), "tapedeck.json", fmt.Appendf(nil, `{"kind":"tape-deck","layout":"%s"}`, l), ""); err != nil {
						t.Fatal(err)
					}
				}
				to, err := deck.New(t.Context(), dying, url)
				if err != nil {
					t.Fatal(err)
				}
				_, err = transfer.Run(t.Context(), files, to, transfer.Options{Limits: quick})
				if closeErr := to.Close(); closeErr != nil && !errors.Is(closeErr, error(errDead)) {
					t.Error(closeErr)
				}
				if err == nil {
					break
				}
				if killed++; killed > 400 || !strings.Contains(err.Error(), "killed") {
					t.Fatal(killed, err)
				}
			}
			if killed < 3 {
				t.Errorf("killed %d times only", killed)
			}
			to := open(t, url, l)
			same(t, fmt.Sprintf("killed %d times", killed), want, shown(t, to))
			if again := carry(t, files, to, transfer.Options{}); written(again) != 0 {
				t.Errorf("again: %+v", again)
			}
		})
	}
}

// TestTwoDecksWithHalvesOfATraceBecomeOne: the tapes are of all evidence, as if one collector had received it.
func TestTwoDecksWithHalvesOfATraceBecomeOne(t *testing.T) {
	whole := open(t, memory(t), deck.LayoutFiles)
	var two [2][]*evidence.Set
	for _, set := range corpus(t, 16) {
		deliver(t, whole, "default", true, set) // other parts, the same tapes
		h := halves(set)
		two[0], two[1] = append(two[0], h[0]), append(two[1], h[1])
	}
	tapes := func(d *deck.Deck) map[string]string {
		all := map[string]string{}
		for key, body := range shown(t, d) {
			if path.Base(key) == deck.TapeFile {
				all[path.Base(path.Dir(path.Dir(path.Dir(key))))+"-"+path.Base(path.Dir(key))] = body
			}
		}
		return all
	}
	want := tapes(whole)
	for _, from := range []deck.Layout{deck.LayoutFiles, deck.LayoutReels} {
		for _, to := range []deck.Layout{deck.LayoutFiles, deck.LayoutReels} {
			t.Run(string(from)+" into "+string(to), func(t *testing.T) {
				a, b := open(t, memory(t), from), open(t, memory(t), to)
				deliver(t, a, "default", true, two[0]...)
				deliver(t, b, "default", true, two[1]...)
				sums := carry(t, a, b, transfer.Options{})
				if sums.United == 0 {
					t.Errorf("%+v", sums)
				}
				same(t, "united", want, tapes(b))
				if again := carry(t, a, b, transfer.Options{}); written(again) != 0 {
					t.Errorf("again: %+v", again)
				}
			})
		}
	}
}

// TestWhatADeckHasTakenAwayOrHoldsIsRespected: nothing comes back by a transfer, nothing goes that is held, and it is said.
func TestWhatADeckHasTakenAwayOrHoldsIsRespected(t *testing.T) {
	for name, l := range map[string]deck.Layout{"files": deck.LayoutFiles, "reels": deck.LayoutReels} {
		t.Run(name, func(t *testing.T) {
			from, to := open(t, memory(t), deck.LayoutFiles), open(t, memory(t), l)
			sets := corpus(t, 8)
			locations := deliver(t, from, "default", true, sets...)
			if _, err := to.PutTombstone(t.Context(), locations[0], deck.Burial{Reason: deck.ReasonRequest}); err != nil {
				t.Fatal(err)
			}
			// The other deck holds a run that this one has erased.
			deliver(t, to, "default", true, sets[1])
			if _, err := to.PutHold(t.Context(), locations[1], "", "case 7", time.Time{}); err != nil {
				t.Fatal(err)
			}
			for _, l := range locations[1:3] {
				if _, err := from.Bury(t.Context(), l, deck.Burial{Reason: deck.ReasonRequest}); err != nil {
					t.Fatal(err)
				}
			}
			deliver(t, to, "default", true, sets[2])
			var said []string
			sums := carry(t, from, to, transfer.Options{Refused: func(what string, err error) { said = append(said, what+": "+err.Error()) }})
			if sums.Traces.Refused != 1 || sums.Tombstones.Refused != 1 || len(said) != 2 || !strings.Contains(strings.Join(said, " "), "case 7") || !strings.Contains(strings.Join(said, " "), "request") {
				t.Errorf("%+v\n%q", sums, said)
			}
			for i, want := range []bool{false, true, false, true} {
				state, err := to.State(t.Context(), locations[i])
				if err != nil || len(state.Parts) > 0 != want {
					t.Errorf("%d: %v, %v", i, state, err)
				}
			}
			if v, ok := to.Store().(*view.View); ok {
				if err := v.Erase(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for key, body := range objects(t, to) {
				if strings.Contains(key, reel.Area+"/") && strings.Contains(body, locations[2].TraceID) {
					t.Errorf("%s holds what was erased", key)
				}
			}
		})
	}
}

// TestWhatAnInterruptedMoveLeftBehindComesAlong: to where the trace was moved.
func TestWhatAnInterruptedMoveLeftBehindComesAlong(t *testing.T) {
	for name, l := range map[string]deck.Layout{"files": deck.LayoutFiles, "reels": deck.LayoutReels} {
		t.Run(name, func(t *testing.T) {
			from, to := open(t, memory(t), deck.LayoutFiles), open(t, memory(t), l)
			at := deliver(t, from, "default", true, corpus(t, 4)[0])[0]
			parts, err := from.Parts(t.Context(), at)
			if err != nil || len(parts) != 1 {
				t.Fatal(parts, err)
			}
			moved := at
			moved.Area, moved.ReplayRunID = deck.AreaReplays, "r-1"
			if _, err := from.PutTombstone(t.Context(), at, deck.Burial{Reason: deck.ReasonLateTag, MovedTo: &moved}); err != nil {
				t.Fatal(err)
			}
			if sums := carry(t, from, to, transfer.Options{}); sums.Parts.Written != 1 {
				t.Errorf("%+v", sums)
			}
			state, err := to.State(t.Context(), moved)
			if err != nil || !slices.Equal(state.Parts, parts) {
				t.Errorf("%+v, %v", state, err)
			}
			if again := carry(t, from, to, transfer.Options{}); written(again) != 0 || again.Parts.There != 1 {
				t.Errorf("again: %+v", again)
			}
		})
	}
}

// TestADamagedTraceIsRefusedAlone, with its place, and the rest is carried.
func TestADamagedTraceIsRefusedAlone(t *testing.T) {
	for name, l := range map[string]deck.Layout{"files": deck.LayoutFiles, "reels": deck.LayoutReels} {
		t.Run(name, func(t *testing.T) {
			from, to := open(t, memory(t), deck.LayoutFiles), open(t, memory(t), l)
			locations := deliver(t, from, "default", true, corpus(t, 8)...)
			for o, err := range from.Store().List(t.Context(), locations[3].Prefix()+"/") {
				if err != nil {
					t.Fatal(err)
				}
				if strings.HasSuffix(o.Key, deck.PartSuffix) {
					if err := from.Store().Delete(t.Context(), o.Key); err != nil {
						t.Fatal(err)
					}
					if _, err := from.Store().PutNew(t.Context(), o.Key, []byte("no evidence"), ""); err != nil {
						t.Fatal(err)
					}
				}
			}
			if _, err := from.Store().PutNew(t.Context(), "notes.txt", []byte("x"), ""); err != nil {
				t.Fatal(err)
			}
			var said []string
			sums := carry(t, from, to, transfer.Options{Refused: func(what string, err error) { said = append(said, what) }})
			if sums.Traces.Refused != 1 || sums.Traces.Written != len(locations)-1 || sums.NotOfADeck != 1 || !slices.Equal(said, []string{locations[3].Prefix()}) {
				t.Errorf("%+v %q", sums, said)
			}
		})
	}
}

// TestATransferTakesWhatIsWanted: by tenant and by what is known of runs, with what is noted about these runs.
func TestATransferTakesWhatIsWanted(t *testing.T) {
	from := open(t, memory(t), deck.LayoutFiles)
	rich(t, from)
	all := shown(t, from)
	for name, l := range map[string]deck.Layout{"files": deck.LayoutFiles, "reels": deck.LayoutReels} {
		t.Run(name, func(t *testing.T) {
			to := open(t, memory(t), l)
			sums := carry(t, from, to, transfer.Options{Tenant: "Acme Inc/EU"})
			got := shown(t, to)
			if sums.LeftOut == 0 || len(got) == 0 {
				t.Errorf("%+v", sums)
			}
			for key, body := range all {
				_, there := got[key]
				if of := strings.Contains(key, deck.SafeName("Acme Inc/EU")); of != there || there && got[key] != body {
					t.Errorf("%s: %v", key, there)
				}
			}
			other := open(t, memory(t), l)
			of := map[string][]string{} // traces by the status of their runs
			for r, err := range view.Runs(t.Context(), from, nil) {
				if err != nil {
					t.Fatal(err)
				}
				of[r.Status] = append(of[r.Status], r.TraceID)
			}
			status := slices.MinFunc(slices.Sorted(maps.Keys(of)), func(a, b string) int { return len(of[a]) - len(of[b]) })
			wanted := map[string]bool{}
			for _, id := range of[status] {
				wanted[id] = true
			}
			sums = carry(t, from, other, transfer.Options{Wants: func(m *reel.Meta) bool { return m.Status == status }})
			for l, err := range other.Locations(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				state, err := other.State(t.Context(), l)
				if err != nil {
					t.Fatal(err)
				}
				if !wanted[l.TraceID] && len(state.Parts)+len(state.Generations) > 0 { // where a part is buried, its key is taken
					t.Errorf("%s, %v", l, state)
				}
				delete(wanted, l.TraceID)
			}
			if len(wanted) > 0 || sums.LeftOut == 0 || sums.Traces.Written == 0 {
				t.Errorf("%v are left, %+v", wanted, sums)
			}
		})
	}
}
