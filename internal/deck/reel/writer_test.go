// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reel

import (
	"bytes"
	"context"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
)

// sink is a store that takes everything and keeps nothing.
type sink struct {
	deck.Store
	puts chan<- int
}

func (s *sink) PutNew(ctx context.Context, key string, body []byte, contentType string) (bool, error) {
	if _, ok := ParseName(key); !ok {
		return s.Store.PutNew(ctx, key, body, contentType)
	}
	s.puts <- len(body)
	return true, nil
}

// sinkDeck is an empty deck of reels in a sink, which tells the size of each reel that is written.
func sinkDeck(t *testing.T, puts chan<- int) *deck.Deck {
	t.Helper()
	const address = "mem://writer"
	mem.Drop("writer")
	store, err := deck.OpenStore(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	decktest.MakeDeck(t, store, deck.LayoutReels)
	d, err := deck.New(t.Context(), &sink{store, puts}, address)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// randomRow is a row whose content does not get smaller.
func randomRow(n, size int) Row {
	random := rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)})
	row := rowOf(rand.New(rand.NewPCG(1, uint64(n))), n)
	row.TraceID = hexOf(n, 32)
	row.RunID = row.TraceID + "-" + row.RootSpanID
	row.Evidence, row.Tape = make([]byte, size/2), make([]byte, size/2)
	_, _ = random.Read(row.Evidence)
	_, _ = random.Read(row.Tape)
	return row
}

// TestMemoryOfAWriter: rows that wait, the reel that is encoded and those that are sent are twice MaxBytes at most.
func TestMemoryOfAWriter(t *testing.T) {
	const maxBytes, size, all = 96 << 20, 128 << 10, 2000
	puts := make(chan int)
	d := sinkDeck(t, puts)
	limits := DefaultLimits
	limits.MaxBytes = maxBytes
	w := NewWriter(d, limits)
	before := alive()
	// What a collection finds while others go on is more than what is held, by all that comes and goes meanwhile. Here nobody does but those who bring rows, until there is no room.
	var most int64
	encoded := make(chan struct{}, all)
	w.encoded = func() {
		most = max(most, alive()-before)
		encoded <- struct{}{}
	}
	var producers sync.WaitGroup
	producers.Go(func() {
		workers := make(chan struct{}, 4)
		for n := range all {
			workers <- struct{}{}
			producers.Go(func() {
				if err := w.Add(t.Context(), []Row{randomRow(n, size)}, func() { <-workers }, true); err != nil {
					t.Error(err)
				}
			})
		}
	})
	done := make(chan struct{})
	go func() {
		producers.Wait()
		w.Close()
		close(done)
	}()
	var written int64
	<-encoded
	for over := false; !over; {
		select { // the store is slower than everything else: a reel lies there until the next one is made, if there is one
		case <-encoded:
		case <-time.After(time.Second):
		}
		select {
		case n := <-puts:
			written += int64(n)
		case <-done:
			over = true
		}
	}
	if content := int64(all * size); written < content*9/10 || written > content*11/10 {
		t.Errorf("%d MB became %d MB", content>>20, written>>20)
	}
	if most < maxBytes || most > 2*maxBytes {
		t.Errorf("%d MB of memory, max_bytes are %d MB", most>>20, maxBytes>>20)
	}
	t.Logf("%.2f of max_bytes", float64(most)/maxBytes)
}

// TestBurstsShareAReel: a pause of more than a tenth of MaxWait ends a reel of a few traces, or one that its senders wait for, and no other.
func TestBurstsShareAReel(t *testing.T) {
	const wait = 10 * time.Second
	pause := wait / 10 * 3 / 2
	for _, c := range []struct {
		name    string
		bursts  []int
		bounded bool
		reels   int
		after   time.Duration // the first trace is durable
	}{
		{"one run", []int{1}, false, 1, wait / 10},
		{"runs that come alone", []int{1, 1, 1}, false, 3, wait / 10},
		{"bursts", []int{few, few, 1, few, 1, 1, 1}, false, 1, wait},
		{"everybody waits", []int{few}, true, 1, wait / 10},
		{"a load, and then nothing", []int{few}, false, 1, wait / 10 * 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				puts := make(chan int, 100)
				d := sinkDeck(t, puts)
				limits := DefaultLimits
				limits.MaxWait = wait
				w := NewWriter(d, limits)
				begun, first := time.Now(), time.Duration(0)
				var callers sync.WaitGroup
				n := 0
				for _, burst := range c.bursts {
					for range burst {
						n++
						row := randomRow(n, 1000)
						callers.Go(func() {
							if err := w.Add(t.Context(), []Row{row}, nil, !c.bounded); err != nil {
								t.Error(err)
							}
							if row.TraceID == hexOf(1, 32) {
								first = time.Since(begun)
							}
						})
					}
					time.Sleep(pause)
				}
				callers.Wait()
				if len(puts) != c.reels || first != c.after {
					t.Errorf("%d reels, the first trace was durable after %s; want %d and %s", len(puts), first, c.reels, c.after)
				}
				w.Close()
			})
		})
	}
}

// alive is what a collection of garbage leaves on the heap.
func alive() int64 {
	runtime.GC()
	runtime.GC() // what was made while the first one went on counts as alive there
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// TestContentIsStoredOnce: not in bounds, in no header, in no index.
func TestContentIsStoredOnce(t *testing.T) {
	rows := []Row{randomRow(1, 64<<10)}
	rows[0].UserMessage = "where is my parcel, said the customer"
	content := [][]byte{rows[0].Evidence[:64], rows[0].Tape[:64], []byte(rows[0].UserMessage)}
	body := encode(t, rows)
	for i, text := range content {
		if n := bytes.Count(body, text); n > 1 {
			t.Errorf("content %d stands in the reel %d times", i, n)
		}
	}
	if len(body) > 64<<10+16<<10 {
		t.Errorf("64 KB became %d bytes", len(body))
	}
}
