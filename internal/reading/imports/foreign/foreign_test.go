// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

func put(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSiblingsLieBelowTheFolder: a name that a file holds never leads out of its folder.
func TestSiblingsLieBelowTheFolder(t *testing.T) {
	folder := t.TempDir()
	at := put(t, filepath.Join(folder, "in", "a.jsonl"), "{}")
	put(t, filepath.Join(folder, "in", "sub", "b.jsonl"), "b")
	put(t, filepath.Join(folder, "secret"), "s")
	if err := os.Symlink(filepath.Join(folder, "secret"), filepath.Join(folder, "in", "link")); err != nil {
		t.Fatal(err)
	}
	f, err := sibling(at, "sub/b.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(f); string(text) != "b" || err != nil || f.Close() != nil {
		t.Error(string(text), err)
	}
	for _, name := range []string{"../secret", "link", "/etc/passwd", filepath.Join(folder, "secret"), "sub", "none", "", "sub/../../secret", "a\x00b"} {
		if _, err := sibling(at, name); err == nil {
			t.Errorf("%q is opened", name)
		}
	}
}

// TestFilesOfAFolderAreToldByContent: links are not followed, and what cannot be read counts as another file.
func TestFilesOfAFolderAreToldByContent(t *testing.T) {
	folder := t.TempDir()
	put(t, filepath.Join(folder, "x", "spans.txt"), `{"resourceSpans":[]}`)
	put(t, filepath.Join(folder, "spans.json"), `{"a":1}`)
	put(t, filepath.Join(folder, "empty.json"), "")
	put(t, filepath.Join(folder, "broken.gz"), "\x1f\x8bnot")
	if err := os.Symlink(folder, filepath.Join(folder, "x", "loop")); err != nil {
		t.Fatal(err)
	}
	files, others, err := Files(folder)
	if err != nil || len(files) != 1 || filepath.Base(files[0]) != "spans.txt" || others != 3 {
		t.Error(files, others, err)
	}
	if _, _, err := Files(filepath.Join(folder, "none")); err == nil {
		t.Error("a folder that is not there")
	}
}
