// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package file_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFileStoreConforms(t *testing.T) {
	storetest.Run(t, decktest.FileURL(t)+"?sync=false")
}

func open(t testing.TB) (deck.Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "deck")
	s, err := deck.OpenStore(t.Context(), "file://"+filepath.ToSlash(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, dir
}

func TestFileStoreLetsOneOf32WritersWin(t *testing.T) {
	// Two stores, as two processes would have, each with its own memory of
	// folders.
	_, dir := open(t)
	for round := range 20 {
		var wg sync.WaitGroup
		created := make([]bool, 32)
		errs := make([]error, 32)
		for i := range created {
			s, err := deck.OpenStore(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				created[i], errs[i] = s.PutNew(t.Context(), fmt.Sprintf("a/%d/x", round), []byte{byte(i)}, "")
				errs[i] = errors.Join(errs[i], s.Close())
			})
		}
		wg.Wait()
		winners := 0
		for _, c := range created {
			if c {
				winners++
			}
		}
		if err := errors.Join(errs...); err != nil || winners != 1 {
			t.Fatalf("round %d: %d winners, %v", round, winners, err)
		}
	}
}

func TestFileStoreLeavesNoTemporaryFilesAndHidesStaleOnes(t *testing.T) {
	s, dir := open(t)
	for range 2 {
		if _, err := s.PutNew(t.Context(), "a/b/x", []byte("x"), ""); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, "a", "b"))
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	// A writer that died left its file, and one left an empty folder.
	if err := os.WriteFile(filepath.Join(dir, "a", "b", ".tapedeck-tmp-OLD"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "a", "empty", "inner"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := decktest.Keys(t, s); !slices.Equal(got, []string{"a/b/x"}) {
		t.Errorf("listed %v", got)
	}
	for f, err := range s.ListFolders(t.Context(), "a/") {
		if f != "a/b/" || err != nil {
			t.Errorf("folder %q, %v", f, err)
		}
	}
}

func TestFileStoreIsNotLedOutByLinks(t *testing.T) {
	s, dir := open(t)
	if _, err := s.PutNew(t.Context(), "a/x", []byte("x"), ""); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(filepath.Dir(dir), "outside")
	if err := os.Mkdir(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"abs": outside, "rel": "../outside", "a/file": "../../outside/secret", "dangling": "../outside/new"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"abs/new", "rel/new", "abs/d/new", "abs/secret", "rel/secret", "a/file", "dangling"} {
		created, err := s.PutNew(t.Context(), key, []byte("overwritten"), "")
		if err == nil || created || !deck.IsPermanent(err) {
			t.Errorf("put %s: %v, %v", key, created, err)
		}
		if body, err := s.Get(t.Context(), key); err == nil {
			t.Errorf("get %s: %s", key, body)
		}
	}
	for _, key := range []string{"abs/secret", "rel/secret"} {
		if err := s.Delete(t.Context(), key); err == nil {
			t.Errorf("delete %s went through", key)
		}
	}
	if got := decktest.Keys(t, s); !slices.Equal(got, []string{"a/x"}) {
		t.Errorf("listed %v", got)
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("outside has %v, %v", entries, err)
	}
	if body, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(body) != "secret" {
		t.Errorf("outside was changed: %s, %v", body, err)
	}
}

func TestFileStoreIgnoresPipes(t *testing.T) {
	s, dir := open(t)
	if _, err := s.PutNew(t.Context(), "a/x", nil, ""); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "a", "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), "a/pipe"); !errors.Is(err, deck.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	if _, err := s.PutNew(t.Context(), "a/pipe", nil, ""); !deck.IsPermanent(err) {
		t.Errorf("put: %v", err)
	}
	if got := decktest.Keys(t, s); !slices.Equal(got, []string{"a/x"}) {
		t.Errorf("listed %v", got)
	}
}

func TestFileStoreSurvivesFoldersThatVanish(t *testing.T) {
	s, dir := open(t)
	for i, remove := range []string{"a/b/c", "a", "."} {
		if _, err := s.PutNew(t.Context(), "a/b/c/x", []byte("x"), ""); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(dir, remove)); err != nil {
			t.Fatal(err)
		}
		created, err := s.PutNew(t.Context(), "a/b/c/x", []byte("y"), "")
		if err != nil || !created {
			t.Fatalf("%d: after %s was removed: %v, %v", i, remove, created, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "a/b/c/x")); err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(t.Context(), "a/b/c/x"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFileStoreDeletesAndWritesAtTheSameTime(t *testing.T) {
	s, _ := open(t)
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() {
			for n := range 60 {
				key := fmt.Sprintf("a/b/%d", i)
				_, err := s.PutNew(t.Context(), key, []byte{byte(n)}, "")
				errs[i] = errors.Join(errs[i], err, s.Delete(t.Context(), key))
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if got := decktest.Keys(t, s); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

func TestFileStoreTellsPermissionFromBadLuck(t *testing.T) {
	if os.Geteuid() == 0 {
		// root may write everywhere; a file in place of a folder refuses all
		s, dir := open(t)
		if err := os.WriteFile(dir, []byte("a file"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := s.PutNew(t.Context(), "a/x", nil, "")
		if !deck.IsPermanent(err) || strings.Contains(err.Error(), dir) {
			t.Errorf("put: %v", err)
		}
		return
	}
	s, dir := open(t)
	if err := os.Mkdir(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutNew(t.Context(), "a/x", nil, ""); !deck.IsPermanent(err) || strings.Contains(err.Error(), dir) {
		t.Errorf("put: %v", err)
	}
}

func TestWhatAFileStoreMakesIsForItsOwnerAlone(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "made", "too")
	s, err := deck.OpenStore(t.Context(), "file://"+filepath.ToSlash(filepath.Join(parent, "deck")))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.PutNew(t.Context(), "runs/a/b", []byte("content"), ""); err != nil {
		t.Fatal(err)
	}
	n := 0
	err = filepath.WalkDir(filepath.Dir(parent), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %04o", path, info.Mode().Perm())
		}
		n++
		return err
	})
	if err != nil || n < 6 {
		t.Errorf("%d files and folders, %v", n, err)
	}
}

func TestFileStoreReadsAMissingFolderAsEmpty(t *testing.T) {
	s, dir := open(t)
	if _, err := s.Get(t.Context(), "a"); !errors.Is(err, deck.ErrNotFound) {
		t.Errorf("get: %v", err)
	}
	if err := s.Delete(t.Context(), "a"); err != nil {
		t.Errorf("delete: %v", err)
	}
	if got := decktest.Keys(t, s); len(got) != 0 {
		t.Errorf("listed %v", got)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a reader made the folder: %v", err)
	}
}
