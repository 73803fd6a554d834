// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
)

// Deck is an open deck. It is safe for concurrent use.
type Deck struct {
	store Store
	url   *url.URL // without user information
	want  Layout   // of a deck without a marker

	packing packing // of the files of runs

	layout atomic.Pointer[Layout] // what the marker says; nil as long as it has not been seen
	marked atomic.Bool            // the marker is there and the store keeps create-only writes
}

// Open opens the deck that a URL or a local path names and checks that its
// layout is one this program knows. A folder or bucket without objects is an
// empty deck. Open writes nothing.
func Open(ctx context.Context, rawURL string) (*Deck, error) {
	store, err := OpenStore(ctx, rawURL)
	if err != nil {
		return nil, err
	}
	d, err := New(ctx, store, rawURL)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return d, nil
}

// New is Open on a store that the caller has opened, or wrapped, itself. The
// deck closes it.
func New(ctx context.Context, store Store, rawURL string) (*Deck, error) {
	return newDeck(ctx, store, rawURL, "")
}

// newDeck opens a deck that should have a layout, or any if it is empty.
func newDeck(ctx context.Context, store Store, rawURL string, want Layout) (*Deck, error) {
	u, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	d := &Deck{store: store, url: u, want: cmp.Or(want, LayoutFiles)}
	have, err := d.readMarker(ctx)
	if err != nil {
		return nil, err
	}
	if want == "" && have != "" {
		d.want = have
	}
	if err := d.adopt(have); err != nil {
		return nil, err
	}
	return d, d.show(ctx)
}

// Compress says whether the deck stores the files of runs compressed from now on.
// As long as nobody has said it, they are stored as those are that were met in the
// deck: compressed once one that is compressed has been listed or read. Nobody else
// may be using the deck yet. Readers take both forms, whatever is set here.
func (d *Deck) Compress(on bool) {
	if d.packing = packPlain; on {
		d.packing = packZstd
	}
}

// adopt takes the layout that a marker names, if there is one. A deck of files may be of another version of that layout than a new one.
func (d *Deck) adopt(have Layout) error {
	if have == "" {
		return nil
	}
	if have.name() != d.want.name() {
		return d.layoutError("it is a deck of " + have.name() + ", not of " + d.want.name())
	}
	d.layout.Store(&have)
	return nil
}

// keys returns the layout that the keys of this deck follow. A deck of files without a marker has no layout yet: an empty one gets the newest with its
// first write. One that has lost its marker is of the first layout, because nothing tells otherwise. Where traces lie in something else than files, the
// keys of what is shown are those of the first layout.
func (d *Deck) keys(ctx context.Context) (Layout, error) {
	if d.want == LayoutReels {
		return LayoutFiles1, nil
	}
	if d.layout.Load() != nil {
		return d.Layout(), nil
	}
	seen := func() (bool, error) {
		have, err := d.readMarker(ctx)
		if err == nil {
			err = d.adopt(have)
		}
		return have != "", err
	}
	if there, err := seen(); err != nil || there {
		return d.Layout(), err
	}
	for folder, err := range d.store.ListFolders(ctx, "") {
		if err != nil {
			return "", err
		}
		if area := strings.TrimSuffix(folder, "/"); area != TombstoneArea && !slices.Contains(Areas(), Area(area)) {
			continue
		}
		// Its first writer puts the marker before anything else; perhaps it has just done that.
		if there, err := seen(); err != nil || there {
			return d.Layout(), err
		}
		return LayoutFiles1, d.adopt(LayoutFiles1)
	}
	return LayoutFiles, nil
}

// URL returns the URL the deck was opened with; opening it again gives the same
// deck. Its options hold no secrets, but logs should show String.
func (d *Deck) URL() string { return displayURL(d.url, true) }

// String returns the URL without options, for logs and messages.
func (d *Deck) String() string { return displayURL(d.url, false) }

// Store returns the store below the deck.
func (d *Deck) Store() Store { return d.store }

// Close closes the store.
func (d *Deck) Close() error { return d.store.Close() }

// readMarker returns the layout that the marker of the deck names, or none if it has no marker. It fails for a layout that
// is not known.
func (d *Deck) readMarker(ctx context.Context) (Layout, error) {
	body, err := d.store.Get(ctx, markerKey)
	if errors.Is(err, ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	var marker struct {
		Kind   string `json:"kind"`
		Layout string `json:"layout"`
	}
	if json.Unmarshal(body, &marker) != nil || marker.Kind != "tape-deck" {
		return "", d.layoutError("it is not the marker of a tape deck")
	}
	if l := Layout(marker.Layout); l == LayoutFiles || l == LayoutFiles1 || l == LayoutReels {
		return l, nil
	}
	return "", d.layoutError("layout " + shorten(marker.Layout) + " is not known to this version, which knows 1, 2 and reels-1")
}

func (d *Deck) layoutError(reason string) error {
	return &StoreError{Op: "open", Scheme: d.url.Scheme, Key: markerKey, Reason: reason, Permanent: true, Err: ErrLayout}
}

// mark is called before the first write of a process. It makes the marker, and
// proves on it that the service honours create-only writes: one that ignores
// the condition would let writers replace each other's tapes unnoticed.
//
// Writers that begin at the same moment do it each for themselves: none waits
// for the store longer than its own context says.
func (d *Deck) mark(ctx context.Context) error {
	if d.marked.Load() {
		return nil
	}
	layout, err := d.keys(ctx)
	if err != nil {
		return err
	}
	if d.want == LayoutReels {
		layout = LayoutReels
	}
	for range 2 {
		created, err := d.store.PutNew(ctx, markerKey, fmt.Appendf(nil, markerBody, layout), jsonType)
		if err != nil {
			return err
		}
		if created {
			continue // now it exists: the second time must refuse
		}
		if have, err := d.readMarker(ctx); err != nil {
			return err
		} else if have == "" {
			break // refused, yet not there: deleted in this moment
		} else if err := d.adopt(have); err != nil {
			return err
		}
		d.marked.Store(true)
		return nil
	}
	if have, err := d.readMarker(ctx); err != nil || have == "" {
		return errors.Join(err, &StoreError{Op: "put", Scheme: d.url.Scheme, Key: markerKey, Reason: "the marker was taken away while it was written", Err: ErrNotFound})
	}
	return d.layoutError("this storage does not honour create-only writes (If-None-Match), which a deck needs")
}

// PutPart writes evidence of a trace: canonical is the redacted OTLP in its
// canonical form. It returns the hex SHA-256 of these bytes, which names the
// part. A part that is there already is left alone and created is false; a part
// or location that is buried is ErrBuried.
func (d *Deck) PutPart(ctx context.Context, location Location, canonical []byte) (digest string, created bool, err error) {
	s, err := d.LocationWriter(ctx, location)
	if err != nil {
		return "", false, err
	}
	return s.PutPart(ctx, canonical)
}

// Parts returns the digests of the parts of a trace, sorted, without what is
// buried.
func (d *Deck) Parts(ctx context.Context, location Location) ([]string, error) {
	state, err := d.visible(ctx, location, partsFolder+"/")
	return state.Parts, err
}

// ReadPart returns the evidence that PutPart wrote. It verifies the digest: a
// damaged part is ErrCorrupt.
func (d *Deck) ReadPart(ctx context.Context, location Location, digest string) ([]byte, error) {
	if err := location.Validate(); err != nil {
		return nil, err
	}
	if !isPartDigest(digest) {
		return nil, &StoreError{Op: "get", Scheme: d.url.Scheme, Reason: "not the digest of a part", Permanent: true, Err: ErrBadKey}
	}
	layout, err := d.keys(ctx)
	if err != nil {
		return nil, err
	}
	key := location.partKey(layout, digest)
	stored, err := d.store.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	canonical, err := decompress(stored)
	if err != nil {
		return nil, d.corrupt(key, "it does not decompress within the size limit")
	}
	if sum := sha256.Sum256(canonical); hex.EncodeToString(sum[:]) != digest {
		return nil, d.corrupt(key, "its content does not have the digest of its name")
	}
	return canonical, nil
}

func (d *Deck) corrupt(key, reason string) error {
	return &StoreError{Op: "get", Scheme: d.url.Scheme, Key: key, Reason: reason, Permanent: true, Err: ErrCorrupt}
}

func isPartDigest(s string) bool { return len(s) == 64 && isHex(s) }

// Locations walks the locations of the given areas, or of all. The order is by area
// as given, then by key. A location is there as long as anything lies in it and it
// is not buried.
func (d *Deck) Locations(ctx context.Context, areas ...Area) iter.Seq2[Location, error] {
	if len(areas) == 0 {
		areas = Areas()
	}
	return func(yield func(Location, error) bool) {
		for _, area := range areas {
			for location, err := range d.locationsBelow(ctx, area, "", false) {
				if !yield(location, err) || err != nil {
					return
				}
			}
		}
	}
}

// Leftovers walks the locations that are buried while something lies in them still:
// whoever buried them was interrupted, or is at work.
func (d *Deck) Leftovers(ctx context.Context, areas ...Area) iter.Seq2[Location, error] {
	return func(yield func(Location, error) bool) {
		for _, area := range areas {
			for location, err := range d.locationsBelow(ctx, area, "", true) {
				if !yield(location, err) || err != nil {
					return
				}
			}
		}
	}
}

// LocationsOf returns where a trace lies, in the order of areas; with buried, also where it is buried while something lies there still.
func (d *Deck) LocationsOf(ctx context.Context, traceID string, buried bool) (found []Location, err error) {
	if len(traceID) != 32 || !isHex(traceID) {
		return nil, &StoreError{Op: "find", Scheme: d.url.Scheme, Reason: "not a trace id of 32 lower-case hex digits", Permanent: true, Err: ErrBadKey}
	}
	for _, area := range Areas() {
		for _, leftovers := range []bool{false, true} {
			if leftovers && !buried {
				continue
			}
			for location, err := range d.locationsBelow(ctx, area, traceID, leftovers) {
				if err != nil {
					return nil, err
				}
				found = append(found, location)
			}
		}
	}
	return found, nil
}

// locationsBelow walks the locations of an area whose trace id begins with
// prefix. The prefix is empty or has at least two digits. With leftovers it
// walks the buried locations, else those that are not buried.
func (d *Deck) locationsBelow(ctx context.Context, area Area, prefix string, leftovers bool) iter.Seq2[Location, error] {
	// The text that is appended to a folder to list the next level. It is empty,
	// which lists all of a level, except that the digits of the trace id narrow
	// the last two.
	levels := []string{"", "", prefix}
	if prefix != "" {
		levels[1] = prefix[:2]
	}
	if area == AreaReplays {
		levels = slices.Insert(levels, 0, "")
	}
	return func(yield func(Location, error) bool) {
		layout, err := d.keys(ctx)
		anyBuried := layout == LayoutFiles
		if err == nil && !anyBuried {
			anyBuried, err = d.anyBuried(ctx, area)
		}
		if err != nil {
			yield(Location{}, err)
			return
		}
		if leftovers && !anyBuried {
			return
		}
		if l, ok := d.store.(Locator); ok {
			d.locate(ctx, l, area, prefix, leftovers, anyBuried, yield)
			return
		}
		// walk lists one level and goes down; false ends everything.
		var walk func(folder string, levels []string) bool
		walk = func(folder string, levels []string) bool {
			if len(levels) == 0 {
				location, rest, err := ParseLocation(folder)
				if err != nil || rest != "" {
					return true // a foreign folder is no location
				}
				return yield(location, nil)
			}
			buried := map[string]bool{}
			if anyBuried && len(levels) == 1 && layout == LayoutFiles1 {
				var err error
				if buried, err = d.buriedBelow(ctx, folder+levels[0]); err != nil {
					yield(Location{}, err)
					return false
				}
			}
			for child, err := range d.store.ListFolders(ctx, folder+levels[0]) {
				if err != nil {
					yield(Location{}, err)
					return false
				}
				if len(levels) == 1 && layout == LayoutFiles {
					// In the order of keys the folder of the tombstone comes just before the one of what it buries.
					if trace, ok := strings.CutSuffix(child, buriedFolder); ok {
						clear(buried)
						buried[trace+"/"] = true
						continue
					}
				}
				if len(levels) == 1 && buried[child] != leftovers {
					continue
				}
				if !walk(child, levels[1:]) {
					return false
				}
			}
			return true
		}
		walk(string(area)+"/", levels)
	}
}

// locate is the walk of locationsBelow in a store that knows its locations.
func (d *Deck) locate(ctx context.Context, l Locator, area Area, prefix string, leftovers, anyBuried bool, yield func(Location, error) bool) {
	for location, err := range l.Locate(ctx, area, prefix) {
		if err == nil && anyBuried {
			var t Tombstones
			if t, err = d.Tombstones(ctx, location); err == nil && t.Trace() != leftovers {
				continue
			}
		}
		if !yield(location, err) || err != nil {
			return
		}
	}
}

// displayURL writes a deck URL, with or without its options.
func displayURL(u *url.URL, options bool) string {
	c := url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/")}
	if c.Path == "" && u.Scheme == "file" {
		c.Path = "/"
	}
	if options {
		c.RawQuery = u.RawQuery
	}
	return c.String()
}
