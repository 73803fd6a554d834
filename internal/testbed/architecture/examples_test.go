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

// Whoever is first makes a folder below /tmp, and what lies in it is his. No configuration that people copy
// keeps anything there.
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

// A bucket takes many small objects badly, and a deck keeps the layout that it was made with. Only what is
// tried on one machine makes files.
func TestExamplesForProductionMakeReels(t *testing.T) {
	files, err := filepath.Glob("../../../examples/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range files {
		switch filepath.Base(filepath.Dir(file)) {
		case "local", "again": // one machine; a deck that is there
			continue
		}
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		decks, reels := strings.Count(string(body), "deck: "), strings.Count(string(body), "layout: reels")+strings.Count(string(body), "TAPEDECK_LAYOUT:-reels")
		if n += decks; decks != reels {
			t.Errorf("%s: %d exporters make a deck, %d of them one of reels", file, decks, reels)
		}
	}
	if n < 5 {
		t.Errorf("%d exporters", n)
	}
}
