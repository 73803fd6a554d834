// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
)

// tapeReader counts the tapes that are read.
type tapeReader struct {
	deck.Store
	tapes atomic.Int64
}

func (c *tapeReader) Get(ctx context.Context, key string) ([]byte, error) {
	if strings.HasSuffix(key, "/"+deck.TapeFile) {
		c.tapes.Add(1)
	}
	return c.Store.Get(ctx, key)
}

// listed opens a deck of files and lists it with a cache, "off" for none. It returns how many tapes were read.
func listed(t *testing.T, folder, cache string, q view.Query) ([]view.Run, int64) {
	t.Helper()
	t.Setenv(view.CacheVariable, cache)
	return list(t, folder, q)
}

func list(t *testing.T, folder string, q view.Query) ([]view.Run, int64) {
	t.Helper()
	store, err := deck.OpenStore(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	counted := &tapeReader{Store: store}
	d, err := deck.New(t.Context(), counted, folder)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var all []view.Run
	for r, err := range view.Select(t.Context(), d, q) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all, counted.tapes.Load()
}

func filesIn(t *testing.T, folder, suffix string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, suffix) {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return paths
}

// TestNoIndexGivesAWrongAnswer: whatever becomes of the deck and of the index, a listing by it is the listing without it.
func TestNoIndexGivesAWrongAnswer(t *testing.T) {
	folder, cache, other := t.TempDir(), t.TempDir(), t.TempDir()
	seed := uint64(7)
	r := rand.New(rand.NewPCG(seed, 3))
	some := corpus(t, 40)
	address := folder + "/deck"
	open := func(address string) *deck.Deck { return openDeck(t, "file://"+address+"?sync=false", deck.LayoutFiles) }
	d := open(address)
	deliver(t, d, setOf(t, some[0]), setOf(t, some[1]), setOf(t, some[2]))
	columns := view.Query{Columns: []string{"agent", "tape_id", "status", "tools", "tool_calls", "user_message", "area"}}
	same := func(when string) (read int64) {
		t.Helper()
		for _, q := range []view.Query{{}, columns, {Want: func(l deck.Location) bool { return l.TraceID < "8" }}} {
			want, _ := listed(t, address, "off", q)
			got, n := listed(t, address, cache, q)
			if diff := gocmp.Diff(addresses(want), addresses(got)); diff != "" {
				t.Fatalf("%s: other runs\n%.2000s", when, diff)
			}
			for i := range want {
				if diff := gocmp.Diff(want[i].Meta, got[i].Meta); diff != "" {
					t.Fatalf("%s: %s\n%.2000s", when, want[i].RunID, diff)
				}
			}
			read += n
		}
		return read
	}
	same("new")
	// Content is in no index.
	for _, path := range filesIn(t, cache, "") {
		if body, err := os.ReadFile(path); err == nil && strings.Contains(string(body), "user_message") {
			t.Errorf("%s has content", path)
		}
	}
	if _, read := listed(t, address, cache, view.Query{Columns: []string{"agent"}}); read != 0 && runtime.GOOS == "linux" {
		t.Errorf("%d tapes were read again", read)
	}
	next := 3
	for step := range 24 {
		what := "deliver"
		tapes := filesIn(t, address, "/"+deck.TapeFile)
		index := filesIn(t, cache, ".runs")
		switch kind := step % 8; {
		case kind == 0: // a tape is another one of the same size
			what = "change"
			path := tapes[r.IntN(len(tapes))]
			body, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := tenant.ReplaceAllString(string(body), fmt.Sprintf(`"tenant":"defaul%c"`, 'a'+step))
			if changed == string(body) || len(changed) != len(body) {
				t.Fatalf("%s is not changed", path)
			}
			if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, time.Time{}, info.ModTime()); err != nil {
				t.Fatal(err)
			}
		case kind == 1:
			what = "damage"
			path := index[r.IntN(len(index))]
			body, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			body[r.IntN(len(body))] ^= 1 << r.IntN(8)
			if err := os.WriteFile(path, body[:len(body)-r.IntN(2)*r.IntN(len(body)/2)], 0o600); err != nil {
				t.Fatal(err)
			}
		case kind == 2: // a trace goes
			what = "erase"
			for l, err := range d.Locations(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if _, err := d.Bury(t.Context(), l, deck.Burial{Reason: deck.ReasonRequest}); err != nil {
					t.Fatal(err)
				}
				break
			}
		case kind == 3: // the index of another deck, in the place of this one's
			what = "foreign"
			b := open(other + "/deck")
			deliver(t, b, setOf(t, some[len(some)-1-step]))
			listed(t, other+"/deck", other+"/cache", view.Query{Columns: []string{"agent"}})
			for _, path := range filesIn(t, other+"/cache", ".runs") {
				body, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(filepath.Dir(index[0]), filepath.Base(path)), body, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		case kind == 4: // two at once
			what = "two"
			t.Setenv(view.CacheVariable, cache)
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() { list(t, address, view.Query{Columns: []string{"agent"}}) })
			}
			both.Wait()
		case kind == 5:
			what = "gone"
			if err := os.RemoveAll(cache); err != nil {
				t.Fatal(err)
			}
		case kind == 6 && step > 16: // another deck in its place
			what = "replaced"
			if err := os.RemoveAll(address); err != nil {
				t.Fatal(err)
			}
			d = open(address)
			deliver(t, d, setOf(t, some[0]), setOf(t, some[1]), setOf(t, some[9]))
		}
		if what == "deliver" {
			deliver(t, d, split(r, setOf(t, some[next]))...)
			next++
		}
		same(what)
	}
	if left := filesIn(t, cache, ""); slices.ContainsFunc(left, func(path string) bool { return strings.Contains(path, "tmp-") }) {
		t.Errorf("left: %q", left)
	}
}

var tenant = regexp.MustCompile(`"tenant":"defaul."`)
