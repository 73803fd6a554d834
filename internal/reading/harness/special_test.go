// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package harness

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe has no writer here: opened as a file is, it would be waited for.
func TestPipesAreNotOpened(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := List(t.Context(), dir, DefaultLimits)
	if err != nil || len(l.Files) != 0 || l.LeftOut[leftSpecial] != 1 {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := One(pipe, dir, DefaultLimits); err == nil {
		t.Error("a pipe was read")
	}
}
