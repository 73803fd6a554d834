// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"time"
)

// Reason is why something was buried: a short code of a-z and _.
type Reason string

// The reasons that this project writes.
const (
	ReasonReplay     Reason = "replay"     // the trace is a replay; nothing of it lay in production
	ReasonLateTag    Reason = "late_tag"   // the trace is a replay; a part of it lay in production
	ReasonRetention  Reason = "retention"  // the trace is older than it may become
	ReasonSuperseded Reason = "superseded" // there is a newer generation
	ReasonScrub      Reason = "scrub"      // what lay here held a secret
	ReasonRequest    Reason = "request"    // somebody asked for it
	ReasonAbandoned  Reason = "abandoned"  // a writer that died left it; such a file has no tombstone
)

// Burial says why something is taken away.
type Burial struct {
	Reason Reason
	// MovedTo is where the evidence of a buried trace goes on, or nil if nowhere. Writers that know of the trace follow it.
	MovedTo *Location
	// At is the time that the tombstone tells, or zero for none. No decision depends on it.
	At time.Time
}

const (
	TombstoneArea   = "tombstones" // in layout 1 it holds the tombstones of all areas, each at its location
	tombstoneKind   = "tape-tombstone"
	tombstoneLayout = "1"
	undecidedBody   = `{"kind":"tape-flag","layout":"1","flag":"undecided"}` + "\n"
	tombstoneSuffix = ".json"
	tombstoneTrace  = "trace"
	partTombstone   = "part-"
	undecidedFlag   = "undecided"
)

// tombstoneBody is what a tombstone holds. Its name alone is what writers and readers obey; the body is for people, and tells where
// the evidence of a trace went.
type tombstoneBody struct {
	Kind      string     `json:"kind"`
	Layout    string     `json:"layout"`
	Buries    string     `json:"buries"` // trace, generation or part
	Key       string     `json:"key"`    // of the folder or object
	Reason    Reason     `json:"reason"`
	MovedTo   string     `json:"moved_to,omitempty"`
	WrittenAt *time.Time `json:"written_at,omitempty"`
}

// Tombstones are those of one location.
type Tombstones struct {
	location Location
	layout   Layout
	names    map[string]bool // without suffix
}

// add notes a key that is one of a tombstone or flag of the location.
func (t *Tombstones) add(key string) bool {
	name, ok := strings.CutSuffix(path.Base(key), tombstoneSuffix)
	if !ok || key != t.location.tombstoneKey(t.layout, name) {
		return false
	}
	if t.names == nil {
		t.names = map[string]bool{}
	}
	t.names[name] = true
	return true
}

// Any tells whether anything is noted at the location that a writer has to look at.
func (t Tombstones) Any() bool { return len(t.names) > 0 }

// Undecided tells whether evidence of the trace may lie under undecided/. Layout 1 does not say, so it may always.
func (t Tombstones) Undecided() bool { return t.layout == LayoutFiles1 || t.names[undecidedFlag] }

// Trace tells whether the whole location is buried.
func (t Tombstones) Trace() bool { return t.names[tombstoneTrace] }

// Generation tells whether a generation is buried, by itself or with the location.
func (t Tombstones) Generation(g Generation) bool { return t.Trace() || t.names[g.String()] }

// Part tells whether a part is buried, by itself or with the location.
func (t Tombstones) Part(digest string) bool { return t.Trace() || t.names[partTombstone+digest] }

func (t Tombstones) refuse(what string) error {
	return &StoreError{Op: "put", Scheme: "deck", Key: t.location.Prefix(), Reason: "there is a tombstone for this " + what, Permanent: true, Err: ErrBuried}
}

func (p Location) tombstoneKey(layout Layout, name string) string {
	switch {
	case layout == LayoutFiles1:
		return TombstoneArea + "/" + p.Prefix() + "/" + name + tombstoneSuffix
	case name == tombstoneTrace:
		return p.Prefix() + buriedFolder + name + tombstoneSuffix
	default:
		return p.Prefix() + flagsFolder + name + tombstoneSuffix
	}
}

// IsNote tells whether a key is that of a tombstone, or of another note about a trace: it holds no evidence and no tapes.
func IsNote(key string) bool {
	return WithoutNote(key) != key
}

// WithoutNote returns the key of the location that a note lies beside, or in layout 1 at; other keys it returns as they are.
func WithoutNote(key string) string {
	for _, folder := range []string{buriedFolder, flagsFolder} {
		// A tenant may have a name that ends like the folder, but not behind a trace id.
		if at := strings.LastIndex(key, folder); at > 0 {
			if _, rest, err := ParseLocation(key[:at]); err == nil && rest == "" {
				return key[:at]
			}
		}
	}
	return strings.TrimPrefix(key, TombstoneArea+"/")
}

// FolderStore is a Store in which a listing that ends within the name of a folder reads all names beside it, while a listing of a folder
// that is not there costs nothing: a file system.
type FolderStore interface{ ListsByFolder() bool }

// listAround lists what begins with the key of a location: what lies in it and beside it. That is one request to a bucket.
func (d *Deck) listAround(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	if !d.byFolder() {
		return d.store.List(ctx, prefix)
	}
	return d.listFolders(ctx, prefix+buriedFolder, prefix+flagsFolder, prefix+"/")
}

func (d *Deck) byFolder() bool {
	f, ok := d.store.(FolderStore)
	return ok && f.ListsByFolder()
}

func (d *Deck) listFolders(ctx context.Context, folders ...string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for _, folder := range folders {
			for o, err := range d.store.List(ctx, folder) {
				if !yield(o, err) {
					return
				}
			}
		}
	}
}

// Tombstones returns what is buried at a location, with one listing.
func (d *Deck) Tombstones(ctx context.Context, location Location) (Tombstones, error) {
	if err := location.Validate(); err != nil {
		return Tombstones{}, err
	}
	layout, err := d.keys(ctx)
	if err != nil {
		return Tombstones{}, err
	}
	t := Tombstones{location: location, layout: layout}
	listing := d.store.List(ctx, TombstoneArea+"/"+location.Prefix()+"/")
	if layout == LayoutFiles {
		if d.byFolder() {
			listing = d.listFolders(ctx, location.Prefix()+buriedFolder, location.Prefix()+flagsFolder)
		} else {
			listing = d.store.List(ctx, location.Prefix()+".")
		}
	}
	for o, err := range listing {
		if err != nil {
			return Tombstones{}, err
		}
		t.add(o.Key)
	}
	return t, nil
}

// MovedTo returns where the evidence of a buried location goes on. It follows tombstones to the first location that is not buried. It
// returns false if the location is not buried, or if its evidence goes nowhere. The reason is that of the first tombstone.
func (d *Deck) MovedTo(ctx context.Context, location Location) (to Location, why Reason, ok bool, err error) {
	if err := location.Validate(); err != nil {
		return Location{}, "", false, err
	}
	// Areas are few, and a trace is not moved twice into one; more tombstones than that go in a circle.
	const most = 8
	at := location
	for range most {
		body, err := d.readTombstone(ctx, at)
		if errors.Is(err, ErrNotFound) {
			return at, why, at != location, nil
		}
		if err != nil {
			return Location{}, "", false, err
		}
		if why == "" {
			why = body.Reason
		}
		if body.MovedTo == "" {
			return Location{}, why, false, nil
		}
		next, rest, err := ParseLocation(body.MovedTo)
		if err != nil || rest != "" || !sameTrace(location, next) {
			return Location{}, "", false, d.corrupt(at.Prefix(), "its tombstone does not tell a location of the same trace")
		}
		next.Tenant, next.tenantEscaped = location.Tenant, location.tenantEscaped
		at = next
	}
	return Location{}, "", false, d.corrupt(location.Prefix(), "the tombstones of this trace lead in a circle")
}

func (d *Deck) readTombstone(ctx context.Context, location Location) (tombstoneBody, error) {
	layout, err := d.keys(ctx)
	if err != nil {
		return tombstoneBody{}, err
	}
	key := location.tombstoneKey(layout, tombstoneTrace)
	text, err := d.store.Get(ctx, key)
	if err != nil {
		return tombstoneBody{}, err
	}
	var body tombstoneBody
	if json.Unmarshal(text, &body) != nil || body.Kind != tombstoneKind {
		return tombstoneBody{}, d.corrupt(key, "it is not a tombstone")
	}
	return body, nil
}

// PutTombstone buries a location without taking its objects away: from then on nobody writes there and nobody lists it. A tombstone that is
// there stays as it is; created tells whether it is new. [Deck.Bury] takes the objects away, for a caller that has to bring them elsewhere first.
func (d *Deck) PutTombstone(ctx context.Context, location Location, b Burial) (created bool, err error) {
	return d.putTombstone(ctx, location, tombstoneTrace, tombstoneTrace, location.Prefix(), b)
}

// Bury buries a location and takes all its objects away; removed counts them. A repeated call goes on where one was interrupted.
func (d *Deck) Bury(ctx context.Context, location Location, b Burial) (removed int, err error) {
	if _, err := d.PutTombstone(ctx, location, b); err != nil {
		return 0, err
	}
	return d.removeBelow(ctx, location.Prefix()+"/")
}

// BuryGeneration is Bury for one generation of a location.
func (d *Deck) BuryGeneration(ctx context.Context, location Location, gen Generation, b Burial) (removed int, err error) {
	if err := gen.validate(); err != nil {
		return 0, err
	}
	key := location.Prefix() + "/" + gen.String()
	if _, err := d.putTombstone(ctx, location, gen.String(), "generation", key, b); err != nil {
		return 0, err
	}
	layout, err := d.keys(ctx)
	if err != nil {
		return 0, err
	}
	return d.removeBelow(ctx, location.generationKey(layout, gen))
}

// BuryPart is Bury for one part of a location. Generations that were derived from it stay.
func (d *Deck) BuryPart(ctx context.Context, location Location, digest string, b Burial) error {
	if !isPartDigest(digest) {
		return &StoreError{Op: "bury", Scheme: d.url.Scheme, Reason: "not the digest of a part", Permanent: true, Err: ErrBadKey}
	}
	layout, err := d.keys(ctx)
	if err != nil {
		return err
	}
	key := location.partKey(layout, digest)
	if _, err := d.putTombstone(ctx, location, partTombstone+digest, "part", key, b); err != nil {
		return err
	}
	if err := d.store.Delete(ctx, key); err != nil {
		return err
	}
	if layout == LayoutFiles {
		// The key stays taken, by nothing: a writer that looks only after it has written is refused by the store. One that wrote in this
		// moment finds the tombstone when it looks, and takes the part away itself.
		if _, err := d.store.PutNew(ctx, key, compress(nil), partType); err != nil {
			return err
		}
	}
	_, err = d.Sweep(ctx, path.Dir(key)+"/")
	return err
}

// FlagUndecided notes at the location of a trace in production that evidence of it is about to lie under undecided/. A writer there finds
// the flag with the listing that it makes anyway. In layout 1 it looks under undecided/ itself, and nothing is noted.
func (d *Deck) FlagUndecided(ctx context.Context, production Location) error {
	if err := production.Validate(); err != nil {
		return err
	}
	if err := d.mark(ctx); err != nil {
		return err
	}
	layout, err := d.keys(ctx)
	if err != nil || layout == LayoutFiles1 {
		return err
	}
	_, err = d.store.PutNew(ctx, production.tombstoneKey(layout, undecidedFlag), []byte(undecidedBody), jsonType)
	return err
}

func (d *Deck) putTombstone(ctx context.Context, location Location, name, buries, key string, b Burial) (bool, error) {
	if err := location.Validate(); err != nil {
		return false, err
	}
	if !validReason(b.Reason) {
		return false, badTombstone("reason %q is not of the letters a-z and _", shorten(string(b.Reason)))
	}
	body := tombstoneBody{Kind: tombstoneKind, Layout: tombstoneLayout, Buries: buries, Key: key, Reason: b.Reason}
	if b.MovedTo != nil {
		if err := b.MovedTo.Validate(); err != nil {
			return false, err
		}
		if body.MovedTo = b.MovedTo.Prefix(); buries != tombstoneTrace || body.MovedTo == key || !sameTrace(location, *b.MovedTo) {
			return false, badTombstone("only a whole trace moves, to another location of the same tenant and trace")
		}
	}
	if !b.At.IsZero() {
		at := b.At.UTC()
		body.WrittenAt = &at
	}
	if err := d.mark(ctx); err != nil {
		return false, err
	}
	layout, err := d.keys(ctx)
	if err != nil {
		return false, err
	}
	if b.takes() {
		if err := d.Held(ctx, location); err != nil {
			if _, getErr := d.store.Get(ctx, location.tombstoneKey(layout, name)); getErr != nil {
				return false, err
			} // it was buried before it was held
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return false, fmt.Errorf("encode tombstone: %w", err)
	}
	return d.store.PutNew(ctx, location.tombstoneKey(layout, name), append(text, '\n'), jsonType)
}

func sameTrace(a, b Location) bool {
	return a.TraceID == b.TraceID && segment(a.Tenant, a.tenantEscaped) == segment(b.Tenant, b.tenantEscaped)
}

func badTombstone(format string, args ...any) error {
	return &StoreError{Op: "bury", Scheme: "deck", Reason: fmt.Sprintf(format, args...), Permanent: true, Err: ErrBadKey}
}

func validReason(r Reason) bool {
	const most = 40
	return r != "" && len(r) <= most && strings.Trim(string(r), "abcdefghijklmnopqrstuvwxyz_") == ""
}

// removeBelow deletes all objects below a folder. Tapes go first, so that the rest of a generation is not complete. Parts go last, because
// nothing can be derived without them.
func (d *Deck) removeBelow(ctx context.Context, folder string) (removed int, err error) {
	var keys []string
	for o, err := range d.store.List(ctx, folder) {
		if err != nil {
			return 0, err
		}
		keys = append(keys, o.Key)
	}
	rank := func(key string) int {
		switch {
		case strings.HasSuffix(key, "/"+TapeFile):
			return 0
		case strings.HasSuffix(key, PartSuffix):
			return 2
		}
		return 1
	}
	slices.SortStableFunc(keys, func(a, b string) int { return rank(a) - rank(b) })
	for _, key := range keys {
		if err := d.store.Delete(ctx, key); err != nil {
			return removed, err
		}
		removed++
	}
	swept, err := d.Sweep(ctx, folder)
	return removed + swept, err
}

// Remove deletes what was listed of a location. It leaves no tombstone, because the evidence lies elsewhere in the deck. Files that came
// since the listing stay.
func (d *Deck) Remove(ctx context.Context, location Location, listed LocationState) error {
	if err := location.Validate(); err != nil {
		return err
	}
	layout, err := d.keys(ctx)
	if err != nil {
		return err
	}
	var tapes, others []string
	for _, g := range listed.Generations {
		for _, r := range g.Runs {
			for _, name := range r.Files {
				key := location.fileKey(layout, g.Generation, r.Root, name)
				if name == TapeFile {
					tapes = append(tapes, key)
				} else {
					others = append(others, key)
				}
			}
		}
	}
	for _, digest := range listed.Parts {
		others = append(others, location.partKey(layout, digest))
	}
	for _, key := range append(tapes, others...) {
		if err := d.store.Delete(ctx, key); err != nil {
			return err
		}
	}
	_, err = d.Sweep(ctx, location.Prefix()+"/")
	return err
}

// Remains returns what still lies in a location, whether it is buried or not: what a move has to bring elsewhere.
func (d *Deck) Remains(ctx context.Context, location Location) (LocationState, error) {
	if err := location.Validate(); err != nil {
		return LocationState{}, err
	}
	layout, err := d.keys(ctx)
	if err != nil {
		return LocationState{}, err
	}
	return d.scan(location, layout, d.store.List(ctx, location.Prefix()+"/"), Tombstones{})
}

// buriedBelow returns which of the traces below a folder are buried. The folder ends in the level of traces, or within the name of one.
func (d *Deck) buriedBelow(ctx context.Context, folder string) (map[string]bool, error) {
	buried := map[string]bool{}
	for o, err := range d.store.List(ctx, TombstoneArea+"/"+folder) {
		if err != nil {
			return nil, err
		}
		if trace, ok := strings.CutSuffix(o.Key, "/"+tombstoneTrace+tombstoneSuffix); ok {
			buried[strings.TrimPrefix(trace, TombstoneArea+"/")+"/"] = true
		}
	}
	return buried, nil
}

// anyBuried tells whether an area has tombstones: mostly it has none, and then no folder of it has to be looked at.
func (d *Deck) anyBuried(ctx context.Context, area Area) (bool, error) {
	for _, err := range d.store.List(ctx, TombstoneArea+"/"+string(area)+"/") {
		return err == nil, err
	}
	return false, nil
}
