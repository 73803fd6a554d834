// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// at is the deck at a URL as the test reads it, apart from every collector.
type at struct {
	t   *testing.T
	url string
}

// beside is the URL of an empty deck in the same bucket or folder.
func beside(url, name string) string {
	path, query, found := strings.Cut(url, "?")
	path = strings.TrimRight(path, "/") + "-" + name
	if found {
		path += "?" + query
	}
	return path
}

func (a at) open() *deck.Deck {
	a.t.Helper()
	d, err := deck.Open(a.t.Context(), a.url)
	if err != nil {
		a.t.Fatal(err)
	}
	return d
}

func (a at) close(d *deck.Deck) {
	a.t.Helper()
	if err := d.Close(); err != nil {
		a.t.Error(err)
	}
}

// contents is every object of the deck.
func (a at) contents() map[string]string {
	a.t.Helper()
	d := a.open()
	defer a.close(d)
	objects := map[string]string{}
	for o, err := range d.Store().List(a.t.Context(), "") {
		if err != nil {
			a.t.Fatal(err)
		}
		objects[o.Key] = string(a.get(d, o.Key))
	}
	return objects
}

func (a at) get(d *deck.Deck, key string) []byte {
	a.t.Helper()
	body, err := d.Store().Get(a.t.Context(), key)
	if err != nil {
		a.t.Fatal(err)
	}
	return body
}

// state is what lies in the deck for a production run.
func (a at) state(trace string) deck.LocationState {
	a.t.Helper()
	d := a.open()
	defer a.close(d)
	state, err := d.State(a.t.Context(), place(trace))
	if err != nil {
		a.t.Fatal(err)
	}
	return state
}

// traces is every trace that has a complete generation, decided (with its root) or not.
func (a at) traces() map[string]bool {
	a.t.Helper()
	d := a.open()
	defer a.close(d)
	complete := map[string]bool{}
	for place, err := range d.Locations(a.t.Context(), deck.AreaRuns, deck.AreaUndecided) {
		if err != nil {
			a.t.Fatal(err)
		}
		if _, ok, err := d.Current(a.t.Context(), place); err != nil {
			a.t.Fatal(err)
		} else if ok {
			complete[place.TraceID] = true
		}
	}
	return complete
}

func place(trace string) deck.Location {
	return deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: trace}
}

// current is the files of the current generation of a trace, below the name of the generation, and its parts.
func (a at) current(trace string) map[string]string {
	a.t.Helper()
	d := a.open()
	defer a.close(d)
	files, err := current(a.t.Context(), d, trace)
	if err != nil {
		a.t.Fatal(err)
	}
	return files
}

func current(ctx context.Context, d *deck.Deck, trace string) (map[string]string, error) {
	state, err := d.State(ctx, place(trace))
	if err != nil {
		return nil, err
	}
	gen, ok := state.Current()
	if !ok {
		return nil, errors.New("trace " + trace + " has no complete generation")
	}
	files := map[string]string{}
	for _, run := range gen.Runs {
		for _, name := range run.Files {
			body, err := d.ReadFile(ctx, place(trace), gen.Generation, run.Root, name)
			if err != nil {
				return nil, err
			}
			files[gen.String()+"/"+run.Root+"/"+name] = string(body)
		}
	}
	for _, digest := range state.Parts {
		body, err := d.ReadPart(ctx, place(trace), digest)
		if err != nil {
			return nil, err
		}
		files["parts/"+digest] = string(body)
	}
	return files, nil
}

// tape is the bytes of the tape of a trace that has one run.
func (a at) tape(trace string) string {
	a.t.Helper()
	var tapes []string
	for name, body := range a.current(trace) {
		if strings.HasSuffix(name, "/"+deck.TapeFile) {
			tapes = append(tapes, body)
		}
	}
	if len(tapes) != 1 {
		a.t.Fatalf("trace %s has %d tapes, want 1", trace, len(tapes))
	}
	return tapes[0]
}

// tapes is every file of the current generation of every trace under runs/, by trace, root and name, and how many parts its evidence
// came in.
func (a at) tapes() (files map[string]string, parts map[string]int) {
	a.t.Helper()
	d := a.open()
	defer a.close(d)
	files, parts = map[string]string{}, map[string]int{}
	for place, err := range d.Locations(a.t.Context(), deck.AreaRuns) {
		if err != nil {
			a.t.Fatal(err)
		}
		state, err := d.State(a.t.Context(), place)
		if err != nil {
			a.t.Fatal(err)
		}
		parts[place.TraceID] = len(state.Parts)
		gen, ok := state.Current()
		if !ok {
			continue
		}
		for _, run := range gen.Runs {
			for _, name := range run.Files {
				body, err := d.ReadFile(a.t.Context(), place, gen.Generation, run.Root, name)
				if err != nil {
					a.t.Fatal(err)
				}
				files[place.TraceID+"/"+run.Root+"/"+name] = string(body)
			}
		}
	}
	return files, parts
}
