// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
	"github.com/tapedeck/tapedeck/tape"
)

func TestUpgradeReplacesWhatOlderVersionsWrote(t *testing.T) {
	d := decks(t)
	old := NewWriter(d, Options{Options: generation.Options{Producer: tape.Producer{Name: "tapedeck", Version: "v1.0.0"}, Revision: 7}})
	upgraded := NewWriter(d, Options{Options: generation.Options{Producer: tape.Producer{Name: "tapedeck", Version: "v1.1.0"}, Revision: 8}})
	recorded := corpusRuns(t)
	seen := 0
	for i := 0; i < len(recorded); i += 4 {
		set, err := recorded[i].Evidence()
		if err != nil {
			t.Fatal(err)
		}
		for _, tr := range set.Split() {
			// In the end the old one delivers again, as a collector does that has not been upgraded yet.
			for _, w := range []*Writer{old, upgraded, old} {
				if _, err := w.Write(t.Context(), Request{Tenant: "default", TraceID: tr.TraceID, Set: tr.Set, Complete: true}); err != nil && !isNoRun(err) {
					t.Fatal(err)
				}
			}
			location := deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: tr.TraceID}
			current, ok, err := d.Current(t.Context(), location)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				continue
			}
			tapes, err := runs.Tapes(t.Context(), d, location, current)
			if err != nil {
				t.Fatal(err)
			}
			seen++
			if v := tapes[0].Producer.Version; v != "v1.1.0" || current.Revision != 8 {
				t.Errorf("trace %s: the current tape is that of %s, revision %d", tr.TraceID, v, current.Revision)
			}
		}
	}
	if seen < 50 {
		t.Fatalf("only %d traces", seen)
	}
}

func decks(t *testing.T) *deck.Deck {
	t.Helper()
	d, err := deck.Open(t.Context(), "file://"+t.TempDir()+"?sync=false")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

const revisionFile = "../../../testdata/golden/REVISION"

// TestRevisionGrowsWithTheOutput keeps the digest of the golden tapes with the revision that made them.
func TestRevisionGrowsWithTheOutput(t *testing.T) {
	h := sha256.New()
	err := filepath.WalkDir(filepath.Dir(revisionFile), func(path string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".json" {
			return err
		}
		body, err := os.ReadFile(path)
		// The name begins below testdata, so that the digest does not depend on where this test lies.
		_, name, _ := strings.Cut(filepath.ToSlash(path), "testdata/")
		fmt.Fprintf(h, "%s %d\n%s", name, len(body), body)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%d sha256:%x\n", generation.Revision, h.Sum(nil))
	before, err := os.ReadFile(revisionFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	if string(before) == got {
		return
	}
	if revision, _, _ := strings.Cut(string(before), " "); revision == fmt.Sprint(generation.Revision) {
		t.Fatalf("the golden tapes have changed and generation.Revision is %d still: raise it, then -update", generation.Revision)
	}
	if !*update {
		t.Fatal("generation.Revision has grown: -update")
	}
	if err := os.WriteFile(revisionFile, []byte(got), 0o644); err != nil {
		t.Fatal(err)
	}
}
