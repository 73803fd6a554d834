// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
)

// StatusFolder is where records of comparisons lie below the area of the replays. No replay_run_id is a folder of this name: it does not
// begin with a letter or digit.
const StatusFolder = string(AreaReplays) + "/_status/"

// statusPrefix is the folder of the records about one run.
func (p Location) statusPrefix(root string) string {
	return StatusFolder + p.Prefix() + "/" + root + "/"
}

// PutReplayStatus writes a record about a replay of a recorded run: create-only, named by its digest, so that the same record twice is one.
// A run that is buried gets none: ErrBuried.
func (d *Deck) PutReplayStatus(ctx context.Context, location Location, root string, record []byte) (created bool, err error) {
	t, err := d.Tombstones(ctx, location)
	if err != nil {
		return false, err
	}
	if t.Trace() {
		return false, t.refuse("trace")
	}
	if !validRoot(root) {
		return false, &StoreError{Op: "put", Scheme: d.url.Scheme, Reason: "not a root span id", Permanent: true, Err: ErrBadKey}
	}
	if err := d.mark(ctx); err != nil {
		return false, err
	}
	sum := sha256.Sum256(record)
	return d.store.PutNew(ctx, location.statusPrefix(root)+hex.EncodeToString(sum[:])+".json", record, jsonType)
}

// ReplayStatuses returns the records about replays of a run, in the order of their names. Without a root it returns the records of all runs
// of the trace.
func (d *Deck) ReplayStatuses(ctx context.Context, location Location, root string) ([][]byte, error) {
	var records [][]byte
	err := d.eachStatus(ctx, location, root, func(key string) error {
		record, err := d.store.Get(ctx, key)
		if errors.Is(err, ErrNotFound) {
			return nil // taken away since it was listed
		}
		records = append(records, record)
		return err
	})
	return records, err
}

// RemoveReplayStatuses takes away the records about the runs of a trace: for one that is buried.
func (d *Deck) RemoveReplayStatuses(ctx context.Context, location Location) (removed int, err error) {
	err = d.eachStatus(ctx, location, "", func(key string) error {
		removed++
		return d.store.Delete(ctx, key)
	})
	return removed, err
}

func (d *Deck) eachStatus(ctx context.Context, location Location, root string, do func(key string) error) error {
	if err := location.Validate(); err != nil {
		return err
	}
	prefix := strings.TrimSuffix(location.statusPrefix(root), "/")
	if root != "" {
		prefix += "/"
	}
	var keys []string
	for o, err := range d.store.List(ctx, prefix) {
		if err != nil {
			return err
		}
		keys = append(keys, o.Key)
	}
	for _, key := range keys {
		if err := do(key); err != nil {
			return err
		}
	}
	return nil
}
