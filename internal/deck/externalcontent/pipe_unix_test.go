// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package externalcontent

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe would be read for ever.
func TestPipesAreNotRead(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.json"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := fetched(t, policy(t, dir), "file://"+dir+"/pipe.json", 3); got != "[not a regular file]" {
		t.Error(got)
	}
}
