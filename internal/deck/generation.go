// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// NewGeneration names the generation that a producer derives from parts. items
// is the number of distinct spans and log records in the parts. producer is the
// canonical form of everything that changes the output. The order of the parts
// does not matter. The caller sets the revision.
func NewGeneration(items int, parts []string, producer []byte) Generation {
	sorted := slices.Compact(slices.Sorted(slices.Values(parts)))
	h := sha256.New()
	// Counts and lengths go first, so that no two inputs give the same bytes.
	fmt.Fprintf(h, "tapedeck generation 1\n%d\n", len(sorted))
	for _, p := range sorted {
		fmt.Fprintf(h, "%d:%s\n", len(p), p)
	}
	fmt.Fprintf(h, "%d:", len(producer))
	h.Write(producer)
	return Generation{Items: items, Digest: hex.EncodeToString(h.Sum(nil))}
}

// File is one file of a run.
type File struct {
	Name        string
	Body        []byte
	ContentType string // application/json if empty
}

// RunFiles are the files of one run of a generation. They include tape.json,
// and at least one other file if the generation has several runs. When the
// writer dies, that file shows that a run is still missing its tape.
type RunFiles struct {
	Root  string // root span id, 16 lower-case hex digits
	Files []File
}

// Run is one run of a generation as it lies in the deck.
type Run struct {
	Root  string
	Files []string // names, sorted
}

// HasTape tells whether the run is complete.
func (r Run) HasTape() bool { return slices.Contains(r.Files, TapeFile) }

// GenerationState is a generation as it lies in the deck.
type GenerationState struct {
	Generation
	Runs     []Run // sorted by root
	Complete bool  // every run has its tape
}

// Roots returns the root span ids of the runs, sorted.
func (g GenerationState) Roots() []string {
	roots := make([]string, len(g.Runs))
	for i, r := range g.Runs {
		roots[i] = r.Root
	}
	return roots
}

// LocationState is everything that lies in a location.
type LocationState struct {
	Parts       []string          // digests, sorted
	Generations []GenerationState // ascending
}

// Current returns the highest complete generation.
func (s LocationState) Current() (GenerationState, bool) {
	for _, g := range slices.Backward(s.Generations) {
		if g.Complete {
			return g, true
		}
	}
	return GenerationState{}, false
}

// Has tells whether a generation is there and complete; there is then nothing to
// write.
func (s LocationState) Has(g Generation) bool {
	for _, have := range s.Generations {
		if have.Generation == g {
			return have.Complete
		}
	}
	return false
}

// PutGeneration writes the runs of a generation: the siblings of all runs
// first, then each tape.json. It leaves files that are there already as they
// are, so a repeated call fills in what an interrupted one left out. created
// tells whether anything was missing. The error is ErrBuried when the
// generation or the location is buried.
func (d *Deck) PutGeneration(ctx context.Context, location Location, gen Generation, runs []RunFiles) (created bool, err error) {
	if err := gen.validate(); err != nil {
		return false, err
	}
	if err := checkRuns(runs); err != nil {
		return false, err
	}
	s, err := d.LocationWriter(ctx, location)
	if err != nil {
		return false, err
	}
	return s.PutGeneration(ctx, gen, runs)
}

// putGeneration creates first what has to be there before the generation.
func (d *Deck) putGeneration(ctx context.Context, location Location, gen Generation, runs []RunFiles, first ...NewObject) (created bool, err error) {
	layout, err := d.keys(ctx)
	if err != nil {
		return false, err
	}
	var siblings, tapes []NewObject
	pack := d.packs()
	for _, run := range runs {
		for _, f := range run.Files {
			o := NewObject{Key: location.fileKey(layout, gen, run.Root, f.Name), Body: f.Body, ContentType: cmp.Or(f.ContentType, jsonType)}
			if pack && mayBePacked(o.Key) && len(o.Body) <= MaxObjectBytes {
				o = NewObject{Key: o.Key + packedSuffix, Body: compress(o.Body), ContentType: partType}
			}
			if f.Name == TapeFile {
				tapes = append(tapes, o)
			} else {
				siblings = append(siblings, o)
			}
		}
	}
	byKey := func(a, b NewObject) int { return strings.Compare(a.Key, b.Key) }
	slices.SortFunc(siblings, byKey)
	slices.SortFunc(tapes, byKey)
	return putAllNew(ctx, d.store, slices.Concat(first, siblings, tapes))
}

func checkRuns(runs []RunFiles) error {
	bad := func(format string, args ...any) error {
		return &StoreError{Op: "check", Scheme: "deck", Reason: "generation: " + fmt.Sprintf(format, args...), Permanent: true, Err: ErrBadKey}
	}
	if len(runs) == 0 {
		return bad("no runs")
	}
	roots := map[string]bool{}
	for _, run := range runs {
		if !validRoot(run.Root) || roots[run.Root] {
			return bad("root span id %q is not 16 lower-case hex digits or comes twice", shorten(run.Root))
		}
		roots[run.Root] = true
		names := map[string]bool{}
		for _, f := range run.Files {
			// Names that differ only in case are one file on some systems.
			folded := strings.ToLower(f.Name)
			if CheckKey(f.Name) != nil || strings.Contains(f.Name, "/") || names[folded] || (folded == TapeFile) != (f.Name == TapeFile) {
				return bad("file name %q of run %s is not valid or comes twice", shorten(f.Name), run.Root)
			}
			names[folded] = true
		}
		if !names[TapeFile] {
			return bad("run %s has no %s", run.Root, TapeFile)
		}
		if len(runs) > 1 && len(names) < 2 {
			return bad("run %s has no file beside %s, which a generation of several runs needs", run.Root, TapeFile)
		}
	}
	return nil
}

// State returns the parts and generations of a location, without what is buried. A
// location where nothing lies is empty.
func (d *Deck) State(ctx context.Context, location Location) (LocationState, error) {
	return d.visible(ctx, location, "")
}

// Generations returns the generations of a location, ascending.
func (d *Deck) Generations(ctx context.Context, location Location) ([]GenerationState, error) {
	state, err := d.visible(ctx, location, "g")
	return state.Generations, err
}

// Current returns the highest complete generation of a location, or false if it
// has none. A listing is no snapshot: it can come too early for a new
// generation and too late for the old one that a writer has just replaced. So
// Current lists a location again when it finds none.
func (d *Deck) Current(ctx context.Context, location Location) (GenerationState, bool, error) {
	const listings = 3
	for range listings {
		gens, err := d.Generations(ctx, location)
		if err != nil {
			return GenerationState{}, false, err
		}
		if g, ok := (LocationState{Generations: gens}).Current(); ok {
			return g, true, nil
		}
	}
	return GenerationState{}, false, nil
}

// ReadCurrent calls read with the current generation of a location. It returns
// false if the location has none. Writers delete a generation that they have
// replaced. When read finds a file of its generation missing, ReadCurrent calls
// it again with the generation that is current then. What read had read before
// must be discarded.
func (d *Deck) ReadCurrent(ctx context.Context, location Location, read func(GenerationState) error) (bool, error) {
	var before GenerationState
	var missing error
	for {
		g, ok, err := d.Current(ctx, location)
		if err != nil || !ok {
			return false, err
		}
		if missing != nil && g.Generation == before.Generation {
			return true, missing
		}
		if missing = read(g); !errors.Is(missing, ErrNotFound) {
			return true, missing
		}
		before = g
	}
}

// RemoveGenerations deletes generations of a location that another one has replaced,
// and leaves no tombstones: one that a slow writer brings back is replaced still.
func (d *Deck) RemoveGenerations(ctx context.Context, location Location, gone []GenerationState) error {
	return d.Remove(ctx, location, LocationState{Generations: gone})
}

// ReadFile returns one file of a run.
func (d *Deck) ReadFile(ctx context.Context, location Location, gen Generation, root, name string) ([]byte, error) {
	if err := location.Validate(); err != nil {
		return nil, err
	}
	if err := gen.validate(); err != nil {
		return nil, err
	}
	if !validRoot(root) || strings.Contains(name, "/") {
		return nil, &StoreError{Op: "get", Scheme: d.url.Scheme, Reason: "not the name of a file of a run", Permanent: true, Err: ErrBadKey}
	}
	layout, err := d.keys(ctx)
	if err != nil {
		return nil, err
	}
	return d.store.Get(ctx, location.fileKey(layout, gen, root, name))
}

// visible is what lies in a location without what is buried.
func (d *Deck) visible(ctx context.Context, location Location, within string) (LocationState, error) {
	state, _, err := d.look(ctx, location, within)
	return state, err
}

// look reads what lies in a location and what is buried of it: in layout 2 with
// one listing.
func (d *Deck) look(ctx context.Context, location Location, within string) (LocationState, Tombstones, error) {
	layout, err := d.keys(ctx)
	if err != nil {
		return LocationState{}, Tombstones{}, err
	}
	if layout == LayoutFiles1 {
		t, err := d.Tombstones(ctx, location)
		if err != nil || t.Trace() {
			return LocationState{}, t, err
		}
		state, err := d.scan(location, layout, d.store.List(ctx, location.Prefix()+"/"+within), t)
		return state, t, err
	}
	if err := location.Validate(); err != nil {
		return LocationState{}, Tombstones{}, err
	}
	t := Tombstones{location: location, layout: layout}
	var objects []Object
	for o, err := range d.listAround(ctx, location.Prefix()) {
		if err != nil {
			return LocationState{}, Tombstones{}, err
		}
		if !t.add(o.Key) {
			objects = append(objects, o)
		}
	}
	if t.Trace() {
		return LocationState{}, t, nil
	}
	state, err := d.scan(location, layout, func(yield func(Object, error) bool) {
		for _, o := range objects {
			if !yield(o, nil) {
				return
			}
		}
	}, t)
	return state, t, err
}

// scan reads a listing of a location. Names that the layout does not know are
// passed over: a later minor version may have put them there.
func (d *Deck) scan(location Location, layout Layout, listing iter.Seq2[Object, error], buried Tombstones) (LocationState, error) {
	base := location.Prefix() + "/"
	var state LocationState
	for o, err := range listing {
		if err != nil {
			return LocationState{}, err
		}
		switch part, gen, root, name := parseRest(layout, strings.TrimPrefix(o.Key, base)); {
		case part != "" && !buried.Part(part):
			state.Parts = append(state.Parts, part)
		case root != "" && !buried.Generation(gen):
			state.add(gen, root, name)
		}
	}
	// Listings come in order of keys, which is the order of generations up to
	// ten digits; storage that does not keep the order is put right here.
	slices.Sort(state.Parts)
	slices.SortFunc(state.Generations, func(a, b GenerationState) int { return a.Compare(b.Generation) })
	for i := range state.Generations {
		g := &state.Generations[i]
		g.Complete = true
		slices.SortFunc(g.Runs, func(a, b Run) int { return strings.Compare(a.Root, b.Root) })
		for _, r := range g.Runs {
			slices.Sort(r.Files)
			g.Complete = g.Complete && r.HasTape()
		}
	}
	return state, nil
}

// add notes a file. Listings are in order, so the generation and the run are
// nearly always the last ones.
func (s *LocationState) add(gen Generation, root, name string) {
	var g *GenerationState
	for i := len(s.Generations) - 1; i >= 0 && g == nil; i-- {
		if s.Generations[i].Generation == gen {
			g = &s.Generations[i]
		}
	}
	if g == nil {
		s.Generations = append(s.Generations, GenerationState{Generation: gen})
		g = &s.Generations[len(s.Generations)-1]
	}
	for i := len(g.Runs) - 1; i >= 0; i-- {
		if g.Runs[i].Root == root {
			g.Runs[i].Files = append(g.Runs[i].Files, name)
			return
		}
	}
	g.Runs = append(g.Runs, Run{Root: root, Files: []string{name}})
}
