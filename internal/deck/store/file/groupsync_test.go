// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// disk knows what was written and what of it a sync has reached that began later.
type disk struct {
	mu               sync.Mutex
	written, durable map[int]bool
	wholes, alone    int
	fail             error
}

func (d *disk) whole() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wholes++
	reached := make([]int, 0, len(d.written))
	for i := range d.written {
		reached = append(reached, i)
	}
	d.mu.Unlock()
	time.Sleep(10 * time.Millisecond) // of the bubble
	d.mu.Lock()
	if d.fail != nil {
		return d.fail
	}
	for _, i := range reached {
		d.durable[i] = true
	}
	return nil
}

func (d *disk) one(i int, err error) func() error {
	return func() error {
		time.Sleep(time.Millisecond)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.alone++
		d.durable[i] = err == nil
		return err
	}
}

func (d *disk) write(i int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.written[i] = true
}

func TestNobodyReturnsFromAGroupBeforeWhatItWroteIsDurable(t *testing.T) {
	for _, fails := range []error{nil, errors.New("the disk is on fire")} {
		synctest.Test(t, func(t *testing.T) {
			d := &disk{written: map[int]bool{}, durable: map[int]bool{}, fail: fails}
			g := &groupSync{whole: d.whole}
			bad := errors.New("this file cannot be synced")
			var wg sync.WaitGroup
			for i := range 200 {
				wg.Go(func() {
					time.Sleep(time.Duration(i%37) * time.Millisecond)
					d.write(i)
					var want error
					if i%50 == 0 && fails != nil {
						want = bad
					}
					err := g.sync(d.one(i, want))
					d.mu.Lock()
					defer d.mu.Unlock()
					if !errors.Is(err, want) || want == nil && !d.durable[i] {
						t.Errorf("writer %d: %v, durable: %v", i, err, d.durable[i])
					}
				})
			}
			wg.Wait()
			if fails == nil && (d.wholes == 0 || d.alone > 2 || d.wholes > 10) {
				t.Errorf("%d syncs of everything and %d of files for 200 writers", d.wholes, d.alone)
			}
			if fails != nil && d.alone != 200 {
				t.Errorf("only %d of 200 writers have synced their own files where syncing everything fails", d.alone)
			}
			if g.busy || len(g.waiting) > 0 {
				t.Error("somebody is still waiting")
			}
		})
	}
}

func TestWhoIsAloneSyncsOnlyItsOwnFiles(t *testing.T) {
	d := &disk{written: map[int]bool{}, durable: map[int]bool{}}
	g := &groupSync{whole: d.whole}
	for i := range 3 {
		if err := g.sync(d.one(i, nil)); err != nil || !d.durable[i] {
			t.Errorf("%v, durable: %v", err, d.durable)
		}
	}
	if d.wholes != 0 {
		t.Errorf("%d syncs of the whole file system for one writer", d.wholes)
	}
}

func TestPutsShareTheirSyncs(t *testing.T) {
	s := &store{folder: t.TempDir(), sync: true, lock: lockTemp, now: time.Now, durable: map[string]struct{}{}}
	root, err := s.openTree(true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if root.device = deviceOf(root.Root); root.device == 0 {
		noDevice(t)
	}
	const writers = 32
	var wholes atomic.Int64
	root.group.whole = func() error { wholes.Add(1); return nil }
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for n := range 4 {
				if created, err := s.PutNew(t.Context(), fmt.Sprintf("a/%d/%d", i, n), []byte("body"), ""); err != nil || !created {
					t.Errorf("%v, %v", created, err)
				}
			}
		})
	}
	wg.Wait()
	if n := wholes.Load(); n > 2*4*writers/2 { // two steps each, at least two writers in a group
		t.Errorf("%d syncs for %d objects", n, 4*writers)
	}
	if !s.isDurable("a/7") || s.isDurable("b") {
		t.Error("folders that were synced are not known")
	}
	for o, err := range s.List(t.Context(), "") {
		if body, getErr := s.Get(t.Context(), o.Key); err != nil || getErr != nil || string(body) != "body" {
			t.Errorf("%s: %q, %v, %v", o.Key, body, err, getErr)
		}
	}
	if _, err := s.PutNew(t.Context(), "../x", nil, ""); !errors.Is(err, deck.ErrBadKey) {
		t.Error(err)
	}
}

// The files of one run are as many syncs as one file.
func TestObjectsOfOneBatchShareTheirSyncs(t *testing.T) {
	for _, journal := range []bool{true, false} {
		s := &store{folder: t.TempDir(), sync: true, lock: lockTemp, now: time.Now, durable: map[string]struct{}{}}
		root, err := s.openTree(true)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if root.device = deviceOf(root.Root); root.device == 0 {
			noDevice(t)
		}
		var wholes atomic.Int64
		root.group.whole = func() error { wholes.Add(1); return nil }
		if !journal { // the order of names is not kept there: one by one
			root.device, root.group.whole = 0, nil
		}
		const writers, files = 32, 5
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				var batch []deck.NewObject
				for n := range files {
					batch = append(batch, deck.NewObject{Key: fmt.Sprintf("a/%d/%d/%d", i, n/3, n), Body: []byte("body")})
				}
				if created, err := s.PutNew(t.Context(), batch[0].Key, batch[0].Body, ""); err != nil || !created {
					t.Error(created, err)
				}
				for _, want := range []bool{true, false} {
					if created, err := s.PutAllNew(t.Context(), batch); err != nil || created != want {
						t.Errorf("%v, %v", created, err)
					}
				}
			})
		}
		wg.Wait()
		if n := wholes.Load(); n > 5*writers/2 { // two steps for the first object, two for the batch, one for its repetition
			t.Errorf("%d syncs for %d batches", n, writers)
		}
		found := 0
		for o, err := range s.List(t.Context(), "") {
			if body, getErr := s.Get(t.Context(), o.Key); err != nil || getErr != nil || string(body) != "body" {
				t.Errorf("%s: %q, %v, %v", o.Key, body, err, getErr)
			}
			found++
		}
		if found != writers*files || len(abandonedKeys(t, s, "")) != 0 {
			t.Errorf("%d objects", found)
		}
		if created, err := s.PutAllNew(t.Context(), []deck.NewObject{{Key: "b/1"}, {Key: "../x"}}); created || !errors.Is(err, deck.ErrBadKey) {
			t.Error(created, err)
		}
		if _, err := s.Get(t.Context(), "b/1"); !errors.Is(err, deck.ErrNotFound) {
			t.Error("one of a batch that is refused is there")
		}
		// Something in the way of the second one: the first may be there, and nothing is left over.
		if _, err := s.PutAllNew(t.Context(), []deck.NewObject{{Key: "c/1"}, {Key: "a/1"}}); err == nil || !deck.IsPermanent(err) {
			t.Error(err)
		}
		if left := abandonedKeys(t, s, ""); len(left) != 0 {
			t.Error(left)
		}
	}
}

// noDevice leaves a test out on systems that do not tell the device of a folder. Linux does.
func noDevice(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "linux" {
		t.Fatal("a folder has no device")
	}
	t.Skip("folders have no device on this system")
}
