// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// leavings opens a deck in a folder and leaves a temporary file of a dead writer beside some keys.
func leavings(t *testing.T, keys ...string) (*deck.Deck, *store, string) {
	t.Helper()
	dir := t.TempDir()
	objects, err := deck.OpenObjects(t.Context(), "file://"+dir+"?sync=false")
	if err != nil {
		t.Fatal(err)
	}
	d, err := deck.New(t.Context(), objects, "file://"+dir+"?sync=false")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	for _, key := range keys {
		at := filepath.Join(dir, filepath.FromSlash(path.Dir(key)))
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, deck.TempPrefix+"DEAD"), []byte("secret"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return d, d.Store().(*store), dir
}

func abandonedKeys(t *testing.T, s deck.Store, prefix string) (found []string) {
	t.Helper()
	for o, err := range deck.Abandoned(t.Context(), s, prefix) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, o.Key)
	}
	return found
}

var goneLocation = deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: "0123456789abcdef0123456789abcdef"}

func TestWhatADeadWriterLeftIsFoundReadAndSwept(t *testing.T) {
	d, s, _ := leavings(t, "a/b/x", "a/c/x", "x")
	want := []string{"a/b/" + deck.TempPrefix + "DEAD", "a/c/" + deck.TempPrefix + "DEAD"}
	if got := abandonedKeys(t, s, "a/"); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if body, err := s.ReadAbandoned(t.Context(), want[0]); err != nil || !bytes.Equal(body, []byte("secret")) {
		t.Errorf("%q, %v", body, err)
	}
	if n, err := d.Sweep(t.Context(), ""); n != 3 || err != nil {
		t.Errorf("%d were removed, %v", n, err)
	}
	if got := abandonedKeys(t, s, ""); len(got) != 0 {
		t.Errorf("%v are left", got)
	}
	for _, key := range []string{"a/b/x", "../" + deck.TempPrefix + "DEAD", "a/" + deck.TempPrefix + "/x"} {
		if err := s.RemoveAbandoned(t.Context(), key); !errors.Is(err, deck.ErrBadKey) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestTemporaryFileOfALivingWriterStays(t *testing.T) {
	d, s, dir := leavings(t)
	// Every write passes here between the temporary file and its name; the sweep comes then.
	swept := 0
	lock := s.lock
	s.lock = func(f *os.File) error {
		err := lock(f)
		s.lock = lock
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip("no file locks on this system; the age decides")
		}
		n, sweepErr := d.Sweep(t.Context(), "")
		if swept += n; sweepErr != nil {
			t.Error(sweepErr)
		}
		return err
	}
	if created, err := s.PutNew(t.Context(), "x", []byte("body"), ""); err != nil || !created || swept != 0 {
		t.Errorf("created: %v, %d swept, %v", created, swept, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestWhereNoLockCanBeHadTheAgeDecides(t *testing.T) {
	_, s, _ := leavings(t, "x")
	s.lock = func(*os.File) error { return errors.ErrUnsupported }
	if got := abandonedKeys(t, s, ""); len(got) != 0 {
		t.Errorf("a young file is taken for abandoned")
	}
	s.now = func() time.Time { return time.Now().Add(2 * abandonedAfter) }
	if got := abandonedKeys(t, s, ""); len(got) != 1 {
		t.Errorf("an old file is taken for that of a living writer")
	}
}

func TestErasureTakesTheTemporaryFilesToo(t *testing.T) {
	part := deck.PartDigest([]byte("part"))
	gen := deck.NewGeneration(1, []string{part}, nil)
	run := []deck.RunFiles{{Root: "0123456789abcdef", Files: []deck.File{{Name: deck.TapeFile, Body: []byte("{}")}}}}
	inRun := goneLocation.Prefix() + "/" + gen.String() + ".0123456789abcdef/x"
	inParts := goneLocation.Prefix() + "/" + part
	for name, erase := range map[string]func(ctx context.Context, d *deck.Deck) error{
		"place": func(ctx context.Context, d *deck.Deck) error {
			_, err := d.Bury(ctx, goneLocation, deck.Burial{Reason: deck.ReasonRequest})
			return err
		},
		"generation and part": func(ctx context.Context, d *deck.Deck) error {
			_, err := d.BuryGeneration(ctx, goneLocation, gen, deck.Burial{Reason: deck.ReasonScrub})
			return errors.Join(err, d.BuryPart(ctx, goneLocation, part, deck.Burial{Reason: deck.ReasonScrub}))
		},
		"move": func(ctx context.Context, d *deck.Deck) error {
			state, err := d.State(ctx, goneLocation)
			return errors.Join(err, d.Remove(ctx, goneLocation, state))
		},
	} {
		d, s, dir := leavings(t, inRun, inParts)
		if _, _, err := d.PutPart(t.Context(), goneLocation, []byte("part")); err != nil {
			t.Fatal(err)
		}
		if _, err := d.PutGeneration(t.Context(), goneLocation, gen, run); err != nil {
			t.Fatal(err)
		}
		if err := erase(t.Context(), d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := abandonedKeys(t, s, ""); len(got) != 0 {
			t.Errorf("%s: %v are left", name, got)
		}
		left, err := d.Remains(t.Context(), goneLocation)
		if err != nil || len(left.Generations) != 0 {
			t.Errorf("%s: %+v is left, %v", name, left, err)
		}
		if len(left.Parts) == 1 { // the name of a buried part stays taken, by nothing
			if body, err := s.get(goneLocation.Prefix()+"/"+part+deck.PartSuffix, 0, -1); err != nil || len(body) > 16 {
				t.Errorf("%s: %d bytes are left of the part, %v", name, len(body), err)
			}
		} else if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(goneLocation.Prefix()))); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the folder is left, %v", name, err)
		}
	}
}
