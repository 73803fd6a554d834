// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

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

	"github.com/spf13/cobra"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/runs"
)

const refHelp = `REF is the path or URL of a tape.json or of the folder that holds it; with --deck
also a run id, a trace id or the first eight or more digits of one, or the
invocation, task, correlation or conversation id of a run.
`

// refs are the flags of a command that takes REFs, and its one way to what they stand for.
type refs struct {
	deck, tenant string
	limit        int
	unverified   bool
	// derives says that telemetry stands for the runs in it.
	derives bool

	cmd *cobra.Command
	ids string // how the command takes an id
}

// add adds the flags. ids is how the command takes an id, as "ID" or "--oracle ID".
func (r *refs) add(cmd *cobra.Command, ids string) {
	r.cmd, r.ids = cmd, ids
	flags := cmd.Flags()
	flags.StringVar(&r.deck, "deck", "", "the deck in which a REF is an id")
	flags.StringVar(&r.tenant, "tenant", "", "only the runs of this tenant")
	flags.IntVar(&r.limit, "search-limit", runs.DefaultLimit, "look at so many traces of the deck at most for an id that is no trace id")
}

// addUnverified is for commands that use what they read. Those that check it say what is wrong with it.
func (r *refs) addUnverified() {
	r.cmd.Flags().BoolVar(&r.unverified, "allow-unverified", false, "use a tape or an oracle whose digest does not hold")
}

func (r *refs) check() error {
	if r.limit < 1 {
		return errSearchLimit
	}
	return nil
}

var errSearchLimit = errors.New("--search-limit must be positive")

func (r *refs) say(format string, args ...any) { say(r.cmd.ErrOrStderr(), format, args...) }

// location is one tape, and how to read the files beside it.
type location struct {
	ref   deck.Ref
	store deck.Store
	name  string // of a run that lies in memory only
}

// String is the address without options, for messages.
func (l location) String() string {
	if l.name != "" {
		return l.name
	}
	address, _, _ := strings.Cut(l.ref.URL, "?")
	return strings.TrimPrefix(address, "file://")
}

func (l location) read(ctx context.Context, key string) ([]byte, error) { return l.store.Get(ctx, key) }

// reach says what a REF may stand for.
type reach int

const (
	oneRun      reach = iota // one tape, or it is an error that names the candidates
	severalRuns              // all runs of an id
	wholeDeck                // also all current tapes of a deck
)

const deckMarker = "tapedeck.json"

var idForm = regexp.MustCompile(`^[0-9A-Fa-f]{8,32}(-[0-9A-Fa-f]{16})?$`)

// resolve yields the tapes that a REF stands for, one at least. Stores are open while the loop runs. A REF is looked up in this order: a
// trace or run id in the deck that --deck names, a tape.json, a folder that holds one, a deck, another id in the deck that --deck names.
func (r *refs) resolve(ctx context.Context, ref string, to reach) iter.Seq2[location, error] {
	return func(yield func(location, error) bool) {
		n, stopped := 0, false
		err := r.resolveTo(ctx, ref, to, func(l location) bool {
			n++
			stopped = !yield(l, nil)
			return !stopped
		})
		if err == nil && n == 0 {
			err = fmt.Errorf("%s holds no tape", ref)
		}
		if err != nil && !stopped {
			yield(location{}, err)
		}
	}
}

func (r *refs) resolveTo(ctx context.Context, ref string, to reach, yield func(location) bool) error {
	if ref == "" {
		return errors.New("an empty REF")
	}
	if strings.HasPrefix(ref, "mem:") || strings.HasPrefix(r.deck, "mem:") {
		return errMem
	}
	if err := r.check(); err != nil {
		return err
	}
	if r.deck != "" && idForm.MatchString(ref) {
		return r.resolveID(ctx, ref, to, yield)
	}
	if !strings.Contains(ref, "://") {
		switch info, err := os.Stat(ref); {
		case errors.Is(err, fs.ErrNotExist) && r.deck != "":
			return r.resolveID(ctx, ref, to, yield)
		case errors.Is(err, fs.ErrNotExist) && idForm.MatchString(ref):
			return fmt.Errorf("%s is no file; to find a run by its id, name its deck with --deck", ref)
		case err != nil:
			return fmt.Errorf("%s: %w", ref, withoutPath(err))
		case info.Mode().IsRegular() && r.derives && isTelemetry(ref): // a pipe can be read once
			return r.resolveTelemetry(ctx, ref, to, yield)
		case !info.IsDir():
			return resolveFile(ctx, ref, yield)
		}
		return r.resolveFolder(ctx, ref, ref, to, yield)
	}
	base, query := splitURL(ref)
	if strings.HasSuffix(base, ".json") {
		return resolveFile(ctx, ref, yield)
	}
	return r.resolveFolder(ctx, base, base+query, to, yield)
}

// splitURL divides an address from its options, which keep their question mark. A path has none.
func splitURL(address string) (base, query string) {
	if i := strings.IndexByte(address, '?'); i >= 0 && strings.Contains(address, "://") {
		address, query = address[:i], address[i:]
	}
	return strings.TrimRight(address, "/"), query
}

func (r *refs) resolveID(ctx context.Context, id string, to reach, yield func(location) bool) (err error) {
	d, err := openExisting(ctx, r.deck)
	if err != nil {
		return fmt.Errorf("--deck: %w", err)
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	found, err := runs.Find(ctx, d, runs.Query{ID: id, Tenant: r.tenant, Limit: r.limit})
	switch several := runs.Ambiguous(ctx, d, err); {
	case len(several) > 0:
		return fmt.Errorf("%w: %s", err, runs.Describe(ctx, d.Store(), several))
	case err != nil:
		return err
	case len(found) > 1 && to == oneRun:
		return fmt.Errorf("%s stands for %d runs; name one by its run id or its address, or limit it with --tenant: %s", id, len(found), runs.Describe(ctx, d.Store(), found))
	}
	yieldAll(found, d.Store(), yield)
	return nil
}

func yieldAll(found []deck.Ref, store deck.Store, yield func(location) bool) bool {
	for _, ref := range found {
		if !yield(location{ref: ref, store: store}) {
			return false
		}
	}
	return true
}

// resolveFile takes the address of a tape.json.
func resolveFile(ctx context.Context, address string, yield func(location) bool) (err error) {
	ref, err := deck.ParseRef(address)
	if err != nil {
		return err
	}
	store, err := deck.OpenStore(ctx, ref.DeckURL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	yield(location{ref: ref, store: store})
	return nil
}

// resolveFolder takes the address of a folder that holds a tape, or of a deck. shown is the address without options.
func (r *refs) resolveFolder(ctx context.Context, shown, address string, to reach, yield func(location) bool) (err error) {
	store, err := deck.OpenStore(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	base, query := splitURL(address)
	switch _, err := store.Get(ctx, deck.TapeFile); {
	case err == nil:
		return resolveFile(ctx, base+"/"+deck.TapeFile+query, yield)
	case !errors.Is(err, deck.ErrNotFound):
		return err
	}
	if _, err := store.Get(ctx, deckMarker); errors.Is(err, deck.ErrNotFound) {
		return fmt.Errorf("%s %w", shown, errNoTapes)
	} else if err != nil {
		return err
	}
	if to != wholeDeck {
		return fmt.Errorf("%s is %w; name a run with: %s %s --deck %s", shown, errIsDeck, r.cmd.CommandPath(), r.ids, address)
	}
	return r.resolveDeck(ctx, address, yield)
}

// resolveDeck walks over the current tapes of a deck, and says what it passes over.
func (r *refs) resolveDeck(ctx context.Context, address string, yield func(location) bool) (err error) {
	d, err := deck.Open(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	without := map[string]bool{} // traces without a tape
	var joined []deck.Ref
	for place, err := range d.Places(ctx) {
		if err != nil {
			return err
		}
		if !place.Of(r.tenant) {
			continue
		}
		found, err := runs.Current(ctx, d, place)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			without[place.Prefix()] = true
		}
		if place.Area == deck.AreaJoined {
			joined = append(joined, found...)
		}
		if !yieldAll(found, d.Store(), yield) {
			return nil
		}
	}
	for i := 0; i < len(joined) && len(without) > 0; i++ { // the traces of a joined run need no tapes of their own
		t, err := readSealed(ctx, location{ref: joined[i], store: d.Store()})
		if err != nil {
			continue // whoever asked has been told
		}
		for _, id := range t.Sources.TraceIDs {
			place := joined[i].Place
			place.Area, place.TraceID = deck.AreaRuns, id
			delete(without, place.Prefix())
		}
	}
	if len(without) > 0 {
		first := slices.Min(slices.Collect(maps.Keys(without)))
		r.say("%s: %d traces were passed over: their evidence is there, a complete tape is not; the first is %s", d, len(without), first)
	}
	return nil
}

// sibling returns the key of another file of the run.
func (l location) sibling(name string) string { return path.Join(path.Dir(l.ref.Key), name) }

// errIsDeck is returned, wrapped, for a deck where one run is wanted.
var errIsDeck = errors.New("a deck")

var errMem = errors.New("a mem:// deck lives only as long as the process that wrote it")

// errNoTapes is about a folder.
var errNoTapes = errors.New("holds neither a tape.json nor a deck")

// withoutPath takes the path off an error of package os where the message names it already.
func withoutPath(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
