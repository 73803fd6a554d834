// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package replay finds and opens the runs that a reference stands for, checks them, and says what came out of a replay. The packages
// below it show runs and comparisons to a person. Its hints name the flags of the command line, which has no other way to runs.
package replay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/runs"
)

// Finder is the one way from a reference to what it stands for.
type Finder struct {
	Deck, Tenant string
	// Limit is how many traces of the deck are looked at for an id that is no trace id.
	Limit int
	// Unverified uses, aloud, a tape or an oracle whose digest does not hold.
	Unverified bool
	// Derive calls use with a deck that holds the runs in a file of telemetry; nil where telemetry stands for no run.
	Derive func(ctx context.Context, file string, use func(*deck.Deck) error) error
	// Usage says how an id is given, for hints: "tapedeck show ID".
	Usage func() string
	// Warn says what is no error.
	Warn func(format string, args ...any)
}

func (r *Finder) check() error {
	if r.Limit < 1 {
		return ErrSearchLimit
	}
	return nil
}

// ErrSearchLimit is about Finder.Limit.
var ErrSearchLimit = errors.New("--search-limit must be positive")

// Location is one tape, and how to read the files beside it.
type Location struct {
	Ref   deck.Ref
	Store deck.Store
	Deck  *deck.Deck // in which the run was found; nil where its address was given
	Name  string     // of a run that lies in memory only
	// Derived is the deck in memory that holds such a run with its evidence.
	Derived *deck.Deck
}

// String is the address without options, for messages.
func (l Location) String() string {
	if l.Name != "" {
		return l.Name
	}
	address, _, _ := strings.Cut(l.Ref.URL, "?")
	return strings.TrimPrefix(address, "file://")
}

// Read reads an object of the store.
func (l Location) Read(ctx context.Context, key string) ([]byte, error) { return l.Store.Get(ctx, key) }

// Reading calls read, which reads files of the run. A run that was found may be replaced before or while it is read. It is then read again at its new
// place, and l says where.
func (l *Location) Reading(ctx context.Context, read func() error) error {
	if l.Deck == nil {
		return read()
	}
	return runs.Read(ctx, l.Deck, l.Ref, func(ref deck.Ref) error {
		l.Ref = ref
		return read()
	})
}

// content is the file itself.
func (l *Location) content(ctx context.Context) (data []byte, err error) {
	err = l.Reading(ctx, func() error {
		data, err = l.Read(ctx, l.Ref.Key)
		return err
	})
	return data, err
}

// Reach says what a REF may stand for.
type Reach int

const (
	OneRun      Reach = iota // one tape, or it is an error that names the candidates
	SeveralRuns              // all runs of an id
	WholeDeck                // also all current tapes of a deck
)

const deckMarker = "tapedeck.json"

// IDForm is the form of run ids, trace ids and the beginnings of them.
var IDForm = regexp.MustCompile(`^[0-9A-Fa-f]{8,32}(-[0-9A-Fa-f]{1,16})?$`)

// Resolve yields the tapes that a REF stands for, one at least. Stores are open while the loop runs. A REF is looked up in this order:
//
//  1. a trace or run id in the deck that --deck names
//  2. a tape.json
//  3. a folder that holds one
//  4. a deck
//  5. another id in the deck that --deck names
func (r *Finder) Resolve(ctx context.Context, ref string, to Reach) iter.Seq2[Location, error] {
	return func(yield func(Location, error) bool) {
		n, stopped := 0, false
		err := r.resolveTo(ctx, ref, to, func(l Location) bool {
			n++
			stopped = !yield(l, nil)
			return !stopped
		})
		if err == nil && n == 0 {
			err = fmt.Errorf("%s holds no tape", ref)
		}
		if err != nil && !stopped {
			yield(Location{}, err)
		}
	}
}

func (r *Finder) resolveTo(ctx context.Context, ref string, to Reach, yield func(Location) bool) error {
	if ref == "" {
		return errors.New("an empty REF")
	}
	if strings.HasPrefix(ref, "mem:") || strings.HasPrefix(r.Deck, "mem:") {
		return ErrMem
	}
	if err := r.check(); err != nil {
		return err
	}
	if r.Deck != "" && IDForm.MatchString(ref) {
		return r.resolveID(ctx, ref, to, yield)
	}
	if !strings.Contains(ref, "://") {
		info, err := os.Stat(ref)
		if _, packed := os.Stat(ref + ".zst"); packed == nil && errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(ref, ".json") {
			return resolveFile(ctx, ref, yield) // it is stored compressed
		}
		switch {
		case errors.Is(err, fs.ErrNotExist) && r.Deck != "":
			return r.resolveID(ctx, ref, to, yield)
		case errors.Is(err, fs.ErrNotExist) && runAddress(ref) != "":
			return resolveFile(ctx, runAddress(ref), yield)
		case errors.Is(err, fs.ErrNotExist) && IDForm.MatchString(ref):
			return fmt.Errorf("%s is no file; to find a run by its id, name its deck with --deck", ref)
		case err != nil:
			return fmt.Errorf("%s: %w", ref, pathless(err))
		case info.Mode().IsRegular() && r.Derive != nil && isTelemetry(ref): // a pipe can be read once
			return r.resolveTelemetry(ctx, ref, to, yield)
		case !info.IsDir():
			return resolveFile(ctx, ref, yield)
		}
		return r.resolveFolder(ctx, ref, ref, to, yield)
	}
	base, query := SplitURL(ref)
	if strings.HasSuffix(strings.TrimSuffix(base, ".zst"), ".json") {
		return resolveFile(ctx, ref, yield)
	}
	return r.resolveFolder(ctx, base, base+query, to, yield)
}

// SplitURL divides an address from its options, which keep their question mark. A path has none.
func SplitURL(address string) (base, query string) {
	if i := strings.IndexByte(address, '?'); i >= 0 && strings.Contains(address, "://") {
		address, query = address[:i], address[i:]
	}
	return strings.TrimRight(address, "/"), query
}

func (r *Finder) resolveID(ctx context.Context, id string, to Reach, yield func(Location) bool) (err error) {
	d, err := OpenDeck(ctx, r.Deck)
	if err != nil {
		return fmt.Errorf("--deck: %w", err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	found, err := runs.Find(ctx, d, runs.Query{ID: id, Tenant: r.Tenant, Limit: r.Limit})
	switch several := runs.Ambiguous(ctx, d, err); {
	case len(several) > 0:
		return fmt.Errorf("%w: %s", err, runs.Describe(ctx, d.Store(), several))
	case err != nil:
		return err
	case len(found) > 1 && to == OneRun:
		return fmt.Errorf("%s stands for %d runs; name one by its run id or its address, or limit it with --tenant: %s", id, len(found), runs.Describe(ctx, d.Store(), found))
	}
	yieldAll(found, d, yield)
	return nil
}

func yieldAll(found []deck.Ref, d *deck.Deck, yield func(Location) bool) bool {
	for _, ref := range found {
		if !yield(Location{Ref: ref, Store: d.Store(), Deck: d}) {
			return false
		}
	}
	return true
}

// resolveFile takes the address of a tape.json.
func resolveFile(ctx context.Context, address string, yield func(Location) bool) (err error) {
	ref, err := deck.ParseRef(address)
	if err != nil {
		return err
	}
	store, err := deck.OpenFiles(ctx, ref.DeckURL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	yield(Location{Ref: ref, Store: store})
	return nil
}

// runAddress is the address of the tape that a REF names by its place in a deck, which need not be a file there: the tape itself, or the folder of its run.
func runAddress(ref string) string {
	base, query := SplitURL(ref)
	for _, address := range []string{base + query, base + "/" + deck.TapeFile + query} {
		if r, err := deck.ParseRef(address); err == nil && r.InDeck() {
			return address
		}
	}
	return ""
}

// resolveFolder takes the address of a folder that holds a tape, or of a deck. shown is the address without options.
func (r *Finder) resolveFolder(ctx context.Context, shown, address string, to Reach, yield func(Location) bool) (err error) {
	store, err := deck.OpenStore(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	base, query := SplitURL(address)
	switch _, err := store.Get(ctx, deck.TapeFile); {
	case err == nil:
		return resolveFile(ctx, base+"/"+deck.TapeFile+query, yield)
	case !errors.Is(err, deck.ErrNotFound):
		return err
	}
	if _, err := store.Get(ctx, deckMarker); errors.Is(err, deck.ErrNotFound) {
		if at := runAddress(address); at != "" {
			return resolveFile(ctx, at, yield)
		}
		return fmt.Errorf("%s %w", shown, ErrNoTapes)
	} else if err != nil {
		return err
	}
	if to != WholeDeck {
		return fmt.Errorf("%s is %w; name a run with: %s --deck %s", shown, ErrIsDeck, r.Usage(), address)
	}
	return r.resolveDeck(ctx, address, yield)
}

// resolveDeck walks over the current tapes of a deck, and says what it passes over.
func (r *Finder) resolveDeck(ctx context.Context, address string, yield func(Location) bool) (err error) {
	d, err := deck.Open(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	without := map[string]bool{} // traces without a tape
	var joined []deck.Ref
	for location, err := range d.Locations(ctx) {
		if err != nil {
			return err
		}
		if !location.Of(r.Tenant) {
			continue
		}
		found, err := runs.Current(ctx, d, location)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			without[location.Prefix()] = true
		}
		if location.Area == deck.AreaJoined {
			joined = append(joined, found...)
		}
		if !yieldAll(found, d, yield) {
			return nil
		}
	}
	for i := 0; i < len(joined) && len(without) > 0; i++ { // the traces of a joined run need no tapes of their own
		t, err := ReadSealed(ctx, Location{Ref: joined[i], Store: d.Store(), Deck: d})
		if err != nil {
			continue // whoever asked has been told
		}
		for _, id := range t.Sources.TraceIDs {
			location := joined[i].Location
			location.Area, location.TraceID = deck.AreaRuns, id
			delete(without, location.Prefix())
		}
	}
	if len(without) > 0 {
		first := slices.Min(slices.Collect(maps.Keys(without)))
		r.Warn("%s: %d traces were passed over: their evidence is there, a complete tape is not; the first is %s; they are written when the rest of their spans comes, and tapedeck doctor says what is missing", d, len(without), first)
	}
	return nil
}

// Sibling returns the key of another file of the run.
func (l Location) Sibling(name string) string { return path.Join(path.Dir(l.Ref.Key), name) }

// ErrIsDeck is returned, wrapped, for a deck where one run is wanted.
var ErrIsDeck = errors.New("a deck")

// ErrMem is about a deck in memory.
var ErrMem = errors.New("a mem:// deck lives only as long as the process that wrote it")

// ErrNoTapes is about a folder.
var ErrNoTapes = errors.New("holds neither a tape.json nor a deck")

// OpenDeck opens a deck that must be there.
func OpenDeck(ctx context.Context, address string) (*deck.Deck, error) {
	if path := strings.TrimPrefix(address, "file://"); !strings.Contains(path, "://") {
		switch info, err := os.Stat(path); {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("there is no deck at %s: no such folder", path)
		case err == nil && !info.IsDir():
			return nil, fmt.Errorf("there is no deck at %s: it is a file", path)
		}
	}
	d, err := deck.Open(ctx, address)
	if err != nil {
		return nil, err
	}
	if _, err := d.Store().Get(ctx, deckMarker); err != nil {
		if errors.Is(err, deck.ErrNotFound) {
			err = fmt.Errorf("%s holds no deck", d)
		}
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// pathless takes the path off an error of package os where the message names it already.
func pathless(err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		return of.Err
	}
	return err
}
