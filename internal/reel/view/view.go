// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package view shows a deck of reels as a deck of files: the parts and tapes of its traces as the objects that they would be. So whatever reads a deck reads both
// layouts, and what is written by way of the view lies beside the reels as files. Importing the package adds the layout.
package view

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/derive"
	"github.com/tapedeck/tapedeck/internal/reel"
	"github.com/tapedeck/tapedeck/internal/signature"
	"github.com/tapedeck/tapedeck/tape"
)

func init() { deck.RegisterView(deck.LayoutReels, Open) }

// View is a deck of reels as a store of files.
type View struct {
	deck.Store // that holds the reels
	catalog    *reel.Catalog

	mu     sync.Mutex
	seen   map[reel.TraceKey]*shown // traces that were looked at lately
	order  []reel.TraceKey          // of seen, the oldest first
	tombs  *reel.Tombs
	at     time.Time                  // of tombs; zero: never
	erased map[reel.TraceKey]*erasure // tenants as they stand in keys
	beside map[string]*beside
}

// beside is what lies in an area as files beside the reels, or the tombstones. Mostly that is nothing, and then no trace of it has to be looked for.
type beside struct {
	objects []deck.Object
	few     bool // all of them are known
	at      time.Time
}

// mostBeside is how many files of an area are kept in mind: those of one listing.
const mostBeside = 1000

// keepSeen is how many traces are kept.
const keepSeen = 256

// fresh is how long tombstones and traces that were read are taken for true.
const fresh = time.Second

// shown is a trace as the view shows it.
type shown struct {
	*reel.Trace
	Buried  bool // all of it
	at      time.Time
	derive  sync.Once
	derived *derive.Derived
	err     error
}

// Open returns the view of a store; name is the address of the deck. The view closes the store.
func Open(_ context.Context, store deck.Store, name string) (deck.Store, error) {
	if v, ok := store.(*View); ok {
		return v, nil
	}
	return &View{Store: store, catalog: reel.NewCatalog(store, cacheOf(name)), seen: map[reel.TraceKey]*shown{}, erased: map[reel.TraceKey]*erasure{}, beside: map[string]*beside{}}, nil
}

// CacheVariable names the folder for the indexes of decks; "off" keeps none.
const CacheVariable = "TAPEDECK_CACHE"

// cacheFolder is the folder for what is kept of a deck; none for one in memory.
func cacheFolder(name string) string {
	folder := os.Getenv(CacheVariable)
	if folder == "off" || strings.HasPrefix(name, "mem:") {
		return ""
	}
	if folder == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		folder = filepath.Join(base, "tapedeck")
	}
	return folder
}

// cacheOf is the folder for the indexes of the reels of a deck that lies elsewhere.
func cacheOf(name string) reel.Cache {
	folder := cacheFolder(name)
	if folder == "" || strings.HasPrefix(name, "file:") {
		return ""
	}
	sum := sha256.Sum256([]byte(name))
	return reel.Cache(filepath.Join(folder, "reels", hex.EncodeToString(sum[:8])))
}

// Catalog returns the reels of a deck; nil for a deck of files.
func Catalog(d *deck.Deck) *reel.Catalog {
	if v, ok := d.Store().(*View); ok {
		return v.catalog
	}
	return nil
}

// Raw returns the store that holds the objects of a deck: its own, or that below the view.
func Raw(d *deck.Deck) deck.Store {
	if v, ok := d.Store().(*View); ok {
		return v.Store
	}
	return d.Store()
}

// inReel reads a key that a reel may stand for.
func inReel(key string) (location deck.Location, rest string, ok bool) {
	location, rest, err := deck.ParseLocation(key)
	return location, rest, err == nil && location.Area != deck.AreaJoined
}

// tombstones returns the tombstones of the deck.
func (v *View) tombstones(ctx context.Context) (*reel.Tombs, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.at.IsZero() && time.Since(v.at) < fresh {
		return v.tombs, nil
	}
	at := time.Now()
	tombs, err := reel.LoadTombs(ctx, v.Store)
	if err != nil {
		return nil, err
	}
	v.tombs, v.at = tombs, at
	return tombs, nil
}

// stale makes the next reader look again.
func (v *View) stale() {
	v.catalog.Stale()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.at = time.Time{}
	clear(v.beside)
	clear(v.seen)
	v.order = nil
}

// trace returns the trace of a location, or nil if the reels have none.
func (v *View) trace(ctx context.Context, l deck.Location) (*shown, error) {
	key := reel.TraceKey{Tenant: l.TenantKey(), TraceID: l.TraceID}
	v.mu.Lock()
	t := v.seen[key]
	v.mu.Unlock()
	if t == nil || time.Since(t.at) >= fresh {
		entries, err := v.catalog.Trace(ctx, key.Tenant, l.TraceID)
		if err != nil {
			return nil, err
		}
		if t, err = v.unite(ctx, entries); err != nil {
			return nil, err
		}
		v.keep(key, t)
	}
	if len(t.Entries) == 0 || t.Location.Prefix() != l.Prefix() {
		return nil, nil
	}
	return t, nil
}

func (v *View) keep(key reel.TraceKey, t *shown) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.seen[key] == nil {
		v.order = append(v.order, key)
	}
	v.seen[key] = t
	for len(v.order) > keepSeen {
		delete(v.seen, v.order[0])
		v.order = v.order[1:]
	}
}

// unite makes one of the rows of a trace, without those that tombstones take away. Where the trace was moved by a tombstone, it lies where that says. A trace of which
// nothing is left lies where it is buried: what is buried is not shown, and can be taken away.
func (v *View) unite(ctx context.Context, entries []*reel.Entry) (*shown, error) {
	tombs, err := v.tombstones(ctx)
	if err != nil {
		return nil, err
	}
	left, err := tombs.Left(ctx, entries)
	if err != nil {
		return nil, err
	}
	buried := len(left.Rows) == 0 && left.Buried != (deck.Location{})
	if buried {
		left.Rows = entries
	}
	t := &shown{Trace: reel.Unite(left.Rows), Buried: buried, at: time.Now()}
	switch {
	case buried:
		t.Location = left.Buried
	case left.MovedTo != (deck.Location{}) && len(t.Entries) > 0 && t.Location.Area != deck.AreaReplays:
		t.Location = left.MovedTo
	}
	return t, nil
}

// file is an object that the view shows.
type file struct {
	deck.Object
	read func(ctx context.Context) ([]byte, error)
}

// files returns the objects of a trace, in the order of keys. A trace whose reels a compaction takes away meanwhile is looked at again.
func (v *View) files(ctx context.Context, t *shown) (files []file, err error) {
	const attempts = 5
	for i := 1; ; i++ {
		files, err = v.filesOnce(ctx, t)
		if err == nil || i == attempts || !errors.Is(err, deck.ErrNotFound) {
			return files, err
		}
		v.stale()
		at := t.Location
		if t, err = v.trace(ctx, at); err != nil || t == nil {
			return nil, err
		}
	}
}

func (v *View) filesOnce(ctx context.Context, t *shown) (files []file, err error) {
	base := t.Location.Prefix() + "/"
	for _, part := range t.Parts {
		size, read := t.Evidence(part)
		files = append(files, file{deck.Object{Key: base + "parts/" + part + deck.PartSuffix, Size: size}, func(ctx context.Context) ([]byte, error) {
			body, err := read(ctx)
			if err != nil {
				return nil, err
			}
			return deck.Pack(body), nil
		}})
	}
	add := func(g deck.Generation, root, name string, size int64, read func(ctx context.Context) ([]byte, error)) {
		files = append(files, file{deck.Object{Key: base + g.String() + "/" + root + "/" + name, Size: size}, read})
	}
	switch {
	case t.Current != nil && (t.Current.WithTapes() || t.ofThisProgram()):
		for _, e := range t.Current.Runs {
			read := e.Tape
			if e.TapeBytes == 0 { // it is not stored. What it is called is known, so a listing derives nothing
				read = func(ctx context.Context) ([]byte, error) { return t.derivedTape(ctx, e.RootSpanID) }
			}
			add(t.Current.Generation, e.RootSpanID, deck.TapeFile, e.TapeBytes, read)
			for _, name := range e.Files {
				add(t.Current.Generation, e.RootSpanID, name, 0, func(ctx context.Context) ([]byte, error) { return sibling(ctx, e, read, name) })
			}
			if s, err := signature.Parse(e.Signature); err == nil {
				add(t.Current.Generation, e.RootSpanID, signature.FileName(s.KeyID), 0, func(ctx context.Context) ([]byte, error) { return signatureFile(ctx, e, read, s) })
			}
		}
	default:
		derived, err := t.pending(ctx)
		if err != nil {
			return nil, err
		}
		for _, run := range derived.Runs {
			for _, f := range run.Files {
				add(derived.Generation, run.Root, f.Name, int64(len(f.Body)), func(context.Context) ([]byte, error) { return slices.Clone(f.Body), nil })
			}
		}
	}
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.Key, b.Key) })
	return files, nil
}

// ofThisProgram tells whether this program makes the very tapes that the rows speak of.
func (t *shown) ofThisProgram() bool {
	o := derive.Options{Producer: derive.Producer(), Formats: t.Formats()}
	return derive.NewWriter(nil, o).Makes(t.Current.Generation, t.Parts)
}

// derivedTape makes the tape of a run of which none is stored.
func (t *shown) derivedTape(ctx context.Context, root string) ([]byte, error) {
	derived, err := t.pending(ctx)
	if err != nil {
		return nil, err
	}
	for _, run := range derived.Runs {
		for _, f := range run.Files {
			if run.Root == root && f.Name == deck.TapeFile {
				return slices.Clone(f.Body), nil
			}
		}
	}
	return nil, fmt.Errorf("%w: the evidence of trace %s gives no run %s", deck.ErrCorrupt, t.Location.TraceID, root)
}

// pending derives the tapes of a trace of which no row has those of all its evidence.
func (t *shown) pending(ctx context.Context) (*derive.Derived, error) {
	t.derive.Do(func() {
		t.derived, t.err = Derive(ctx, t.Trace, derive.Options{})
		if errors.Is(t.err, derive.ErrNoRun) || errors.Is(t.err, derive.ErrUnderivable) {
			t.derived, t.err = &derive.Derived{}, nil
		}
	})
	return t.derived, t.err
}

// Derive makes the tapes of all evidence of a trace, in the formats that its newest row was made with.
func Derive(ctx context.Context, t *reel.Trace, o derive.Options) (*derive.Derived, error) {
	d, _, err := deriveBy(ctx, t, o)
	return d, err
}

func deriveBy(ctx context.Context, t *reel.Trace, o derive.Options) (*derive.Derived, *derive.Writer, error) {
	o.Producer = derive.Producer()
	o.Formats = t.Formats()
	w := derive.NewWriter(nil, o)
	d, err := w.Derive(t.Location.Tenant, t.Location.TraceID, t.Parts, func(digest string) ([]byte, error) {
		_, read := t.Evidence(digest)
		body, err := read(ctx)
		if err == nil && deck.PartDigest(body) != digest {
			err = fmt.Errorf("%w: the evidence does not have the digest of its row", deck.ErrCorrupt)
		}
		return body, err
	})
	return d, w, err
}

// Rows makes the rows that Derive stands for, without evidence: those of its tapes, or one that says that the evidence gives none.
func Rows(ctx context.Context, t *reel.Trace, o derive.Options) ([]reel.Row, error) {
	d, w, err := deriveBy(ctx, t, o)
	if errors.Is(err, derive.ErrNoRun) || errors.Is(err, derive.ErrUnderivable) {
		if d == nil {
			d = &derive.Derived{Generation: deck.Generation{Revision: derive.Revision}}
		}
		d.Tapes = nil
	} else if err != nil {
		return nil, err
	}
	common := reel.Row{Meta: reel.Meta{Tenant: t.Location.Tenant, TraceID: t.Location.TraceID, Area: string(t.Location.Area), ReplayRunID: t.Location.ReplayRunID, Parts: t.Parts}}
	for _, e := range t.Entries {
		if common.ReplayOf == "" || e.ReplayOf != "" && e.ReplayOf < common.ReplayOf {
			common.ReplayOf = e.ReplayOf
		}
	}
	return w.Rows(common, d), nil
}

// sibling makes a file that lies beside a tape.
func sibling(ctx context.Context, e *reel.Entry, read func(context.Context) ([]byte, error), name string) ([]byte, error) {
	body, err := read(ctx)
	if err != nil {
		return nil, err
	}
	t, err := tape.Read(body)
	if err != nil {
		return nil, err
	}
	formats := slices.Clone(e.Formats)
	if !slices.Contains(formats, derive.FormatOracle) && slices.Contains(e.Files, deck.OracleFile) {
		formats = append(formats, derive.FormatOracle)
	}
	files, _, err := derive.Files(nil, t, formats)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if f.Name == name {
			return f.Body, nil
		}
	}
	return nil, fmt.Errorf("%w: this program makes no %s of the tape", deck.ErrCorrupt, name)
}

// signatureFile makes the file of a signature, which vouches for what the row says: its tape, and the parts that it was made of.
func signatureFile(ctx context.Context, e *reel.Entry, read func(context.Context) ([]byte, error), s signature.Signature) ([]byte, error) {
	body, err := read(ctx)
	if err != nil {
		return nil, err
	}
	t, err := tape.Read(body)
	if err != nil {
		return nil, err
	}
	return s.File(derive.Statement(t, e.Parts)), nil
}

// find returns the object that a reel stands for at a key.
func (v *View) find(ctx context.Context, key string) (file, bool, error) {
	l, rest, ok := inReel(key)
	if !ok || rest == "" {
		return file{}, false, nil
	}
	t, err := v.trace(ctx, l)
	if err != nil || t == nil {
		return file{}, false, err
	}
	files, err := v.files(ctx, t)
	if err != nil {
		return file{}, false, err
	}
	i := slices.IndexFunc(files, func(f file) bool { return f.Key == key })
	if i < 0 {
		return file{}, false, nil
	}
	return files[i], true, nil
}

// Get is that of deck.Store.
func (v *View) Get(ctx context.Context, key string) ([]byte, error) {
	if err := deck.CheckGet(ctx, "get", "reel", key); err != nil {
		return nil, err
	}
	const attempts = 3 // a compaction may take a reel away that was just found
	for i := 1; ; i++ {
		f, ok, err := v.find(ctx, key)
		if err == nil && !ok {
			return v.Store.Get(ctx, key)
		}
		var body []byte
		if err == nil {
			body, err = f.read(ctx)
		}
		if err == nil || i == attempts || !errors.Is(err, deck.ErrNotFound) {
			return body, err
		}
		v.stale()
	}
}

// GetRange is that of deck.RangeReader.
func (v *View) GetRange(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	if strings.HasPrefix(key, reel.Area+"/") {
		return deck.GetRange(ctx, v.Store, key, offset, length)
	}
	return deck.GetRange(ctx, struct{ deck.Store }{v}, key, offset, length)
}

// PutNew is that of deck.Store. What a reel stands for is there already.
func (v *View) PutNew(ctx context.Context, key string, body []byte, contentType string) (bool, error) {
	if _, there, err := v.find(ctx, key); there || err != nil {
		return false, err
	}
	created, err := v.Store.PutNew(ctx, key, body, contentType)
	if v.changed(key); err == nil {
		v.buried(key)
	}
	return created, err
}

// changed makes readers look again at what a write has changed: whoever writes before it looks sees what others have written before.
func (v *View) changed(key string) {
	area, _, _ := strings.Cut(key, "/")
	if area == reel.Area || area == deck.TombstoneArea {
		v.stale()
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	clear(v.beside)
}

// listBeside lists what lies beside the reels as files, tombstones included.
func (v *View) listBeside(ctx context.Context, prefix string) iter.Seq2[deck.Object, error] {
	below, tombstone := strings.CutPrefix(prefix, deck.TombstoneArea+"/")
	l, _, ok := inReel(below)
	if !ok {
		return v.Store.List(ctx, prefix)
	}
	folder := string(l.Area)
	if tombstone {
		folder = deck.TombstoneArea
	}
	return func(yield func(deck.Object, error) bool) {
		b, err := v.besideOf(ctx, folder)
		if err != nil {
			yield(deck.Object{}, err)
			return
		}
		if !b.few {
			v.Store.List(ctx, prefix)(yield)
			return
		}
		i, _ := slices.BinarySearchFunc(b.objects, prefix, func(o deck.Object, prefix string) int { return strings.Compare(o.Key, prefix) })
		for _, o := range b.objects[i:] {
			if !strings.HasPrefix(o.Key, prefix) || !yield(o, nil) {
				return
			}
		}
	}
}

// besideOf returns what lies in an area as files. It is taken for true for as long as a listing of the reels, or until this program writes something.
func (v *View) besideOf(ctx context.Context, area string) (*beside, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if b := v.beside[area]; b != nil && time.Since(b.at) < fresh {
		return b, nil
	}
	b := &beside{few: true, at: time.Now()}
	for o, err := range v.Store.List(ctx, area+"/") {
		if err != nil {
			return nil, err
		}
		if len(b.objects) == mostBeside {
			b.few = false
			b.objects = nil
			break
		}
		b.objects = append(b.objects, o)
	}
	v.beside[area] = b
	return b, nil
}

// List is that of deck.Store. It shows what the reels stand for in their place.
func (v *View) List(ctx context.Context, prefix string) iter.Seq2[deck.Object, error] {
	files := func(yield func(deck.Object, error) bool) {
		for o, err := range v.listBeside(ctx, prefix) {
			if !strings.HasPrefix(o.Key, reel.Area+"/") && !yield(o, err) {
				return
			}
		}
	}
	return merge(files, v.listReels(ctx, prefix), func(o deck.Object) string { return o.Key })
}

func (v *View) listReels(ctx context.Context, prefix string) iter.Seq2[deck.Object, error] {
	return func(yield func(deck.Object, error) bool) {
		// show yields the objects of a trace; false ends it.
		show := func(t *shown) bool {
			files, err := v.files(ctx, t)
			if err != nil {
				yield(deck.Object{}, err)
				return false
			}
			for _, f := range files {
				if strings.HasPrefix(f.Key, prefix) && !yield(f.Object, nil) {
					return false
				}
			}
			return true
		}
		if l, _, ok := inReel(prefix); ok {
			t, err := v.trace(ctx, l)
			if err != nil {
				yield(deck.Object{}, err)
			} else if t != nil {
				show(t)
			}
			return
		}
		for _, area := range []deck.Area{deck.AreaReplays, deck.AreaRuns, deck.AreaUndecided} {
			if folder := string(area) + "/"; !strings.HasPrefix(folder, prefix) && !strings.HasPrefix(prefix, folder) {
				continue
			}
			for t, err := range v.traces(ctx, area) {
				if err != nil {
					yield(deck.Object{}, err)
					return
				}
				if !show(t) {
					return
				}
			}
		}
	}
}

// traces walks the traces of an area, in the order of keys.
func (v *View) traces(ctx context.Context, area deck.Area) iter.Seq2[*shown, error] {
	return func(yield func(*shown, error) bool) {
		var sorted []*shown // of replays: their order is not that of the walk
		for entries, err := range v.catalog.Walk(ctx, nil) {
			var t *shown
			if err == nil {
				t, err = v.unite(ctx, entries)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if t.Location.Area != area {
				continue
			}
			if area == deck.AreaReplays {
				sorted = append(sorted, t)
			} else if !yield(t, nil) {
				return
			}
		}
		slices.SortFunc(sorted, func(a, b *shown) int { return strings.Compare(a.Location.Prefix(), b.Location.Prefix()) })
		for _, t := range sorted {
			if !yield(t, nil) {
				return
			}
		}
	}
}

// ListFolders is that of deck.Store.
func (v *View) ListFolders(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		last := ""
		for o, err := range v.List(ctx, prefix) {
			if err != nil {
				yield("", err)
				return
			}
			folder, _, inside := strings.Cut(o.Key[len(prefix):], "/")
			if folder = prefix + folder + "/"; inside && folder != last {
				if last = folder; !yield(folder, nil) {
					return
				}
			}
		}
	}
}

// Locate is that of deck.Locator.
func (v *View) Locate(ctx context.Context, area deck.Area, prefix string) iter.Seq2[deck.Location, error] {
	return merge(v.locateFiles(ctx, area, prefix), v.locateReels(ctx, area, prefix), func(l deck.Location) string { return l.Prefix() + "/" })
}

func (v *View) locateReels(ctx context.Context, area deck.Area, prefix string) iter.Seq2[deck.Location, error] {
	return func(yield func(deck.Location, error) bool) {
		if area == deck.AreaJoined {
			return
		}
		if prefix == "" {
			for t, err := range v.traces(ctx, area) {
				if err != nil {
					yield(deck.Location{}, err)
					return
				}
				v.keep(reel.TraceKey{Tenant: deck.SafeName(t.Entries[0].Tenant), TraceID: t.Location.TraceID}, t)
				if !yield(t.Location, nil) {
					return
				}
			}
			return
		}
		found, err := v.catalog.Find(ctx, "trace_id", prefix, len(prefix) < 32)
		if err != nil {
			yield(deck.Location{}, err)
			return
		}
		locations, err := v.locations(ctx, found)
		if err != nil {
			yield(deck.Location{}, err)
			return
		}
		for _, l := range locations {
			if l.Area == area && !yield(l, nil) {
				return
			}
		}
	}
}

// locations returns where traces lie, in the order of keys.
func (v *View) locations(ctx context.Context, keys []reel.TraceKey) (locations []deck.Location, err error) {
	for _, k := range keys {
		entries, err := v.catalog.Trace(ctx, deck.SafeName(k.Tenant), k.TraceID)
		if err != nil {
			return nil, err
		}
		t, err := v.unite(ctx, entries)
		if err != nil {
			return nil, err
		}
		if len(t.Entries) > 0 {
			locations = append(locations, t.Location)
		}
	}
	slices.SortFunc(locations, func(a, b deck.Location) int { return strings.Compare(a.Prefix()+"/", b.Prefix()+"/") })
	return slices.Compact(locations), nil
}

// locateFiles walks the locations of what lies beside the reels as files.
func (v *View) locateFiles(ctx context.Context, area deck.Area, prefix string) iter.Seq2[deck.Location, error] {
	return func(yield func(deck.Location, error) bool) {
		last := ""
		for o, err := range v.Store.List(ctx, string(area)+"/") {
			if err != nil {
				yield(deck.Location{}, err)
				return
			}
			l, _, err := deck.ParseLocation(o.Key)
			if err != nil || l.Prefix() == last || !strings.HasPrefix(l.TraceID, prefix) {
				continue
			}
			if last = l.Prefix(); !yield(l, nil) {
				return
			}
		}
	}
}

// Named is that of deck.Locator. Of what lies beside the reels as files nothing is known.
func (v *View) Named(ctx context.Context, id string) ([]deck.Location, error) {
	var found []reel.TraceKey
	for _, column := range []string{"invocation_id", "task_id", "correlation_id", "conversation_id"} {
		keys, err := v.catalog.Find(ctx, column, id, false)
		if err != nil {
			return nil, err
		}
		found = append(found, keys...)
	}
	locations, err := v.locations(ctx, found)
	if err != nil {
		return nil, err
	}
	for _, area := range deck.Areas() {
		for l, err := range v.locateFiles(ctx, area, "") {
			if err != nil {
				return nil, err
			}
			if !slices.Contains(locations, l) {
				locations = append(locations, l)
			}
		}
	}
	return locations, nil
}

// merge yields what two walks in the order of keys yield, each key once.
func merge[T any](a, b iter.Seq2[T, error], key func(T) string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		nextB, stop := iter.Pull2(b)
		defer stop()
		y, errB, okB := nextB()
		// upTo yields what comes before a key; false ends it.
		upTo := func(limit string, all bool) bool {
			for okB && (errB != nil || all || key(y) < limit) {
				if !yield(y, errB) || errB != nil {
					return false
				}
				y, errB, okB = nextB()
			}
			return true
		}
		for x, err := range a {
			if err != nil {
				yield(x, err)
				return
			}
			if !upTo(key(x), false) {
				return
			}
			if okB && errB == nil && key(y) == key(x) {
				y, errB, okB = nextB()
			}
			if !yield(x, nil) {
				return
			}
		}
		upTo("", true)
	}
}

// Abandoned, ReadAbandoned and RemoveAbandoned are those of deck.Leaver.
func (v *View) Abandoned(ctx context.Context, prefix string) iter.Seq2[deck.Object, error] {
	return deck.Abandoned(ctx, v.Store, prefix)
}

// ReadAbandoned reads what Abandoned yields.
func (v *View) ReadAbandoned(ctx context.Context, key string) ([]byte, error) {
	return v.Store.(deck.Leaver).ReadAbandoned(ctx, key)
}

// RemoveAbandoned removes what Abandoned yields.
func (v *View) RemoveAbandoned(ctx context.Context, key string) error {
	return v.Store.(deck.Leaver).RemoveAbandoned(ctx, key)
}
