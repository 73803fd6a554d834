// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/derive"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/replay"
)

// beforeGet is a store in which something happens before an object is read.
type beforeGet struct {
	deck.Store
	do func()
}

func (s beforeGet) Get(ctx context.Context, key string) ([]byte, error) {
	s.do()
	return s.Store.Get(ctx, key)
}

// replace puts a higher generation in the place of the one that a ref is of, as a writer does, and returns its name.
func replace(t *testing.T, dir string, ref deck.Ref) string {
	t.Helper()
	place := filepath.Join(dir, filepath.FromSlash(ref.Location.Prefix()))
	next := ref.Generation
	next.Items++
	if err := os.Rename(filepath.Join(place, ref.Generation.String()+"."+ref.Root), filepath.Join(place, next.String()+"."+ref.Root)); err != nil {
		t.Fatal(err)
	}
	return next.String()
}

// TestARunThatIsReplacedWhileItIsReadIsReadAgain: a writer replaces the generation before its first or its second file is read.
func TestARunThatIsReplacedWhileItIsReadIsReadAgain(t *testing.T) {
	gate, err := derive.NewGate(redact.Default())
	if err != nil {
		t.Fatal(err)
	}
	for name, read := range map[string]func(f *replay.Finder, at replay.Location, out *bytes.Buffer) error{
		"verify": func(_ *replay.Finder, at replay.Location, out *bytes.Buffer) error {
			v, err := replay.Verify(t.Context(), at, nil, t.Errorf)
			fmt.Fprintf(out, "ok %v %s", v.OK, v.URL)
			return err
		},
		"verify --secrets": func(_ *replay.Finder, at replay.Location, out *bytes.Buffer) error {
			c, n := verification{stdout: out, stderr: out}, 0
			err := c.searchRun(t.Context(), at, gate, &n)
			if n != 3 { // tape, oracle, part
				t.Errorf("%d files searched", n)
			}
			return err
		},
		"show": func(f *replay.Finder, at replay.Location, _ *bytes.Buffer) error {
			_, _, err := f.Open(t.Context(), &at)
			return err
		},
	} {
		for n := 1; n <= 2; n++ {
			t.Run(name, func(t *testing.T) {
				dir, _ := newDeck(t)
				f := &replay.Finder{Deck: dir, Limit: 1}
				for at, err := range f.Resolve(t.Context(), forgeRun, replay.OneRun) {
					if err != nil {
						t.Fatal(err)
					}
					gets, now := -1, "" // the first one is for the marker of the deck
					hooked := beforeGet{at.Store, func() {
						if gets++; gets == n {
							now = replace(t, dir, at.Ref)
						}
					}}
					d, err := deck.New(t.Context(), hooked, at.Ref.DeckURL)
					if err != nil {
						t.Fatal(err)
					}
					at.Store, at.Deck = hooked, d
					var out bytes.Buffer
					if err := read(f, at, &out); err != nil {
						t.Errorf("file %d: %v", n, err)
					}
					if name == "verify" && (!strings.Contains(out.String(), "ok true") || !strings.Contains(out.String(), "/"+now+".")) {
						t.Errorf("file %d: %s", n, out.String())
					}
				}
			})
		}
	}
}

// TestARunThatIsReplacedAfterItWasFound: the walk over a deck has yielded it already.
func TestARunThatIsReplacedAfterItWasFound(t *testing.T) {
	dir, _ := newDeck(t)
	f := &replay.Finder{Limit: 1, Warn: t.Errorf}
	read := 0
	for at, err := range f.Resolve(t.Context(), dir, replay.WholeDeck) {
		if err != nil {
			t.Fatal(err)
		}
		now := replace(t, dir, at.Ref)
		if _, _, err := f.Open(t.Context(), &at); err != nil || at.Ref.Generation.String() != now {
			t.Errorf("%v, read from %s instead of %s", err, at.Ref.Generation, now)
		}
		read++
	}
	if read != 2 {
		t.Errorf("%d runs", read)
	}
	// Whoever names a file gets that file or none.
	dir, folder := newDeck(t)
	ref, err := deck.ParseRef("file://" + folder + "/tape.json")
	if err != nil {
		t.Fatal(err)
	}
	replace(t, dir, ref)
	if got := tapedeck(t, "show", folder+"/tape.json"); got.code != exitFailed {
		t.Errorf("%+v", got)
	}
}

// TestARunThatIsGoneIsNotFound: its trace has other runs now, or none.
func TestARunThatIsGoneIsNotFound(t *testing.T) {
	dir, _ := newDeck(t)
	f := &replay.Finder{Deck: dir, Limit: 1}
	for at, err := range f.Resolve(t.Context(), forgeRun, replay.OneRun) {
		if err != nil {
			t.Fatal(err)
		}
		now := replace(t, dir, at.Ref)
		place := filepath.Join(dir, filepath.FromSlash(at.Ref.Location.Prefix()), now+".0123456789abcdef")
		if err := os.Rename(filepath.Join(filepath.Dir(place), now+"."+at.Ref.Root), place); err != nil {
			t.Fatal(err)
		}
		if _, _, err := f.Open(t.Context(), &at); err == nil || !strings.Contains(err.Error(), "not found") {
			t.Errorf("%v", err)
		}
		if err := os.RemoveAll(place); err != nil {
			t.Fatal(err)
		}
		if _, _, err := f.Open(t.Context(), &at); err == nil || !strings.Contains(err.Error(), "not found") {
			t.Errorf("%v", err)
		}
	}
}
