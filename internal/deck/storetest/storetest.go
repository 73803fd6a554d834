// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package storetest is the conformance test of deck stores. It tests what every
// driver must do, whatever service is behind it.
package storetest

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// Run tests the store that url names. Each test works below a fresh prefix, so
// the bucket may hold other objects.
func Run(t *testing.T, url string) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(*testing.T, deck.Store)
	}{
		{"ReturnsWhatWasPut", returnsWhatWasPut},
		{"ReadsARange", readsRanges},
		{"NeverReplacesAnObject", neverReplaces},
		{"LetsOneOf32WritersWin", oneWriterWins},
		{"LetsOneWriterOfLargeObjectsWin", oneLargeWriterWins},
		{"ReturnsCompressedBodiesByteForByte", keepsCompressedBodies},
		{"ReportsAMissingKey", reportsMissing},
		{"ListsInLexicalOrder", listsInOrder},
		{"ListsMoreThanOnePage", listsPages},
		{"ListsFolders", listsFolders},
		{"StopsAListingEarly", stopsListing},
		{"DeletesAndCreatesAgain", deletes},
		{"RefusesUnsafeKeys", refusesKeys},
		{"HonoursACancelledContext", honoursContext},
		{"KeepsUnusualKeys", keepsUnusualKeys},
		{"KeepsWhatIsBuriedAwayInLayout1", buriesIn(deck.LayoutFiles1)},
		{"KeepsWhatIsBuriedAwayInLayout2", buriesIn(deck.LayoutFiles)},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run(t, fresh(t, url))
		})
	}
}

func fresh(t *testing.T, url string) deck.Store {
	t.Helper()
	s, err := deck.OpenStore(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	p, err := deck.WithPrefix(s, "t-"+strings.ToLower(rand.Text()))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func put(t *testing.T, s deck.Store, key string, body []byte) {
	t.Helper()
	created, err := s.PutNew(t.Context(), key, body, "application/octet-stream")
	if err != nil {
		t.Fatal(err)
	}
	if !created {
		t.Fatalf("%q was there already", key)
	}
}

func wantBody(t *testing.T, s deck.Store, key string, want []byte) {
	t.Helper()
	got, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("%q: got %d bytes that differ from the %d written", key, len(got), len(want))
	}
}

func returnsWhatWasPut(t *testing.T, s deck.Store) {
	for _, size := range []int{0, 1, 511, 64 << 10, 300 << 10} {
		body := random(size)
		key := fmt.Sprintf("a/b/%d.bin", size)
		put(t, s, key, body)
		wantBody(t, s, key, body)
	}
}

func readsRanges(t *testing.T, s deck.Store) {
	body := random(300 << 10)
	put(t, s, "a/ranges.bin", body)
	for _, r := range [][2]int64{{0, 1}, {0, int64(len(body))}, {1000, 70_000}, {int64(len(body)) - 5, 5}, {7, 0}} {
		got, err := deck.GetRange(t.Context(), s, "a/ranges.bin", r[0], r[1])
		if err != nil || !bytes.Equal(got, body[r[0]:][:r[1]]) {
			t.Errorf("%d bytes from %d: got %d, %v", r[1], r[0], len(got), err)
		}
	}
	for _, r := range [][2]int64{{int64(len(body)) - 5, 6}, {int64(len(body)) + 1, 1}, {-1, 2}, {0, -1}} {
		if got, err := deck.GetRange(t.Context(), s, "a/ranges.bin", r[0], r[1]); err == nil {
			t.Errorf("%d bytes from %d: got %d and no error", r[1], r[0], len(got))
		}
	}
	if _, err := deck.GetRange(t.Context(), s, "a/missing.bin", 0, 1); !errors.Is(err, deck.ErrNotFound) {
		t.Errorf("a missing key: %v", err)
	}
}

func neverReplaces(t *testing.T, s deck.Store) {
	put(t, s, "a/x", []byte("first"))
	for _, body := range []string{"second", "first", ""} {
		created, err := s.PutNew(t.Context(), "a/x", []byte(body), "text/plain")
		if err != nil || created {
			t.Fatalf("second write: created %v, error %v", created, err)
		}
	}
	wantBody(t, s, "a/x", []byte("first"))
}

func oneWriterWins(t *testing.T, s deck.Store) {
	for round := range 3 {
		race(t, s, fmt.Sprintf("race/%d/x", round), 32, 4<<10)
	}
}

// Large bodies take other paths in most client libraries (multipart uploads,
// blocks, resumable sessions), which need the condition at their end.
func oneLargeWriterWins(t *testing.T, s deck.Store) {
	race(t, s, "large/x", 3, 17<<20+1)
	created, err := s.PutNew(t.Context(), "large/x", random(17<<20), "application/zstd")
	if err != nil || created {
		t.Fatalf("write over a large object: created %v, error %v", created, err)
	}
}

func race(t *testing.T, s deck.Store, key string, writers, size int) {
	t.Helper()
	bodies := make([][]byte, writers)
	created := make([]bool, writers)
	errs := make([]error, writers)
	common := random(size)
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range writers {
		bodies[i] = append(slices.Clip(common), byte(i))
		done.Go(func() {
			start.Wait()
			created[i], errs[i] = s.PutNew(t.Context(), key, bodies[i], "application/octet-stream")
		})
	}
	start.Done()
	done.Wait()
	winner := -1
	for i := range writers {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		if created[i] && winner >= 0 {
			t.Fatalf("writers %d and %d both created %s", winner, i, key)
		}
		if created[i] {
			winner = i
		}
	}
	if winner < 0 {
		t.Fatalf("none of %d writers created %s", writers, key)
	}
	wantBody(t, s, key, bodies[winner])
}

func keepsCompressedBodies(t *testing.T, s deck.Store) {
	text := []byte(strings.Repeat("a tape is one agent run. ", 400))
	var gz bytes.Buffer
	w := gzip.NewWriter(&gz)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	for _, o := range []struct {
		key, contentType string
		body             []byte
	}{
		{"parts/a.otlp.zst", "application/zstd", enc.EncodeAll(text, nil)},
		{"parts/a.gz", "application/gzip", gz.Bytes()},
		{"parts/a.json", "application/json", gz.Bytes()},
	} {
		created, err := s.PutNew(t.Context(), o.key, o.body, o.contentType)
		if err != nil || !created {
			t.Fatal(created, err)
		}
		wantBody(t, s, o.key, o.body)
	}
}

func reportsMissing(t *testing.T, s deck.Store) {
	put(t, s, "a/b/c", []byte("x"))
	for _, key := range []string{"nothing", "a", "a/b", "a/b/d", "a/b/c/d"} {
		_, err := s.Get(t.Context(), key)
		if !errors.Is(err, deck.ErrNotFound) {
			t.Errorf("get %q: %v", key, err)
		}
		if !deck.IsPermanent(err) {
			t.Errorf("get %q: worth a retry", key)
		}
	}
}

func listsInOrder(t *testing.T, s deck.Store) {
	// "-" and "." sort before "/", "0" behind it.
	keys := []string{"a-b/x", "a.b", "a/b/c", "a/b-c", "a/b.c", "a/b0", "a0/x", "aa", "b/x"}
	for i := len(keys) - 1; i >= 0; i-- {
		put(t, s, keys[i], random(i))
	}
	slices.Sort(keys)
	for _, prefix := range []string{"", "a", "a/", "a/b", "a/b/", "a/b/c", "b", "zz", "a/zz/"} {
		var want, got []string
		for _, k := range keys {
			if strings.HasPrefix(k, prefix) {
				want = append(want, k)
			}
		}
		for o, err := range s.List(t.Context(), prefix) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, o.Key)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("list %q (-want +got):\n%s", prefix, d)
		}
	}
	for o, err := range s.List(t.Context(), "b/") {
		if err != nil || o.Size != 8 {
			t.Errorf("size of %s is %d, want 8 (%v)", o.Key, o.Size, err)
		}
	}
}

func listsPages(t *testing.T, s deck.Store) {
	const n = 1100 // one page is at most 1,000 keys on S3 and GCS
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for w := range errs {
		wg.Go(func() {
			for i := w; i < n; i += len(errs) {
				if _, err := s.PutNew(t.Context(), fmt.Sprintf("many/%04d/x", i), []byte{1}, "text/plain"); err != nil {
					errs[w] = err
					return
				}
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	i := 0
	for o, err := range s.List(t.Context(), "many/") {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("many/%04d/x", i); o.Key != want {
			t.Fatalf("key %d is %q, want %q", i, o.Key, want)
		}
		i++
	}
	folders := 0
	for _, err := range s.ListFolders(t.Context(), "many/") {
		if err != nil {
			t.Fatal(err)
		}
		folders++
	}
	if i != n || folders != n {
		t.Fatalf("%d keys and %d folders, want %d of both", i, folders, n)
	}
}

func listsFolders(t *testing.T, s deck.Store) {
	for _, key := range []string{"runs/t1/ab/x/1", "runs/t1/ab/y/1", "runs/t1/ac/x", "runs/t1-b/x", "runs/file", "joined/x"} {
		put(t, s, key, []byte("x"))
	}
	for prefix, want := range map[string][]string{
		"":            {"joined/", "runs/"},
		"runs":        {"runs/"},
		"runs/":       {"runs/t1-b/", "runs/t1/"},
		"runs/t1":     {"runs/t1-b/", "runs/t1/"},
		"runs/t1/":    {"runs/t1/ab/", "runs/t1/ac/"},
		"runs/t1/ab/": {"runs/t1/ab/x/", "runs/t1/ab/y/"},
		"runs/t1/a":   {"runs/t1/ab/", "runs/t1/ac/"},
		"nothing/":    nil,
		"runs/file/":  nil,
	} {
		var got []string
		for f, err := range s.ListFolders(t.Context(), prefix) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, f)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("folders below %q (-want +got):\n%s", prefix, d)
		}
	}
}

func stopsListing(t *testing.T, s deck.Store) {
	for i := range 5 {
		put(t, s, fmt.Sprintf("d%d/x", i), []byte("x"))
	}
	n := 0
	for range s.List(t.Context(), "") {
		if n++; n == 2 {
			break
		}
	}
	for range s.ListFolders(t.Context(), "") {
		if n++; n == 4 {
			break
		}
	}
	if n != 4 {
		t.Errorf("saw %d entries, want 4", n)
	}
}

func deletes(t *testing.T, s deck.Store) {
	put(t, s, "a/b/x", []byte("1"))
	put(t, s, "a/y", []byte("1"))
	for range 2 {
		if err := s.Delete(t.Context(), "a/b/x"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete(t.Context(), "a"); err != nil {
		t.Errorf("delete of a folder name: %v", err)
	}
	wantBody(t, s, "a/y", []byte("1"))
	if _, err := s.Get(t.Context(), "a/b/x"); !errors.Is(err, deck.ErrNotFound) {
		t.Fatalf("after delete: %v", err)
	}
	for f, err := range s.ListFolders(t.Context(), "a/") {
		t.Errorf("folder %q is left (%v)", f, err)
	}
	put(t, s, "a/b/x", []byte("2"))
	wantBody(t, s, "a/b/x", []byte("2"))
}

func refusesKeys(t *testing.T, s deck.Store) {
	for _, key := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a/..", `a\b`, "a\x00b", "a\nb", "a\xffb",
		"a%2Fb", "a?b", "a#b", `a"b`, "a__0x2f__b", "a./b", "...",
		strings.Repeat("x", 300), strings.Repeat("x/", 600) + "x", ".tapedeck-tmp-1", "a/.tapedeck-tmp-1/b",
	} {
		if _, err := s.PutNew(t.Context(), key, nil, "text/plain"); !errors.Is(err, deck.ErrBadKey) || !deck.IsPermanent(err) {
			t.Errorf("put %.40q: %v", key, err)
		}
		if _, err := s.Get(t.Context(), key); !errors.Is(err, deck.ErrBadKey) {
			t.Errorf("get %.40q: %v", key, err)
		}
		if err := s.Delete(t.Context(), key); !errors.Is(err, deck.ErrBadKey) {
			t.Errorf("delete %.40q: %v", key, err)
		}
	}
	for _, prefix := range []string{"/", "../", "a//", "a\x00"} {
		var last error
		for _, err := range s.List(t.Context(), prefix) {
			last = err
		}
		if !errors.Is(last, deck.ErrBadKey) {
			t.Errorf("list %q: %v", prefix, last)
		}
	}
}

func honoursContext(t *testing.T, s deck.Store) {
	put(t, s, "a/x", []byte("x"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, putErr := s.PutNew(ctx, "a/y", nil, "text/plain")
	_, getErr := s.Get(ctx, "a/x")
	var listErr error
	for _, err := range s.List(ctx, "a/") {
		listErr = err
	}
	for name, err := range map[string]error{"put": putErr, "get": getErr, "list": listErr, "delete": s.Delete(ctx, "a/x")} {
		if !errors.Is(err, context.Canceled) || deck.IsPermanent(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.Get(t.Context(), "a/y"); !errors.Is(err, deck.ErrNotFound) {
		t.Errorf("a cancelled put wrote: %v", err)
	}
}

func keepsUnusualKeys(t *testing.T, s deck.Store) {
	keys := []string{"a b/c+d", "ä/ö", "a=b&c", "x~y", "..a/.b", "a:b", "e!*'()", "<x>", "[1]", "a@b;c,d", "$e", "^f", "日本"}
	for _, k := range keys {
		put(t, s, k, []byte(k))
		wantBody(t, s, k, []byte(k))
	}
	slices.Sort(keys)
	var got []string
	for o, err := range s.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, o.Key)
	}
	if d := cmp.Diff(keys, got); d != "" {
		t.Errorf("listed (-want +got):\n%s", d)
	}
}

func random(n int) []byte {
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		panic(err)
	}
	return b
}
