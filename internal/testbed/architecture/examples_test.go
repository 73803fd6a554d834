// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Whoever is first makes a folder below /tmp, and what lies in it is his. No configuration that people copy keeps anything there.
func TestNoExampleKeepsAnythingBelowTmp(t *testing.T) {
	n := 0
	for _, folder := range []string{"examples", "deploy", "docs"} {
		err := filepath.WalkDir(filepath.Join("../../..", folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".md", ".service", ""}, filepath.Ext(path)) {
				return err
			}
			body, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			n++
			for i, line := range strings.Split(string(body), "\n") {
				for _, setting := range []string{":-/tmp", ":-file:///tmp", "directory: /tmp", "generate_in: /tmp", "deck: file:///tmp"} {
					if strings.Contains(line, setting) {
						t.Errorf("%s:%d: %s", path, i+1, line)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n < 20 {
		t.Errorf("%d files", n)
	}
}
