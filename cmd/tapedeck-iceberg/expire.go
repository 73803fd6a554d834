// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

// expire takes snapshots out of the table that were replaced long ago, and deletes metadata that they alone
// name. The library would delete their reels too.
func (s *sync) expire(ctx context.Context, t *table.Table) (expired int, now *table.Table, err error) {
	current := t.CurrentSnapshot()
	var ids []int64
	var gone, stay []table.Snapshot
	for _, snapshot := range t.Metadata().Snapshots() {
		if snapshot.SnapshotID != current.SnapshotID && time.Since(time.UnixMilli(snapshot.TimestampMs)) > s.keep {
			ids, gone = append(ids, snapshot.SnapshotID), append(gone, snapshot)
		} else {
			stay = append(stay, snapshot)
		}
	}
	if len(ids) == 0 {
		return 0, t, nil
	}
	metadata, err := s.metadata(ctx, t, gone)
	if err != nil {
		return 0, t, err
	}
	needed, err := s.metadata(ctx, t, stay)
	if err != nil {
		return 0, t, err
	}
	err = s.accept(ctx, t,
		[]table.Requirement{table.AssertTableUUID(t.Metadata().TableUUID()), table.AssertRefSnapshotID(table.MainBranch, &current.SnapshotID)},
		[]table.Update{table.NewRemoveSnapshotsUpdate(ids, false)})
	if errors.Is(err, table.ErrCommitFailed) {
		return 0, t, nil // whoever was faster expires them
	}
	if err != nil {
		return 0, t, err
	}
	for uri := range metadata {
		if !needed[uri] {
			if err := (objects{ctx, s.store, s.base}).Remove(uri); err != nil {
				return 0, t, err
			}
		}
	}
	now, err = s.catalog.LoadTable(ctx, s.table)
	return len(ids), now, err
}

// metadata returns the URIs of what snapshots name beside reels.
func (s *sync) metadata(ctx context.Context, t *table.Table, snapshots []table.Snapshot) (map[string]bool, error) {
	uris, read := map[string]bool{}, map[string]bool{}
	fs, err := t.FS(ctx)
	if err != nil {
		return nil, err
	}
	for _, snapshot := range snapshots {
		uris[snapshot.ManifestList] = true
		manifests, err := snapshot.Manifests(fs)
		if err != nil {
			return nil, err
		}
		for _, m := range manifests {
			uris[m.FilePath()] = true
			if m.ManifestContent() != iceberg.ManifestContentDeletes || read[m.FilePath()] {
				continue
			}
			read[m.FilePath()] = true
			for e, err := range m.Entries(fs, false) {
				if err != nil {
					return nil, err
				}
				if e.Status() != iceberg.EntryStatusDELETED {
					uris[e.DataFile().FilePath()] = true
				}
			}
		}
	}
	return uris, nil
}

// forget deletes the files of the table's own metadata that have left its log. A REST catalog does that
// itself.
func (s *sync) forget(ctx context.Context, before, now *table.Table) error {
	if s.catalog.CatalogType() != catalog.SQL {
		return nil
	}
	there := map[string]bool{now.MetadataLocation(): true}
	for entry := range now.Metadata().PreviousFiles() {
		there[entry.MetadataFile] = true
	}
	for entry := range before.Metadata().PreviousFiles() {
		if !there[entry.MetadataFile] {
			if err := (objects{ctx, s.store, s.base}).Remove(entry.MetadataFile); err != nil {
				return err
			}
		}
	}
	return nil
}
