// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
)

// sync brings a table up to the deck.
//
// The table names a reel as long as the deck has it and nobody has announced its removal. An announcement is
// a property of the table that is committed together with the snapshot, and a reel is removed after that
// commit. A sync loads the table first and lists the reels then; its commit fails where the table has changed
// since. So no snapshot names a reel whose removal had been announced before its commit.
//
// What an announced reel held lies in other reels, or was taken away. So it stays out of the table where its
// removal fails, and where a writer puts it there again.
type sync struct {
	catalog catalog.Catalog
	reels   *reel.Catalog
	store   deck.Store // that holds the objects of the deck
	base    string     // URI of the deck
	table   table.Identifier
	without []string // keys of reels that are about to be removed
	keep    time.Duration
}

// Properties of the table.
const (
	retiredProperty   = "tapedeck.retired"    // keys of reels that are about to be removed
	tombstoneProperty = "tapedeck.tombstones" // digest of the tombstones of which all hidden rows are known
)

// metadataFolder is where the metadata of tables lies in a deck.
const metadataFolder = "iceberg"

// report is what a sync prints. The order of its fields is part of the contract.
type report struct {
	Table     string `json:"table"`
	Snapshot  int64  `json:"snapshot"` // the current one
	Committed bool   `json:"committed"`
	Added     int    `json:"added"`   // reels
	Removed   int    `json:"removed"` // reels
	Reels     int    `json:"reels"`   // in the table now
	Rows      int64  `json:"rows"`    // in them
	Hidden    int64  `json:"hidden"`  // rows that position deletes hide
	Expired   int    `json:"expired"` // snapshots
}

const (
	mostAttempts = 20
	firstWait    = 100 * time.Millisecond
)

// run syncs until a commit is accepted.
func (s *sync) run(ctx context.Context) (r report, err error) {
	for attempt := range mostAttempts {
		r, err = s.once(ctx)
		// A reel or metadata that is gone was replaced since the table was loaded.
		if !errors.Is(err, table.ErrCommitFailed) && !errors.Is(err, deck.ErrNotFound) && !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
		wait := firstWait << min(attempt, 5)
		select {
		case <-time.After(wait/2 + rand.N(wait)):
		case <-ctx.Done():
			return r, ctx.Err()
		}
	}
	return r, err
}

func (s *sync) once(ctx context.Context) (r report, err error) {
	t, err := s.load(ctx)
	if err != nil {
		return r, err
	}
	plan, err := s.plan(ctx, t)
	if err != nil {
		return r, err
	}
	now := t
	if plan.changes() {
		if now, err = s.commit(ctx, t, plan); err != nil {
			return r, errors.Join(err, s.discard(ctx, plan.hide))
		}
	}
	expired, now, err := s.expire(ctx, now)
	if err != nil {
		return r, err
	}
	if err := s.forget(ctx, t, now); err != nil {
		return r, err
	}
	r = plan.report
	r.Table, r.Committed, r.Expired = strings.Join(s.table, "."), plan.changes(), expired
	if current := now.CurrentSnapshot(); current != nil {
		r.Snapshot = current.SnapshotID
	}
	return r, nil
}

// load returns the table, which is created where it is not there, with all columns of this program.
func (s *sync) load(ctx context.Context) (*table.Table, error) {
	t, err := s.catalog.LoadTable(ctx, s.table)
	if errors.Is(err, catalog.ErrNoSuchTable) || errors.Is(err, catalog.ErrNoSuchNamespace) {
		t, err = s.create(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("load table: %w", err)
	}
	if !strings.HasPrefix(t.Location(), s.base+"/"+metadataFolder+"/") {
		return nil, fmt.Errorf("the table is of another deck: its metadata lies at %s", t.Location())
	}
	tx := t.NewTransaction()
	update, grows := tx.UpdateSchema(true, false), false
	for _, f := range columns() {
		if _, there := t.Schema().FindFieldByName(f.Name); !there {
			update.AddColumn([]string{f.Name}, f.Type, f.Doc, false, nil)
			grows = true
		}
	}
	if grows {
		if err := update.Commit(); err != nil {
			return nil, fmt.Errorf("add columns: %w", err)
		}
		c, err := tx.TableCommit()
		if err == nil {
			err = s.accept(ctx, t, c.Requirements, c.Updates)
		}
		if err != nil {
			return nil, fmt.Errorf("add columns: %w", err)
		}
		return s.catalog.LoadTable(ctx, s.table)
	}
	return t, nil
}

func (s *sync) create(ctx context.Context) (*table.Table, error) {
	namespace := s.table[:len(s.table)-1]
	if err := s.catalog.CreateNamespace(ctx, namespace, nil); err != nil && !errors.Is(err, catalog.ErrNamespaceAlreadyExists) {
		if there, looking := s.catalog.CheckNamespaceExists(ctx, namespace); looking != nil || !there {
			return nil, err
		}
	}
	schema := newSchema()
	partition, err := newPartition(schema)
	if err != nil {
		return nil, err
	}
	properties := iceberg.Properties{
		table.PropertyFormatVersion:               "2",
		table.GCEnabledKey:                        "false", // an engine that expires snapshots or drops the table must not delete reels
		table.ManifestMergeEnabledKey:             "true",
		table.MetadataPreviousVersionsMaxKey:      "20",
		table.MetadataDeleteAfterCommitEnabledKey: "true",
	}
	t, err := s.catalog.CreateTable(ctx, s.table, schema, catalog.WithPartitionSpec(&partition), catalog.WithProperties(properties),
		catalog.WithLocation(s.base+"/"+metadataFolder+"/"+strings.Join(s.table, "/")))
	if err != nil {
		if there, loading := s.catalog.LoadTable(ctx, s.table); loading == nil { // somebody else was faster
			return there, nil
		}
	}
	return t, err
}

// plan is what one commit changes.
type plan struct {
	report
	add, remove, hide, bare []iceberg.DataFile // reels, reels, position deletes, position deletes of reels that go
	properties              iceberg.Properties // that differ from those of the table
}

func (p *plan) changes() bool {
	return len(p.add)+len(p.remove)+len(p.hide)+len(p.properties) > 0
}

// plan compares the table with the deck.
func (s *sync) plan(ctx context.Context, t *table.Table) (*plan, error) {
	have, err := contentOf(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("read the snapshot: %w", err)
	}
	tombs, err := reel.LoadTombs(ctx, s.store)
	if err != nil {
		return nil, err
	}
	s.reels.Stale()
	listed, err := s.reels.List(ctx)
	if err != nil {
		return nil, err
	}
	p := &plan{properties: iceberg.Properties{}}
	retired := s.retired(t, listed)
	listed = slices.DeleteFunc(slices.Clone(listed), func(o reel.Object) bool { return retired[o.Key()] })
	digest := tombs.Digest()
	fresh := t.Properties()[tombstoneProperty] != digest
	w := files{sync: s, table: t}
	stays := map[string]bool{}
	for _, o := range listed {
		uri := s.base + "/" + o.Key()
		f := have.reels[uri]
		stays[uri] = f != nil
		hidden := have.hidden[uri]
		if f == nil || fresh {
			positions, err := s.reels.Buried(ctx, o, tombs)
			if err != nil {
				return nil, err
			}
			if f == nil {
				if f, err = w.reel(ctx, o); err != nil {
					return nil, err
				}
				p.add = append(p.add, f)
			}
			if n := int64(len(positions)); n > hidden {
				hide, err := w.hide(ctx, f, positions)
				if err != nil {
					return nil, err
				}
				p.hide, hidden = append(p.hide, hide), n
			}
		}
		p.Reels, p.Rows, p.Hidden = p.Reels+1, p.Rows+f.Count(), p.Hidden+hidden
	}
	for _, uri := range slices.Sorted(maps.Keys(have.reels)) {
		if !stays[uri] {
			p.remove = append(p.remove, have.reels[uri])
			p.bare = append(p.bare, have.hides[uri]...)
		}
	}
	p.Added, p.Removed = len(p.add), len(p.remove)
	mapping, err := json.Marshal(t.Schema().NameMapping())
	if err != nil {
		return nil, err
	}
	p.set(t, table.DefaultNameMappingKey, string(mapping))
	p.set(t, tombstoneProperty, digest)
	if len(s.without) > 0 || p.changes() { // else the list may have grown shorter, which can wait
		p.set(t, retiredProperty, strings.Join(slices.Sorted(maps.Keys(retired)), ","))
	}
	return p, nil
}

// set changes a property that is another one.
func (p *plan) set(t *table.Table, name, value string) {
	if t.Properties()[name] != value {
		p.properties[name] = value
	}
}

// retired returns the keys of the reels whose removal was announced and that are listed still.
func (s *sync) retired(t *table.Table, listed []reel.Object) map[string]bool {
	there := map[string]bool{}
	announced := append(strings.Split(t.Properties()[retiredProperty], ","), s.without...)
	for _, o := range listed {
		if slices.Contains(announced, o.Key()) {
			there[o.Key()] = true
		}
	}
	return there
}

// content is what a snapshot names.
type content struct {
	reels  map[string]iceberg.DataFile   // by URI
	hides  map[string][]iceberg.DataFile // position deletes, by the URI of the reel
	hidden map[string]int64              // rows that the largest of them hides
}

func contentOf(ctx context.Context, t *table.Table) (c content, err error) {
	c = content{map[string]iceberg.DataFile{}, map[string][]iceberg.DataFile{}, map[string]int64{}}
	current := t.CurrentSnapshot()
	if current == nil {
		return c, nil
	}
	store, err := t.FS(ctx)
	if err != nil {
		return c, err
	}
	manifests, err := current.Manifests(store)
	if err != nil {
		return c, err
	}
	for _, m := range manifests {
		for e, err := range m.Entries(store, true) {
			if err != nil {
				return c, err
			}
			f := e.DataFile()
			switch f.ContentType() {
			case iceberg.EntryContentData:
				c.reels[f.FilePath()] = f
			case iceberg.EntryContentPosDeletes:
				of := string(f.LowerBoundValues()[filePathID]) // manifests of version 2 do not keep the reference itself
				c.hides[of] = append(c.hides[of], f)
				c.hidden[of] = max(c.hidden[of], f.Count())
			}
		}
	}
	return c, nil
}

// commit commits the plan: all of it, or nothing and table.ErrCommitFailed where somebody else was faster.
func (s *sync) commit(ctx context.Context, t *table.Table, p *plan) (*table.Table, error) {
	tx := t.NewTransaction()
	if len(p.properties) > 0 {
		if err := tx.SetProperties(p.properties); err != nil {
			return nil, err
		}
	}
	note := iceberg.Properties{"tapedeck.version": built}
	switch {
	case len(p.remove) > 0:
		if err := tx.ReplaceFiles(ctx, p.remove, p.add, p.bare, note, table.WithoutAutoNameMapping()); err != nil {
			return nil, err
		}
	case len(p.add) > 0:
		if err := tx.AddDataFiles(ctx, p.add, note, table.WithoutAutoNameMapping(), table.WithoutDuplicateCheck()); err != nil {
			return nil, err
		}
	}
	if len(p.hide) > 0 {
		if err := tx.NewRowDelta(note).AddDeletes(p.hide...).Commit(ctx); err != nil {
			return nil, err
		}
	}
	if err := tx.AssertRefSnapshotID(table.MainBranch); err != nil {
		return nil, err
	}
	c, err := tx.TableCommit()
	if err != nil {
		return nil, err
	}
	// Transaction.Commit refuses deletes of a reel that the same commit adds, and may repeat a commit that
	// rests on an old listing.
	if err := s.accept(ctx, t, c.Requirements, c.Updates); err != nil {
		return nil, err
	}
	return s.catalog.LoadTable(ctx, s.table)
}

// accept has the catalog accept a commit. Where the table has changed since it was loaded, an error is
// table.ErrCommitFailed, whatever the catalog says of it: a sync that is repeated changes nothing twice.
func (s *sync) accept(ctx context.Context, t *table.Table, requirements []table.Requirement, updates []table.Update) error {
	_, _, err := s.catalog.CommitTable(ctx, s.table, requirements, updates)
	if err == nil || errors.Is(err, table.ErrCommitFailed) {
		return err
	}
	now, loading := s.catalog.LoadTable(ctx, s.table)
	if loading == nil && now.MetadataLocation() != t.MetadataLocation() {
		return fmt.Errorf("%w: %w", table.ErrCommitFailed, err)
	}
	return err
}

// discard deletes position deletes that were written for a commit that was refused.
func (s *sync) discard(ctx context.Context, hide []iceberg.DataFile) error {
	if len(hide) == 0 {
		return nil
	}
	t, err := s.catalog.LoadTable(ctx, s.table)
	if err != nil {
		return err
	}
	now, err := contentOf(ctx, t)
	if err != nil {
		return err
	}
	for _, f := range hide {
		accepted := slices.ContainsFunc(now.hides[string(f.LowerBoundValues()[filePathID])], func(o iceberg.DataFile) bool { return o.FilePath() == f.FilePath() })
		if !accepted {
			if err := (objects{ctx, s.store, s.base}).Remove(f.FilePath()); err != nil {
				return err
			}
		}
	}
	return nil
}
