// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
)

var location1 = deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: trace1}

// memDeck returns an empty deck in memory and the store it is on.
func memDeck(t testing.TB) (*deck.Deck, *decktest.FaultStore) {
	t.Helper()
	return memDeckOf(t, "")
}

// memDeckOf is memDeck of a layout, with the marker of it.
func memDeckOf(t testing.TB, layout deck.Layout) (*deck.Deck, *decktest.FaultStore) {
	t.Helper()
	name := strings.NewReplacer("/", "-", "#", "-", ",", "-", "_", "-").Replace(strings.ToLower(t.Name()))
	t.Cleanup(func() { mem.Drop(name) })
	mem.Drop(name)
	store, err := deck.OpenStore(t.Context(), "mem://"+name)
	if err != nil {
		t.Fatal(err)
	}
	faults := decktest.Wrap(store)
	if layout != "" {
		decktest.MakeDeck(t, faults, layout)
	}
	d, err := deck.New(t.Context(), faults, "mem://"+name)
	if err != nil {
		t.Fatal(err)
	}
	faults.Reset()
	return d, faults
}

func runFiles(root string, names ...string) deck.RunFiles {
	r := deck.RunFiles{Root: root}
	for _, n := range append(names, deck.TapeFile) {
		r.Files = append(r.Files, deck.File{Name: n, Body: []byte(root + "/" + n)})
	}
	return r
}

func TestPartIsNamedByItsContentAndReadBack(t *testing.T) {
	d, _ := memDeck(t)
	body := bytes.Repeat([]byte("evidence "), 1000)
	digest, created, err := d.PutPart(t.Context(), location1, body)
	if err != nil || !created || len(digest) != 64 {
		t.Fatal(digest, created, err)
	}
	again, created, err := d.PutPart(t.Context(), location1, body)
	if err != nil || created || again != digest {
		t.Fatal(again, created, err)
	}
	got, err := d.ReadPart(t.Context(), location1, digest)
	if err != nil || !bytes.Equal(got, body) {
		t.Fatal(err)
	}
	parts, err := d.Parts(t.Context(), location1)
	if d := cmp.Diff([]string{digest}, parts); d != "" || err != nil {
		t.Error(d, err)
	}
	want := []string{"runs/default/4b/" + trace1 + "/" + digest + ".otlp.zst", "tapedeck.json"}
	if d := cmp.Diff(want, decktest.Keys(t, d.Store())); d != "" {
		t.Error(d)
	}
	marker, err := d.Store().Get(t.Context(), "tapedeck.json")
	if err != nil || strings.TrimSpace(string(marker)) != `{"kind":"tape-deck","layout":"2"}` {
		t.Errorf("marker %s, %v", marker, err)
	}
}

func TestDamagedPartIsRefused(t *testing.T) {
	d, _ := memDeckOf(t, deck.LayoutFiles)
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	digest := strings.Repeat("a", 64)
	other := strings.Repeat("b", 64)
	bomb := strings.Repeat("c", 64)
	for dg, body := range map[string][]byte{digest: enc.EncodeAll([]byte("something else"), nil), other: []byte("not zstd"), bomb: zstdBomb()} {
		key := location1.Prefix() + "/" + dg + ".otlp.zst"
		if _, err := d.Store().PutNew(t.Context(), key, body, "application/zstd"); err != nil {
			t.Fatal(err)
		}
		if _, err := d.ReadPart(t.Context(), location1, dg); !errors.Is(err, deck.ErrCorrupt) || !deck.IsPermanent(err) {
			t.Errorf("%.4s…: %v", dg, err)
		}
	}
}

// zstdBomb is a frame of one run-length block after another (RFC 8878, section
// 3.1.1), four bytes for 128 KiB each, that goes beyond the limit.
func zstdBomb() []byte {
	const window, blockSize = 0x38, 128 << 10
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, window}
	blocks := deck.MaxObjectBytes/blockSize + 1
	for i := range blocks {
		header := uint32(blockSize<<3 | 1<<1)
		if i == blocks-1 {
			header |= 1
		}
		frame = append(frame, byte(header), byte(header>>8), byte(header>>16), 0)
	}
	return frame
}

func TestGenerationIsCompleteOnlyWithAllTapes(t *testing.T) {
	gen := deck.NewGeneration(3, []string{"p"}, nil)
	runs := []deck.RunFiles{runFiles(root2, "oracle.json", "agent-run1.json"), runFiles(root1, "oracle.json")}
	const writes = 5
	for n := 1; n <= writes; n++ {
		for _, lost := range []bool{false, true} {
			d, faults := memDeck(t)
			if _, _, err := d.PutPart(t.Context(), location1, []byte("x")); err != nil {
				t.Fatal(err)
			}
			faults.Reset()
			boom := errors.New("power cut")
			if lost { // the first operation looks for tombstones
				faults.FailAfter(1+n, boom)
			} else {
				faults.FailBefore(1+n, boom)
			}
			if _, err := d.PutGeneration(t.Context(), location1, gen, runs); !errors.Is(err, boom) {
				t.Fatalf("write %d: %v", n, err)
			}
			faults.Reset()
			allThere := n == writes && lost
			if _, ok, err := d.Current(t.Context(), location1); err != nil || ok != allThere {
				t.Fatalf("after a cut at write %d (lost reply %v): current %v, %v", n, lost, ok, err)
			}
			created, err := d.PutGeneration(t.Context(), location1, gen, runs)
			if err != nil || created == allThere {
				t.Fatalf("repeated after %d: created %v, %v", n, created, err)
			}
			got, ok, err := d.Current(t.Context(), location1)
			want := deck.GenerationState{Generation: gen, Complete: true, Runs: []deck.Run{
				{Root: root1, Files: []string{"oracle.json", "tape.json"}},
				{Root: root2, Files: []string{"agent-run1.json", "oracle.json", "tape.json"}},
			}}
			if diff := cmp.Diff(want, got); diff != "" || !ok || err != nil {
				t.Fatal(diff, ok, err)
			}
		}
	}
}

func TestCurrentIsTheHighestCompleteGeneration(t *testing.T) {
	d, faults := memDeck(t)
	low := deck.NewGeneration(9, []string{"a"}, nil)
	high := deck.NewGeneration(10, []string{"a", "b"}, nil)
	broken := deck.NewGeneration(11, []string{"a", "b", "c"}, nil)
	for _, g := range []deck.Generation{high, low} {
		if _, err := d.PutGeneration(t.Context(), location1, g, []deck.RunFiles{runFiles(root1)}); err != nil {
			t.Fatal(err)
		}
	}
	faults.Reset()
	faults.FailBefore(3, errors.New("cut")) // after the tombstones and the oracle
	if _, err := d.PutGeneration(t.Context(), location1, broken, []deck.RunFiles{runFiles(root1, "oracle.json")}); err == nil {
		t.Fatal("no error")
	}
	faults.Reset()
	state, err := d.State(t.Context(), location1)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range state.Generations {
		got = append(got, fmt.Sprint(g.Items, g.Complete))
	}
	if d := cmp.Diff([]string{"9 true", "10 true", "11 false"}, got); d != "" {
		t.Error(d)
	}
	if cur, ok := state.Current(); !ok || cur.Generation != high {
		t.Errorf("current is %v", cur)
	}
	if !state.Has(low) || state.Has(broken) {
		t.Error("Has does not tell complete generations")
	}
	body, err := d.ReadFile(t.Context(), location1, high, root1, "tape.json")
	if err != nil || string(body) != root1+"/tape.json" {
		t.Error(string(body), err)
	}
}

func TestGenerationRefusesWhatCannotBeToldApart(t *testing.T) {
	d, faults := memDeck(t)
	gen := deck.NewGeneration(1, nil, nil)
	for name, runs := range map[string][]deck.RunFiles{
		"no runs":             {},
		"no tape":             {{Root: root1, Files: []deck.File{{Name: "oracle.json"}}}},
		"bad root":            {runFiles("x")},
		"root twice":          {runFiles(root1, "a"), runFiles(root1, "b")},
		"name twice":          {runFiles(root1, "A.json", "a.json")},
		"path":                {runFiles(root1, "../x")},
		"tape in other case":  {runFiles(root1, "Tape.json")},
		"two runs, tape only": {runFiles(root1, "oracle.json"), runFiles(root2)},
	} {
		if _, err := d.PutGeneration(t.Context(), location1, gen, runs); !deck.IsPermanent(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := faults.Count(); n != 0 {
		t.Errorf("%d operations for refused generations", n)
	}
}

func TestWritersThatMeetConverge(t *testing.T) {
	d, _ := memDeck(t)
	gen := deck.NewGeneration(4, []string{"p"}, nil)
	runs := []deck.RunFiles{runFiles(root1, "oracle.json"), runFiles(root2, "oracle.json")}
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			_, _, err := d.PutPart(t.Context(), location1, []byte{byte(i % 3)})
			_, err2 := d.PutGeneration(t.Context(), location1, gen, runs)
			errs[i] = errors.Join(err, err2)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	state, err := d.State(t.Context(), location1)
	if err != nil || len(state.Parts) != 3 || !state.Has(gen) || len(state.Generations) != 1 {
		t.Errorf("%+v, %v", state, err)
	}
}

func TestOneRunCostsOneWritePerObjectAndTwoListings(t *testing.T) {
	for layout, want := range map[deck.Layout][]string{
		// Tombstones are looked for before the first write, and again after it: in layout 1 beside the listing of the location.
		deck.LayoutFiles1: {"list", "put", "list", "list", "put", "put"},
		deck.LayoutFiles:  {"list", "put", "list", "put", "put"},
	} {
		t.Run("layout "+string(layout), func(t *testing.T) { oneRunCosts(t, layout, want) })
	}
}

func oneRunCosts(t *testing.T, layout deck.Layout, want []string) {
	d, faults := memDeckOf(t, layout)
	if _, _, err := d.PutPart(t.Context(), location1, []byte("first write makes the marker")); err != nil {
		t.Fatal(err)
	}
	faults.Reset()
	location := location1
	location.TraceID = trace2
	writer, err := d.LocationWriter(t.Context(), location)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := writer.PutPart(t.Context(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	state, err := writer.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gen := deck.NewGeneration(1, state.Parts, nil)
	if _, err := writer.PutGeneration(t.Context(), gen, []deck.RunFiles{runFiles(root1, "oracle.json")}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, op := range faults.Ops() {
		got = append(got, op.Name)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestPlacesWalksAllAreas(t *testing.T) {
	d, _ := memDeck(t)
	var want []deck.Location
	for _, area := range deck.Areas() {
		for _, tenant := range []string{"default", "other"} {
			p := deck.Location{Area: area, Tenant: tenant, TraceID: trace1}
			if area == deck.AreaReplays {
				p.ReplayRunID = "r-1"
			}
			want = append(want, p)
			if _, _, err := d.PutPart(t.Context(), p, []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, foreign := range []string{"quarantine/default/4b/" + trace1 + "/x", "runs/default/4b/notes/x", "README"} {
		if _, err := d.Store().PutNew(t.Context(), foreign, nil, "text/plain"); err != nil {
			t.Fatal(err)
		}
	}
	collect := func(areas ...deck.Area) (got []deck.Location) {
		for p, err := range d.Locations(t.Context(), areas...) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, p)
		}
		return got
	}
	byValue := cmp.Comparer(func(a, b deck.Location) bool { return a == b })
	if d := cmp.Diff(want, collect(), byValue); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want[4:6], collect(deck.AreaReplays), byValue); d != "" {
		t.Error(d)
	}
}

func TestPlacesReportsAFailedListingOnce(t *testing.T) {
	d, faults := memDeck(t)
	if _, _, err := d.PutPart(t.Context(), location1, []byte("x")); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	for n := 1; n <= 3; n++ {
		faults.Reset()
		faults.FailBefore(n, boom)
		var errs []error
		for _, err := range d.Locations(t.Context()) {
			if err != nil {
				errs = append(errs, err)
			}
		}
		if len(errs) != 1 || !errors.Is(errs[0], boom) {
			t.Errorf("listing %d: %v", n, errs)
		}
	}
}

func TestUnknownLayoutIsRefused(t *testing.T) {
	for name, marker := range map[string]string{
		"layout 3": `{"kind":"tape-deck","layout":"3"}`,
		"marker":   `{"kind":"something"}`,
		"marker ":  `[`,
	} {
		_, faults := memDeck(t)
		if _, err := faults.PutNew(t.Context(), "tapedeck.json", []byte(marker), "application/json"); err != nil {
			t.Fatal(err)
		}
		_, err := deck.New(t.Context(), faults, "mem://x")
		if !errors.Is(err, deck.ErrLayout) || !deck.IsPermanent(err) || !strings.Contains(err.Error(), strings.TrimSpace(name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadingAnEmptyDeckWritesNothing(t *testing.T) {
	d, faults := memDeck(t)
	parts, err := d.Parts(t.Context(), location1)
	if err != nil || len(parts) != 0 {
		t.Error(parts, err)
	}
	if _, ok, err := d.Current(t.Context(), location1); ok || err != nil {
		t.Error(ok, err)
	}
	if n := faults.Count("put"); n != 0 || len(decktest.Keys(t, faults)) != 0 {
		t.Error("a reader wrote")
	}
}

// forgetful ignores the condition on writes, as some services do.
type forgetful struct{ deck.Store }

func (f forgetful) PutNew(ctx context.Context, key string, body []byte, contentType string) (bool, error) {
	if err := f.Delete(ctx, key); err != nil {
		return false, err
	}
	return f.Store.PutNew(ctx, key, body, contentType)
}

func TestStorageThatReplacesObjectsIsRefusedBeforeTheFirstPart(t *testing.T) {
	_, store := memDeck(t)
	for range 2 { // on a new deck, and on one that has its marker
		d, err := deck.New(t.Context(), forgetful{store}, "mem://x")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.PutPart(t.Context(), location1, []byte("x")); !errors.Is(err, deck.ErrLayout) {
			t.Errorf("got %v", err)
		}
		if got := decktest.Keys(t, store); !slices.Equal(got, []string{"tapedeck.json"}) {
			t.Errorf("the deck has %v", got)
		}
	}
}

func TestFailedMarkerIsTriedAgain(t *testing.T) {
	d, faults := memDeck(t)
	faults.FailBefore(1, errors.New("down"))
	if _, _, err := d.PutPart(t.Context(), location1, []byte("x")); err == nil {
		t.Fatal("no error")
	}
	if _, created, err := d.PutPart(t.Context(), location1, []byte("x")); err != nil || !created {
		t.Fatal(created, err)
	}
}

func TestFirstWriterThatHangsHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, faults := memDeck(t)
		release := make(chan struct{})
		var puts atomic.Int64
		faults.Hook(func(_ context.Context, op decktest.Op) error {
			if op.Name == "put" && puts.Add(1) == 1 {
				<-release // deaf to its context
			}
			return nil
		})
		write := func(text string) chan error {
			done := make(chan error, 1)
			go func() {
				_, _, err := d.PutPart(t.Context(), location1, []byte(text))
				done <- err
			}()
			synctest.Wait()
			return done
		}
		held, second := write("one"), write("two")
		select {
		case err := <-second:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("the second writer waits for the first one")
		}
		close(release)
		if err := <-held; err != nil {
			t.Error(err)
		}
	})
}
