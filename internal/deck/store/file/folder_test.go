// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What os.Root does, the direct calls do too.
func TestFoldersOfBothKindsDoTheSame(t *testing.T) {
	for _, direct := range []bool{true, false} {
		dir := t.TempDir()
		s := &store{folder: dir, lock: lockTemp, now: time.Now, durable: map[string]struct{}{}}
		tree, err := s.openTree(true)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		top, err := tree.openDirect(".")
		if !direct {
			root, openErr := tree.OpenRoot(".")
			top, err = rootFolder{root}, openErr
		} else if errors.Is(err, errors.ErrUnsupported) {
			continue // on this system there is one kind
		}
		if err != nil {
			t.Fatal(err)
		}
		defer top.Close()
		if err := top.mkdir("a"); err != nil {
			t.Error(err)
		}
		if err := top.mkdir("a"); !errors.Is(err, fs.ErrExist) {
			t.Error(err)
		}
		if _, err := top.open("missing"); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		if err := os.Symlink("..", filepath.Join(dir, "out")); err != nil {
			t.Fatal(err)
		}
		if _, err := top.open("out"); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a link leads out: %v", err)
		}
		in, err := top.open("a")
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		if in.device() != top.device() {
			t.Errorf("devices %d and %d", in.device(), top.device())
		}
		if there, err := in.holdsFile("x"); there || err != nil {
			t.Error(there, err)
		}
		if there, err := top.holdsFile("a"); there || !errors.Is(err, errNotAFile) {
			t.Error(there, err)
		}
		if there, err := top.holdsFile("out"); there || !errors.Is(err, errNotAFile) {
			t.Error(there, err)
		}
		for i, rename := range []bool{true, false, true} {
			f, err := in.create("temp")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := in.create("temp"); !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
			if _, err := f.Write([]byte{byte('0' + i)}); err != nil {
				t.Error(err)
			}
			if err := errors.Join(f.Sync(), f.Close()); err != nil {
				t.Error(err)
			}
			if created, err := in.publish("temp", "x", rename); created != (i == 0) || err != nil {
				t.Errorf("%d: %v, %v", i, created, err)
			}
			if there, err := in.holdsFile("temp"); there || err != nil {
				t.Errorf("%d: the temporary name is still there: %v", i, err)
			}
		}
		if body, err := os.ReadFile(filepath.Join(dir, "a", "x")); string(body) != "0" || err != nil {
			t.Errorf("%q, %v", body, err)
		}
		for _, rename := range []bool{true, false} {
			if _, err := in.publish("swept", "y", rename); !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
		}
		if err := errors.Join(in.sync(), in.remove("x"), in.remove("x")); err != nil {
			t.Error(err)
		}
	}
}

// A folder of the store may stand elsewhere in it by a link. The direct calls leave such a folder to os.Root, or go there themselves.
func TestLinksWithinTheStoreAreFollowed(t *testing.T) {
	for _, doSync := range []bool{true, false} {
		dir := t.TempDir()
		s := &store{folder: dir, sync: doSync, lock: lockTemp, now: time.Now, durable: map[string]struct{}{}}
		defer s.Close()
		if _, err := s.PutNew(t.Context(), "real/deep/x", nil, ""); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(dir, "b"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../real/deep", filepath.Join(dir, "b", "link")); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"b/link/y", "b/link/new/z"} {
			if created, err := s.PutNew(t.Context(), key, []byte(key), ""); !created || err != nil {
				t.Errorf("%s: %v, %v", key, created, err)
			}
			if body, err := s.Get(t.Context(), key); string(body) != key || err != nil {
				t.Errorf("%s: %q, %v", key, body, err)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "real", "deep", "new", "z")); err != nil {
			t.Error(err)
		}
	}
}
