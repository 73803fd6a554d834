// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Ref points to one file of a run, tape.json as a rule, wherever it lies.
type Ref struct {
	// URL is the address of the file, with the options of its deck.
	URL string
	// DeckURL opens the deck, Key is the file in it.
	DeckURL string
	Key     string

	// These are empty for a file that lies outside the layout of a deck.
	Location   Location
	Generation Generation
	Root       string
}

// InDeck tells whether the file lies in the layout of a deck.
func (r Ref) InDeck() bool { return r.Root != "" }

// RunID returns <trace id>-<root span id>, or nothing for a file outside a deck.
func (r Ref) RunID() string {
	if !r.InDeck() {
		return ""
	}
	return r.Location.TraceID + "-" + r.Root
}

// Sibling returns the ref of another file of the same run.
func (r Ref) Sibling(name string) Ref {
	dir := r.Key[:strings.LastIndexByte(r.Key, '/')+1]
	r.Key = dir + name
	if u, err := url.Parse(r.DeckURL); err == nil { // it was made by displayURL
		r.URL = joinURL(u, r.Key)
	}
	return r
}

// ParseRef reads the URL or local path of a tape.json, or of another file of a
// run. A file outside the layout of a deck is a ref too.
func ParseRef(raw string) (Ref, error) {
	u, err := parseURL(raw)
	if err != nil {
		return Ref{}, err
	}
	path := unpackedName(strings.TrimLeft(u.Path, "/"))
	segs := strings.Split(path, "/")
	name := segs[len(segs)-1]
	if name == "" || (u.Host == "" && u.Scheme != "file") {
		return Ref{}, BadURL(u.Scheme, "not the address of a file")
	}
	base, ref := segs[:len(segs)-1], Ref{Key: name}
	// Area, replay_run_id, tenant, digits, trace, generation and root, file: seven
	// segments for a replay, else six; one more in the first layout.
	for _, n := range []int{8, 7, 6} {
		if len(segs) < n {
			continue
		}
		if in, ok := parseFileKey(strings.Join(segs[len(segs)-n:], "/")); ok {
			base, ref = segs[:len(segs)-n], in
			break
		}
	}
	deckURL := *u
	deckURL.Path = strings.Join(base, "/")
	if deckURL.Path != "" {
		deckURL.Path = "/" + deckURL.Path
	}
	ref.DeckURL = displayURL(&deckURL, true)
	ref.URL = joinURL(&deckURL, ref.Key)
	return ref, nil
}

// parseFileKey reads the key of a file of a run.
func parseFileKey(key string) (Ref, bool) {
	location, rest, err := ParseLocation(key)
	if err != nil {
		return Ref{}, false
	}
	for _, layout := range []Layout{LayoutFiles, LayoutFiles1} {
		if _, gen, root, _ := parseRest(layout, rest); root != "" {
			return Ref{Key: key, Location: location, Generation: gen, Root: root}, true
		}
	}
	return Ref{}, false
}

// ReadRef opens the store of a ref, reads the file and closes the store.
func ReadRef(ctx context.Context, r Ref) (body []byte, err error) {
	store, err := OpenFiles(ctx, r.DeckURL)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return store.Get(ctx, r.Key)
}

// Ref returns the ref of a file of a run of this deck.
func (d *Deck) Ref(location Location, gen Generation, root, name string) Ref {
	layout := d.Layout()
	if layout == LayoutReels {
		layout = LayoutFiles1 // as keys has it
	}
	key := location.fileKey(layout, gen, root, name)
	return Ref{URL: joinURL(d.url, key), DeckURL: d.URL(), Key: key, Location: location, Generation: gen, Root: root}
}

func joinURL(u *url.URL, key string) string {
	c := *u
	c.Path = strings.TrimRight(u.Path, "/") + "/" + key
	return displayURL(&c, true)
}

// minIDPrefix is the shortest beginning of a trace id that Find accepts: two
// digits are in the layout, and eight are what people copy.
const minIDPrefix = 8

// Find returns the tapes of the newest complete generations. id is a trace id, a run id (<trace id>-<root
// span id>) or a short form of one: the first eight or more digits of the trace id, with or without the first
// digits of the root span id behind a dash. Before it can stand the tenant and a slash, and before that the
// area, as Ref.Qualified has them: where several have one id, only that tells them apart. All areas are
// searched, in the order of Areas, of one tenant or, if that is empty, of all. An id that begins several
// traces is an *AmbiguousError; an id without a complete tape is ErrNotFound, and what is no id ErrBadKey.
func (d *Deck) Find(ctx context.Context, id, tenant string) ([]Ref, error) {
	of, plain := qualifier(strings.TrimSpace(id))
	trace, root, isRun := strings.Cut(strings.ToLower(plain), "-")
	if !isHex(trace) || len(trace) < minIDPrefix || len(trace) > 32 || (isRun && (root == "" || len(root) > 16 || !isHex(root))) {
		return nil, &StoreError{Op: "find", Scheme: d.url.Scheme, Permanent: true, Err: ErrBadKey,
			Reason: fmt.Sprintf("%q is not a trace id, a run id or at least %d hex digits of a trace id", shorten(id), minIDPrefix)}
	}
	var locations []Location
	var traces []string
	for _, area := range Areas() {
		for p, err := range d.locationsBelow(ctx, area, trace, false) {
			if err != nil {
				return nil, err
			}
			if !p.Of(tenant) || !p.in(of) {
				continue
			}
			locations = append(locations, p)
			if !slices.Contains(traces, p.TraceID) {
				traces = append(traces, p.TraceID)
			}
			const enough = 5
			if len(traces) == enough {
				return nil, d.ambiguous(id, traces, locations)
			}
		}
	}
	if len(traces) > 1 {
		return nil, d.ambiguous(id, traces, locations)
	}
	var refs []Ref
	for _, p := range locations {
		gen, ok, err := d.Current(ctx, p)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		for _, run := range gen.Runs {
			if !isRun || strings.HasPrefix(run.Root, root) {
				refs = append(refs, d.Ref(p, gen.Generation, run.Root, TapeFile))
			}
		}
	}
	if len(refs) == 0 {
		return nil, d.notFound(ctx, id, locations)
	}
	return refs, nil
}

// notFound is the error about an id of which no location has a tape.
func (d *Deck) notFound(ctx context.Context, id string, locations []Location) error {
	e := &StoreError{Op: "find", Scheme: d.url.Scheme, Permanent: true, Reason: fmt.Sprintf("no tape for %q", shorten(id)), Err: ErrNotFound}
	if len(locations) == 0 {
		return e
	}
	if l, ok := d.store.(Locator); ok {
		dropped, err := l.Dropped(ctx, locations[0])
		if err != nil {
			return err
		}
		if dropped {
			e.Reason += "; the keep policy of the collector that wrote the run did not take it, so its row is all there is (tapedeck ls shows it)"
			e.Err = ErrDropped
			return e
		}
	}
	e.Reason += "; its evidence is there, a complete tape is not"
	return e
}

// qualifier cuts an id that is qualified: acme/4b1d…, runs/acme/4b1d….
func qualifier(id string) (of, plain string) {
	if i := strings.LastIndexByte(id, '/'); i >= 0 {
		return id[:i], id[i+1:]
	}
	return "", id
}

// in tells whether a location lies in a tenant, with or without the area before it; "" stands for everything.
func (p Location) in(of string) bool {
	if of == "" {
		return true
	}
	before, tenant := qualifier(of)
	folder := strings.TrimSuffix(p.Prefix(), "/"+p.TenantKey()+"/"+p.TraceID[:2]+"/"+p.TraceID)
	return p.Of(tenant) && (before == "" || strings.HasSuffix("/"+folder, "/"+before))
}

// Qualified is the id of a run with its area and tenant, which tells it from runs of other tenants with the
// same id. Find knows it.
func (r Ref) Qualified() string {
	return strings.TrimSuffix(r.Location.Prefix(), "/"+r.Location.TraceID[:2]+"/"+r.Location.TraceID) + "/" + r.RunID()
}

// AmbiguousError is about an id that begins several trace ids. It is
// ErrAmbiguous.
type AmbiguousError struct {
	Locations []Location // of the traces, as far as they were looked for
}

func (*AmbiguousError) Error() string { return ErrAmbiguous.Error() }
func (*AmbiguousError) Unwrap() error { return ErrAmbiguous }

// noRoot makes the id of a trace one of a run, to shorten it.
const noRoot = "-0000000000000000"

func (d *Deck) ambiguous(id string, traces []string, locations []Location) error {
	slices.Sort(traces)
	var ids ShortIDs
	for i := range traces {
		ids.Add(traces[i] + noRoot)
	}
	for i := range traces {
		traces[i], _, _ = strings.Cut(ids.Of(traces[i]+noRoot), "-")
	}
	return &StoreError{Op: "find", Scheme: d.url.Scheme, Permanent: true, Err: &AmbiguousError{locations},
		Reason: fmt.Sprintf("%q begins several trace ids: %s", shorten(id), strings.Join(traces, ", "))}
}
