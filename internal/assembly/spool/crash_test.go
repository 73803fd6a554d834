// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
)

var (
	crashSeed  = flag.Uint64("crash.seed", 0, "run this seed of the crash test alone")
	crashSeeds = flag.Int("crash.seeds", 200, "how many seeds the crash test runs")
)

// Fate of a record that a test has handed to a log.
type fate int

const (
	acknowledged fate = iota // has to be there
	inDoubt                  // may be there: its release or its failed append met a crash or a failing disk
	refused                  // must never be there
)

// witness knows the fate of every record, across crashes.
type witness struct {
	t       *testing.T
	seed    uint64
	rng     *rand.Rand
	mu      sync.Mutex
	entries map[string]Entry // by meta
	fates   map[string]fate
	ids     map[string]ID // what is held
	next    int
}

func TestNothingAcknowledgedIsLostInACrash(t *testing.T) {
	if *crashSeed != 0 {
		crashRun(t, *crashSeed)
		return
	}
	for seed := range uint64(*crashSeeds) {
		if crashRun(t, seed+1); t.Failed() {
			t.Fatalf("seed %d: go test -run %s -crash.seed %d", seed+1, t.Name(), seed+1)
		}
	}
}

func crashRun(t *testing.T, seed uint64) {
	w := &witness{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 2)), entries: map[string]Entry{}, fates: map[string]fate{}, ids: map[string]ID{}}
	o := Options{SegmentBytes: minSegmentBytes, MaxDeadRatio: []float64{0.1, 1, 5}[seed%3]}
	if seed%4 == 0 {
		o.MaxBytes = 20 * minSegmentBytes
	}
	if seed%5 == 0 {
		o.Compression = CompressionZstd
	}
	d := newFaultDir(seed)
	if seed%7 == 0 {
		d.capacity = 15 * minSegmentBytes
	}
	for range 4 {
		d.crashIn = 1 + w.rng.IntN(600)
		d.fault = nil
		if seed%3 == 1 {
			d.fault = w.faults(d.rng)
		}
		w.live(d, o)
		d.mu.Lock()
		d.crash()
		d.mu.Unlock()
		d = d.crashed
	}
	d.fault, d.crashIn = nil, 0
	if log := w.reopen(d, o); log != nil {
		w.readAll(log)
		_ = log.Close()
	}
}

// faults makes a disk on which now and then something fails.
func (w *witness) faults(rng *rand.Rand) func(op, name string) error {
	return func(op, name string) error {
		if op == "list" || op == "open" || op == "read" || rng.IntN(25) > 0 {
			return nil
		}
		if op == "write" || op == "preallocate" {
			if rng.IntN(2) == 0 {
				return syscall.ENOSPC
			}
		}
		return syscall.EIO
	}
}

// live uses a log until the machine goes down.
func (w *witness) live(d *faultDir, o Options) {
	log := w.reopen(d, o)
	if log == nil {
		return // it went down while it was opened
	}
	down := func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.crashed != nil
	}
	for round := 0; round < 60 && !down() && !w.t.Failed(); round++ {
		switch w.rng.IntN(10) {
		default:
			w.appendSome(log, down)
		case 5, 6:
			w.releaseSome(log, 3)
		case 7:
			w.releaseSome(log, len(w.ids))
		case 8:
			w.readAll(log)
		case 9:
			_ = log.Close()
			if down() {
				return
			}
			if log = w.reopen(d, o); log == nil {
				return
			}
		}
	}
	d.mu.Lock()
	d.crash()
	d.mu.Unlock()
	_ = log.Close()
}

// reopen compares what is there with what has to be; nil when the machine goes down meanwhile.
func (w *witness) reopen(d *faultDir, o Options) *Log {
	found := map[string]ID{}
	log, err := open(d, o, func(h Held) error {
		meta := string(h.Meta)
		if _, twice := found[meta]; twice {
			w.t.Errorf("%s is recovered twice", meta)
		}
		if e, known := w.entries[meta]; !known || !bytes.Equal(e.Key, h.Key) {
			w.t.Errorf("%q with key %q was never appended", meta, h.Key)
		}
		found[meta] = h.ID
		return nil
	})
	if err != nil {
		if d.crashed == nil && !errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.ENOSPC) {
			w.t.Errorf("open: %v", err)
		}
		return nil
	}
	for meta, fate := range w.fates {
		if _, there := found[meta]; fate == acknowledged && !there {
			w.t.Errorf("%s was acknowledged and is lost", meta)
		} else if fate == refused && there {
			w.t.Errorf("%s was refused and is there", meta)
		}
		if _, there := found[meta]; !there {
			w.fates[meta] = refused // what is gone once does not come back
		}
	}
	for meta := range found {
		w.fates[meta] = acknowledged
	}
	w.ids = found
	return log
}

// appendSome appends a few batches at once. When the machine goes down during a rollback, the refusal of the batch was not yet returned.
func (w *witness) appendSome(log *Log, down func() bool) {
	var wg sync.WaitGroup
	for range 1 + w.rng.IntN(4) {
		n := 1 + w.rng.IntN(4)
		entries := make([]Entry, n)
		for i := range entries {
			w.next++
			meta := fmt.Sprintf("record %d", w.next)
			size := []int{0, 10, 500, 3000, 20000}[w.rng.IntN(5)] * (1 + w.rng.IntN(2)) / 2
			entries[i] = Entry{Key: fmt.Appendf(nil, "run %d", w.rng.IntN(9)), Meta: []byte(meta), Payload: bytes.Repeat([]byte(meta), 1+size/len(meta))}
			w.mu.Lock()
			w.entries[meta], w.fates[meta] = entries[i], inDoubt
			w.mu.Unlock()
		}
		wg.Go(func() {
			ids := make([]ID, n)
			err := log.Append(context.Background(), withMessages(entries), ids)
			w.mu.Lock()
			defer w.mu.Unlock()
			for i, e := range entries {
				switch {
				case err == nil:
					w.fates[string(e.Meta)] = acknowledged
					w.ids[string(e.Meta)] = ids[i]
				case errors.Is(err, ErrFull) && !down():
					w.fates[string(e.Meta)] = refused
				}
			}
		})
	}
	wg.Wait()
}

func (w *witness) releaseSome(log *Log, n int) {
	metas := slices.Sorted(maps.Keys(w.ids))
	w.rng.Shuffle(len(metas), func(i, j int) { metas[i], metas[j] = metas[j], metas[i] })
	n = min(n, len(metas))
	var ids []ID
	for _, meta := range metas[:n] {
		ids = append(ids, w.ids[meta])
		delete(w.ids, meta)
		w.fates[meta] = inDoubt
	}
	if err := log.Release(ids); err != nil {
		w.t.Errorf("release: %v", err)
	}
}

func (w *witness) readAll(log *Log) {
	metas := slices.Sorted(maps.Keys(w.ids))
	ids := make([]ID, len(metas))
	for i, meta := range metas {
		ids[i] = w.ids[meta]
	}
	n := 0
	err := log.Read(ids, func(i int, meta, payload []byte) error {
		n++
		if string(meta) != metas[i] || !bytes.Equal(payload, w.entries[metas[i]].Payload) {
			w.t.Errorf("%s reads as %s", metas[i], meta)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errCrashed) || err == nil && n != len(ids) {
		w.t.Errorf("read %d of %d: %v", n, len(ids), err)
	}
}
