// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/compaction"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
)

// A day is simulated with the writer and the compaction of the product, in a bubble whose clock goes on when everybody waits. What stands in the place of the runs is rows of random bytes.
//
// It is scaled twice, and both leave the numbers of the plan as they are but for the factor. With a run of scale runs, and waits that are as much longer, a reel gathers as many runs as at the full rate, so
// there are scale times fewer of everything. With content that is shrink times smaller, and bounds on bytes that are smaller by the same, a reel closes at as many runs.
const shrink = 50

// simulated is what a day came to.
type simulated struct {
	runs               int
	level0             int64 // objects that were written
	level1             int   // objects at the end of the day
	stored             int64 // bytes of level 0
	requests           int   // of the collector, behind its start
	compactions        int
	compactionBytes    int64
	compactionRequests int
}

// written counts the reels of writers.
type written struct {
	*decktest.FaultStore
	level0, bytes atomic.Int64
}

func (w *written) PutNew(ctx context.Context, key string, body []byte, contentType string) (bool, error) {
	if n, ok := reel.ParseName(key); ok && n.Level == 0 {
		w.level0.Add(1)
		w.bytes.Add(int64(len(body)))
	}
	return w.FaultStore.PutNew(ctx, key, body, contentType)
}

// openCounted opens a deck of reels in memory.
func openCounted(t *testing.T, address string) (*deck.Deck, *written) {
	t.Helper()
	store, err := deck.OpenStore(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	c := &written{FaultStore: decktest.Wrap(store)}
	d, err := deck.New(t.Context(), c, address)
	if err != nil {
		t.Fatal(err)
	}
	return d, c
}

// runRow is a run of so many bytes of content, half of which compress.
func runRow(r *rand.Rand, content int) reel.Row {
	digits := func(n int) string {
		b := make([]byte, n/2)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return hex.EncodeToString(b)
	}
	trace, root, part := digits(32), digits(16), digits(64)
	evidence := make([]byte, content/2)
	for i := range evidence[:len(evidence)/2] {
		evidence[i] = byte(r.Uint32())
	}
	return reel.Row{Meta: reel.Meta{Tenant: "default", TraceID: trace, RootSpanID: root, RunID: trace + "-" + root, Area: string(deck.AreaRuns), Part: part, Parts: []string{part}, Items: 20,
		Producer: `["capacity","1",""]`, Formats: generation.DefaultFormats, Revision: generation.Revision, Complete: true, StartedAt: time.Now().UnixMicro()},
		Evidence: evidence, Tape: []byte(strings.Repeat(`{"a":1}`, content/2/7))}
}

// simulate lets runs come for a day, as many as at a rate divided by scale, into the reels of one collector, which are compacted as often as every, and at the end of the day.
func simulate(t *testing.T, l load, scale int, every time.Duration) (s simulated) {
	t.Helper()
	name := "day-" + strings.ReplaceAll(t.Name(), "/", "-")
	address := "mem://" + name
	defer mem.Drop(name)
	first, err := deck.OpenLayout(t.Context(), address, deck.LayoutReels)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		d, c := openCounted(t, address)
		compactor, worked := openCounted(t, address)
		if err := d.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.Reset()
		limits := reel.Limits{MaxBytes: 2 * reelBytes / shrink, MaxRuns: reelRuns, MaxWait: time.Duration(reelWait * float64(scale) * float64(time.Second))}
		w := reel.NewWriter(d, limits)
		r := rand.New(rand.NewPCG(1, uint64(scale)))
		rate := l.Runs / float64(scale)
		// The writer counts a KiB for each row beside its content.
		content := int(l.Bytes*measured.Content/shrink) - 1<<10 - 64
		var adding sync.WaitGroup
		begin := time.Now()
		compact := func() {
			sums, err := compaction.Run(t.Context(), compactor, compaction.Options{MaxBytes: levelOne / shrink})
			if err != nil {
				t.Error(err)
			}
			s.compactions++
			s.compactionBytes += sums.BytesIn + sums.BytesOut
		}
		next := begin.Add(every)
		for {
			time.Sleep(time.Duration(r.ExpFloat64() / rate * float64(time.Second)))
			if time.Since(begin) >= time.Duration(day)*time.Second {
				break
			}
			for every > 0 && time.Now().After(next) {
				compact()
				next = next.Add(every)
			}
			s.runs++
			row := runRow(r, content)
			adding.Go(func() {
				if err := w.Add(t.Context(), []reel.Row{row}, nil, true); err != nil {
					t.Error(err)
				}
			})
		}
		w.Close()
		adding.Wait()
		s.level0, s.stored, s.requests = c.level0.Load(), c.bytes.Load(), c.Count()
		compact()
		objects, err := view.Catalog(compactor).List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			if o.Level > 0 {
				s.level1++
			}
		}
		s.compactionRequests = worked.Count()
	})
	return s
}

// warm makes what the zstd library makes with its first use, which no bubble may own.
func warm(t *testing.T) {
	t.Helper()
	defer mem.Drop("warm")
	d, err := deck.OpenLayout(t.Context(), "mem://warm", deck.LayoutReels)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	w := reel.NewWriter(d, reel.DefaultLimits)
	r := rand.New(rand.NewPCG(1, 1))
	var adding sync.WaitGroup
	for range 100 {
		row := runRow(r, 4000)
		adding.Go(func() {
			if err := w.Add(t.Context(), []reel.Row{row}, w.Flush, true); err != nil {
				t.Error(err)
			}
		})
	}
	adding.Wait()
	w.Close()
	if _, err := compaction.Run(t.Context(), d, compaction.Options{}); err != nil {
		t.Fatal(err)
	}
}

// TestFrameOfAReel: what a reel takes beside its runs is what the plan takes it for.
func TestFrameOfAReel(t *testing.T) {
	size := func(n int) int {
		r := rand.New(rand.NewPCG(1, 1))
		rows := make([]reel.Row, n)
		for i := range rows {
			rows[i] = runRow(r, 800)
		}
		body, err := reel.Encode(rows)
		if err != nil {
			t.Fatal(err)
		}
		return len(body)
	}
	run := float64(size(51)-size(1)) / 50
	if frame := float64(size(1)) - run; frame > measured.Frame*1.1 || frame < measured.Frame*0.9 {
		t.Errorf("a reel has %.0f bytes beside its runs of %.0f bytes, by the plan %.0f", frame, run, measured.Frame)
	}
}

// confirm compares a day with the plan for it.
func confirm(t *testing.T, rate float64, scale int, every time.Duration) {
	t.Helper()
	l := load{Runs: rate, Spans: 20, Bytes: 50_000}
	s := simulate(t, l, scale, every)
	f := measured
	// Of this content, which is not that of agents. A frame does not shrink, so beside the content it weighs that much more here.
	f.Frame *= shrink
	f.Stored = (float64(s.stored) - float64(s.level0)*measured.Frame) / (float64(s.runs) * l.Bytes / shrink)
	p := f.plan(l)
	times := func(what string, got, want, by float64) {
		t.Helper()
		t.Logf("%s: %.4g, by the plan %.4g", what, got, want)
		if got > want*by || got < want/by {
			t.Errorf("%s: %.4g, by the plan %.4g", what, got, want)
		}
	}
	n := float64(scale)
	times("runs", float64(s.runs)*n, rate*day, 1.2)
	times("objects of level 0", float64(s.level0)*n, p.Level0, 1.15)
	times("requests per million runs beside compaction", float64(s.requests)/float64(s.runs)*1e6, p.Requests, 1.15)
	if rate*l.Spans >= 3000 && float64(s.requests)/float64(s.runs) > 2.0/1000 {
		t.Errorf("%d requests for %d runs", s.requests, s.runs)
	}
	most := int(p.StoredDay/n/levelOne) + 2
	if every > 0 {
		most = int(2*p.StoredDay/n/levelOne) + 2 // what has half of the size is not merged again
	}
	if s.level1 > most || s.level1 < 1 {
		t.Errorf("%d objects of level 1, by the plan %.3g at most %d", s.level1, p.StoredDay/n/levelOne, most)
	}
	work := float64(s.compactionBytes) * n * shrink / day
	if every == 0 {
		times("compaction, bytes per second", work, p.CompactionBytes, 1.2)
	} else if work > 8*p.CompactionBytes {
		t.Errorf("compaction, bytes per second: %.4g, once a day %.4g", work, p.CompactionBytes)
	}
	t.Logf("%d compactions: %.2f times the bytes of one, %.1f requests for each object of level 0, %.0f per million runs; %d objects of level 1", s.compactions, work/p.CompactionBytes,
		float64(s.compactionRequests)/float64(s.level0), float64(s.compactionRequests)/float64(s.runs)*1e6, s.level1)
}

// TestADayIsAsPlanned: a simulated day has as many objects of each level, as many requests, and as much compaction work as the sheet of docs/scale-out.md says, at 1 and at 100 runs per second.
func TestADayIsAsPlanned(t *testing.T) {
	warm(t)
	t.Run("1 run per second", func(t *testing.T) { confirm(t, 1, 200, 0) })
	t.Run("100 runs per second", func(t *testing.T) { confirm(t, 100, 2000, 0) })
	t.Run("3,000 spans per second", func(t *testing.T) { confirm(t, 150, 3000, 0) })
}
