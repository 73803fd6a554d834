// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/compaction"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/testbed/sample"
)

// mortal is a store whose user dies: from its last request on, nothing reaches the store.
type mortal struct {
	deck.Store
	mu   sync.Mutex
	left int // requests that change something
}

var errDead = errors.New("killed")

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

// campaign is a deck of reels beside the deck of files that says what a reader has to find in it.
type campaign struct {
	t      *testing.T
	seed   uint64
	r      *rand.Rand
	url    string
	want   *deck.Deck
	pieces []derive.Request // that were delivered
	again  bool             // something was delivered behind an erasing, which readers do not see and the next compaction takes away
}

// open opens the deck for somebody who lives for so many requests, or for ever.
func (c *campaign) open(requests int) *deck.Deck {
	c.t.Helper()
	store, err := deck.OpenStore(c.t.Context(), c.url)
	if err != nil {
		c.t.Fatal(err)
	}
	if requests >= 0 {
		store = &mortal{Store: store, left: requests}
	}
	d, err := deck.New(c.t.Context(), store, c.url)
	if err != nil {
		c.t.Fatal(err)
	}
	return d
}

func (c *campaign) deliver(r derive.Request) {
	c.t.Helper()
	d := c.open(-1)
	defer d.Close()
	for _, err := range view.Raw(d).List(c.t.Context(), deck.TombstoneArea+"/") {
		c.again = c.again || err == nil
	}
	options := options
	options.EvidenceAlone = c.r.IntN(3) == 0
	w := derive.NewReelWriter(d, options, reel.Limits{MaxBytes: 64 << 20, MaxRuns: 1, MaxWait: 50 * time.Millisecond})
	defer w.Close()
	if _, _, err := w.Deliver(c.t.Context(), r); err != nil && !errors.Is(err, generation.ErrNoRun) {
		c.t.Errorf("seed %d: %v", c.seed, err)
	}
	if _, _, err := derive.NewWriter(c.want, options).Deliver(c.t.Context(), r); err != nil && !errors.Is(err, generation.ErrNoRun) && !errors.Is(err, deck.ErrBuried) {
		c.t.Errorf("seed %d: %v", c.seed, err)
	}
}

// compact compacts by somebody who is killed behind so many requests.
func (c *campaign) compact(requests int) {
	c.t.Helper()
	d := c.open(requests)
	defer d.Close()
	sums, err := compaction.Run(c.t.Context(), d, compaction.Options{MaxBytes: 1 << 20})
	if err != nil && !(requests >= 0 && errors.Is(err, errDead)) {
		c.t.Errorf("seed %d: compact: %v", c.seed, err)
	}
	if sums.Failed > 0 {
		c.t.Errorf("seed %d: %d tapes could not be made", c.seed, sums.Failed)
	}
}

// erase takes a trace away, from both decks.
func (c *campaign) erase() {
	c.t.Helper()
	d := c.open(-1)
	var all []deck.Location
	for l, err := range d.Locations(c.t.Context()) {
		if err != nil {
			c.t.Fatal(err)
		}
		all = append(all, l)
	}
	if len(all) > 0 {
		l := all[c.r.IntN(len(all))]
		for _, from := range []*deck.Deck{d, c.want} {
			if _, err := from.Bury(c.t.Context(), l, deck.Burial{Reason: deck.ReasonRequest}); err != nil {
				c.t.Errorf("seed %d: %v", c.seed, err)
			}
		}
	}
	if err := d.Close(); err != nil {
		c.t.Errorf("seed %d: %v", c.seed, err)
	}
}

// nowhere: no reel holds what was erased.
func (c *campaign) nowhere() {
	c.t.Helper()
	d := c.open(-1)
	defer d.Close()
	tombs, err := reel.LoadTombs(c.t.Context(), view.Raw(d))
	if err != nil {
		c.t.Fatal(err)
	}
	objects, err := view.Catalog(d).List(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	for _, o := range objects {
		if there, err := view.Catalog(d).Outdated(c.t.Context(), o, tombs, 0); err != nil || there && !c.again {
			c.t.Errorf("seed %d: %s holds what is buried: %v", c.seed, o.Key(), err)
		}
	}
}

// check compares what readers find.
func (c *campaign) check(when string) {
	c.t.Helper()
	d := c.open(-1)
	defer d.Close()
	want, got := tapes(c.t, c.want), tapes(c.t, d)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		c.t.Fatalf("seed %d, %s: other files:\n%s", c.seed, when, diff)
	}
	for name := range want {
		if want[name] != got[name] {
			c.t.Fatalf("seed %d, %s: %s differs:\n%.1500s", c.seed, when, name, cmp.Diff(want[name], got[name]))
		}
	}
}

// seeds are those of a metamorphic test; a variable gives another one, or many.
func seeds(t *testing.T) (list []uint64) {
	n, from := uint64(sample.Of(1, 3)), uint64(1)
	if s := os.Getenv("TAPEDECK_TEST_SEEDS"); s != "" {
		first, count, _ := strings.Cut(s, "+")
		from, _ = strconv.ParseUint(first, 10, 64)
		n, _ = strconv.ParseUint(count, 10, 64)
		n = max(n, 1)
	}
	for i := range n {
		list = append(list, from+i)
	}
	return list
}

// TestWhateverHappensAReaderSeesEachRunOnce: writes, duplicates, pieces in any order, late tags, compactions that are killed anywhere, two at once, erasing, with readers in between.
func TestWhateverHappensAReaderSeesEachRunOnce(t *testing.T) {
	for where, url := range urls(t) {
		t.Run(where, func(t *testing.T) {
			for _, seed := range seeds(t) {
				runCampaign(t, url(t), where, seed)
			}
		})
	}
}

func runCampaign(t *testing.T, url, where string, seed uint64) {
	if t.Failed() {
		return
	}
	r := rand.New(rand.NewPCG(seed, 17))
	name := fmt.Sprintf("campaign-%s-%d", where, seed)
	t.Cleanup(func() { mem.Drop(name) })
	sub, query, _ := strings.Cut(url, "?")
	c := &campaign{t: t, seed: seed, r: r, url: strings.TrimSuffix(fmt.Sprintf("%s-%d?%s", sub, seed, query), "?"), want: openDeck(t, "mem://"+name, deck.LayoutFiles)}
	if where == "memory" {
		t.Cleanup(func() { mem.Drop(strings.TrimPrefix(c.url, "mem://")) })
	}
	d, err := deck.OpenLayout(t.Context(), c.url, deck.LayoutReels)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	some := corpus(t, 60)
	var waiting []derive.Request
	for range 8 {
		run := some[r.IntN(len(some))]
		for _, piece := range split(r, setOf(t, run)) {
			for _, tr := range piece.Split() {
				waiting = append(waiting, derive.Request{Tenant: "default", TraceID: tr.TraceID, Set: tr.Set, Complete: r.IntN(4) > 0})
			}
		}
	}
	r.Shuffle(len(waiting), func(i, j int) { waiting[i], waiting[j] = waiting[j], waiting[i] })
	var done []string
	for step := 0; len(waiting) > 0; step++ {
		switch what := r.IntN(12); {
		case what < 6:
			done = append(done, "deliver")
			c.pieces = append(c.pieces, waiting[0])
			c.deliver(waiting[0])
			waiting = waiting[1:]
		case what == 6 && len(c.pieces) > 0:
			done = append(done, "again")
			c.deliver(c.pieces[r.IntN(len(c.pieces))])
		case what == 7:
			done = append(done, "compact")
			c.compact(-1)
		case what == 8:
			done = append(done, "compact and die")
			c.compact(r.IntN(6))
		case what == 9:
			done = append(done, "two compact, one dies, one reads")
			var both sync.WaitGroup
			n := r.IntN(6)
			both.Go(func() { c.compact(-1) })
			both.Go(func() { c.compact(n) })
			both.Go(func() { c.check("while two compact") })
			both.Wait()
		case what == 10 && r.IntN(3) == 0:
			done = append(done, "erase")
			c.erase()
		case what == 11 && r.IntN(3) == 0:
			done = append(done, "erase while one compacts")
			var both sync.WaitGroup
			both.Go(func() { c.compact(-1) })
			c.erase()
			both.Wait()
			c.nowhere()
		}
		if step%5 == 0 {
			c.check(strings.Join(done, ", "))
		}
		if t.Failed() {
			t.Fatalf("seed %d: %v", seed, done)
		}
	}
	c.check("all is there")
	c.compact(-1)
	c.check("all is compacted")
	c.settled()
}

// settled: after a compaction that nobody has disturbed there is nothing left to derive, and nothing that is buried.
func (c *campaign) settled() {
	c.t.Helper()
	d := c.open(-1)
	defer d.Close()
	tombs, err := reel.LoadTombs(c.t.Context(), view.Raw(d))
	if err != nil {
		c.t.Fatal(err)
	}
	level0 := 0
	objects, err := view.Catalog(d).List(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	for _, o := range objects {
		if o.Level == 0 {
			level0++
		}
	}
	if level0 > 0 {
		c.t.Errorf("seed %d: %d reels of %d are as writers left them", c.seed, level0, len(objects))
	}
	for entries, err := range view.Catalog(d).Walk(c.t.Context(), nil) {
		if err != nil {
			c.t.Fatal(err)
		}
		trace := reel.Unite(entries)
		left, err := tombs.Left(c.t.Context(), entries)
		if err != nil {
			c.t.Fatal(err)
		}
		if trace.Current == nil {
			c.t.Errorf("seed %d: no row of trace %s has tapes of all evidence", c.seed, entries[0].TraceID)
		}
		if len(left.Rows) != len(entries) {
			c.t.Errorf("seed %d: a reel holds %s, which is buried", c.seed, entries[0].TraceID)
		}
		for _, e := range entries {
			if deck.Area(e.Area) != trace.Location.Area {
				c.t.Errorf("seed %d: a row of trace %s lies in %s, the trace in %s", c.seed, e.TraceID, e.Area, trace.Location.Area)
			}
		}
	}
}
