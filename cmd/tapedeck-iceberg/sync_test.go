// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	gosync "sync"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/compaction"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/reel/view"
	"github.com/tapedeck/tapedeck/internal/deck/retention"
	"github.com/tapedeck/tapedeck/internal/testbed/manyruns"
)

const runs, perReel = 120, 20

// fixture is a deck of reels in a folder, and a SQL catalog beside it.
type fixture struct {
	folder, catalog string
	deck            *deck.Deck
	sync            *sync
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{folder: filepath.Join(t.TempDir(), "deck"), catalog: "sqlite:///" + filepath.Join(t.TempDir(), "catalog.db")}
	f.deck = f.open(t)
	if _, err := manyruns.Write(t.Context(), f.deck, manyruns.Options{Runs: runs, PerReel: perReel, Kinds: 4, Days: 2}); err != nil {
		t.Fatal(err)
	}
	f.sync = f.syncOf(t, f.deck)
	f.sync.register()
	return f
}

func (f *fixture) open(t *testing.T) *deck.Deck {
	t.Helper()
	d, err := deck.OpenLayout(t.Context(), f.folder, deck.LayoutReels)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (f *fixture) syncOf(t *testing.T, d *deck.Deck) *sync {
	t.Helper()
	c, err := catalogFlags{uri: f.catalog, name: "tapedeck"}.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.(catalog.Closer).Close() })
	base, err := baseURI(f.folder, "")
	if err != nil {
		t.Fatal(err)
	}
	return &sync{catalog: c, reels: view.Catalog(d), store: view.Raw(d), base: base, table: table.Identifier{"tapedeck", "reels"}, keep: time.Hour}
}

func (f *fixture) run(t *testing.T) report {
	t.Helper()
	r, err := f.sync.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// traces scans the current snapshot by the library, and returns the trace ids of its rows, sorted.
func (f *fixture) traces(t *testing.T, filter iceberg.BooleanExpression) (ids []string, err error) {
	t.Helper()
	current, err := f.sync.catalog.LoadTable(t.Context(), f.sync.table)
	if err != nil {
		return nil, err
	}
	rows, err := current.Scan(table.WithSelectedFields("trace_id"), table.WithRowFilter(filter)).ToArrowTable(t.Context())
	if err != nil {
		return nil, err
	}
	defer rows.Release()
	for _, chunk := range rows.Column(0).Data().Chunks() {
		for i := range chunk.Len() {
			ids = append(ids, chunk.ValueStr(i))
		}
	}
	slices.Sort(ids)
	return ids, nil
}

func (f *fixture) mustTraces(t *testing.T, filter iceberg.BooleanExpression) []string {
	t.Helper()
	ids, err := f.traces(t, filter)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

var all = iceberg.AlwaysTrue{}

func TestATableHasTheRowsOfItsDeck(t *testing.T) {
	f := newFixture(t)
	r := f.run(t)
	if want := (report{Table: "tapedeck.reels", Snapshot: r.Snapshot, Committed: true, Added: runs / perReel, Reels: runs / perReel, Rows: runs}); r != want {
		t.Errorf("%+v", r)
	}
	if ids := slices.Compact(f.mustTraces(t, all)); len(ids) != runs {
		t.Errorf("%d traces", len(ids))
	}
	if again := f.run(t); again.Committed || again.Snapshot != r.Snapshot || again.Reels != r.Reels {
		t.Errorf("a second sync: %+v", again)
	}
	current, err := f.sync.load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for filter, files := range map[iceberg.BooleanExpression]int{
		iceberg.EqualTo(iceberg.Reference("date"), "2026-01-01"):   runs / perReel / 2,
		iceberg.EqualTo(iceberg.Reference("date"), "2025-12-31"):   0,
		iceberg.EqualTo(iceberg.Reference("tenant"), "default"):    runs / perReel,
		iceberg.EqualTo(iceberg.Reference("tenant"), "nobody"):     0,
		iceberg.EqualTo(iceberg.Reference("area"), "replays"):      0,
		iceberg.IsNull(iceberg.Reference("started_at")):            0,
		iceberg.EqualTo(iceberg.Reference("trace_id"), "no bound"): runs / perReel,
	} {
		tasks, err := current.Scan(table.WithRowFilter(filter)).PlanFiles(t.Context())
		if err != nil || len(tasks) != files {
			t.Errorf("%s reads %d reels, want %d: %v", filter, len(tasks), files, err)
		}
	}
}

func TestATableGetsTheColumnsThatItLacks(t *testing.T) {
	f := newFixture(t)
	f.run(t)
	old, err := f.sync.load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tx := old.NewTransaction()
	if err := tx.UpdateSchema(true, true).DeleteColumn([]string{"verdicts"}).DeleteColumn([]string{"keep"}).Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.run(t)
	now, err := f.sync.load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"verdicts", "keep"} {
		field, ok := now.Schema().FindFieldByName(name)
		if !ok || !strings.Contains(now.Properties()[table.DefaultNameMappingKey], name) {
			t.Errorf("%s is not there, or not in the mapping", name)
		}
		if before, _ := old.Schema().FindFieldByName(name); before.ID == field.ID {
			t.Errorf("%s has the id of a column that was taken out", name)
		}
	}
	if ids := f.mustTraces(t, iceberg.IsNull(iceberg.Reference("keep"))); len(ids) != runs {
		t.Errorf("%d rows", len(ids))
	}
}

// erase erases a run by another program. before is called with the keys of the reels that are about to be
// removed.
func (f *fixture) erase(t *testing.T, trace string, before func(d *deck.Deck, keys []string)) {
	t.Helper()
	d := f.open(t)
	if _, err := retention.Erase(t.Context(), d, "default", trace, time.Now()); err != nil {
		t.Fatal(err)
	}
	view.Catalog(d).BeforeRemoval(func(_ context.Context, keys []string) error {
		before(d, keys)
		return nil
	})
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestAnErasedRowIsHiddenBeforeItIsRemoved, and its reel leaves the table before it leaves the deck.
func TestAnErasedRowIsHiddenBeforeItIsRemoved(t *testing.T) {
	f := newFixture(t)
	f.run(t)
	gone := f.mustTraces(t, all)[runs/2]
	f.erase(t, gone, func(d *deck.Deck, keys []string) {
		if _, err := view.Raw(d).Get(t.Context(), keys[0]); err != nil || len(keys) != 1 {
			t.Errorf("%q are about to be removed: %v", keys, err)
		}
		if r := f.run(t); r.Added != 1 || r.Removed != 0 || r.Hidden != 1 || slices.Contains(f.mustTraces(t, all), gone) {
			t.Errorf("behind the tombstone: %+v", r)
		}
		before := f.syncOf(t, f.deck)
		before.without = keys
		r, err := before.run(t.Context())
		if err != nil || r.Added != 0 || r.Removed != 1 || r.Hidden != 0 || r.Rows != runs-1 {
			t.Errorf("before the removal: %+v, %v", r, err)
		}
	})
	if r := f.run(t); r.Added+r.Removed != 0 || r.Rows != runs-1 || len(f.mustTraces(t, all)) != runs-1 {
		t.Errorf("behind the removal: %+v", r)
	}
	for _, file := range f.metadata(t) {
		if body, err := os.ReadFile(file); err != nil || bytes.Contains(body, []byte(gone)) {
			t.Errorf("%s names the erased trace: %v", file, err)
		}
	}
}

// TestAnErasedRowThatIsDeliveredAgainIsHidden by the commit that adds its reel, and what hides it goes with
// the reel.
func TestAnErasedRowThatIsDeliveredAgainIsHidden(t *testing.T) {
	f := newFixture(t)
	f.run(t)
	gone := f.mustTraces(t, all)[runs/2]
	var again string
	var late []byte
	f.erase(t, gone, func(d *deck.Deck, keys []string) {
		body, err := view.Raw(d).Get(t.Context(), keys[0])
		if err != nil {
			t.Fatal(err)
		}
		name, _ := reel.ParseName(keys[0])
		name.Level = 7
		again = name.Key()
		late = body
	})
	if _, err := f.sync.store.PutNew(t.Context(), again, late, ""); err != nil {
		t.Fatal(err)
	}
	if r := f.run(t); r.Added != 2 || r.Hidden != 1 || slices.Contains(f.mustTraces(t, all), gone) {
		t.Errorf("delivered again: %+v", r)
	}
	if err := f.sync.store.Delete(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	f.sync.keep = 0
	time.Sleep(2 * time.Millisecond)
	if r := f.run(t); r.Removed != 1 || r.Hidden != 0 || r.Expired == 0 {
		t.Errorf("without it: %+v", r)
	}
	for _, left := range f.metadata(t) {
		if strings.HasSuffix(left, "-deletes.parquet") {
			t.Errorf("%s hides rows of a reel that is gone", left)
		}
	}
}

func (f *fixture) metadata(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(f.folder, metadataFolder, "*", "*", "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	return files
}

// TestEverySnapshotIsWhole: a scan that begins at any time finds each reel that its snapshot names, and each
// run once, while a compaction, an erasure and two syncs are at work.
func TestEverySnapshotIsWhole(t *testing.T) {
	f := newFixture(t)
	f.run(t)
	ids := f.mustTraces(t, all)
	gone := ids[runs/3]
	told := func(d *deck.Deck) {
		s := f.syncOf(t, d)
		view.Catalog(d).BeforeRemoval(func(ctx context.Context, keys []string) error {
			s.without = keys
			_, err := s.run(ctx)
			return err
		})
	}
	const grace = 300 * time.Millisecond // longer than a scan takes that has its snapshot
	compacting, erasing := f.open(t), f.open(t)
	told(compacting)
	told(erasing)
	ctx, done := context.WithCancel(t.Context())
	var syncs, work gosync.WaitGroup
	for range 2 {
		s := f.syncOf(t, f.open(t))
		syncs.Go(func() {
			for ctx.Err() == nil {
				if _, err := s.run(ctx); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	work.Go(func() {
		for range 2 {
			if _, err := compaction.Run(t.Context(), compacting, compaction.Options{Grace: grace}); err != nil {
				t.Error(err)
			}
		}
	})
	work.Go(func() {
		if _, err := retention.Erase(t.Context(), erasing, "default", gone, time.Now()); err != nil {
			t.Error(err)
		}
		if err := erasing.Close(); err != nil {
			t.Error(err)
		}
	})
	go func() { work.Wait(); done() }()
	scans := 0
	for ; ctx.Err() == nil; scans++ {
		now, err := f.traces(t, all)
		if errors.Is(err, os.ErrNotExist) {
			continue // the erasure does not wait for scans that are on their way
		}
		if err != nil {
			t.Error(err)
			break
		}
		if now = slices.Compact(now); len(now) != runs && len(now) != runs-1 {
			t.Errorf("a scan finds %d traces of %d", len(now), runs)
		}
	}
	done()
	work.Wait()
	syncs.Wait()
	r := f.run(t)
	if now := f.mustTraces(t, all); slices.Contains(now, gone) || len(now) != runs-1 || r.Reels != 2 || scans < 3 {
		t.Errorf("%d rows in the end, and %+v; %d scans", len(now), r, scans)
	}
}
