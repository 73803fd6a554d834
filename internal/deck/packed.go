// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"strings"
	"sync/atomic"
)

// packedSuffix ends the name of a file of a run that is stored compressed. Its
// key, its digest and its content are those of the file itself everywhere else.
const packedSuffix = ".zst"

// packing says how the files of runs are stored.
type packing uint8

const (
	packAsFound packing = iota // as those that were met in the deck
	packPlain
	packZstd
)

// packs tells whether files of runs are stored compressed.
func (d *Deck) packs() bool {
	if d.packing == packAsFound {
		u, ok := d.store.(*unpacking)
		return ok && u.seen.Load()
	}
	return d.packing == packZstd
}

// ParseCompression reads what a user says about the files of runs: none (also if
// nothing is said) or zstd.
func ParseCompression(text string) (compress bool, err error) {
	switch text {
	case "", "none":
		return false, nil
	case "zstd":
		return true, nil
	}
	return false, fmt.Errorf("compression must be none or zstd, got %q", shorten(text))
}

// unpacking is a store as its readers see it: a JSON file that is stored
// compressed has the name and the content of the file. Every store that
// OpenStore opens is one, so that no reader has to know.
type unpacking struct {
	Store
	packed atomic.Bool // the last file that was read was compressed: look for such a one first
	seen   atomic.Bool // there are compressed files
}

// mayBePacked tells whether a key can be that of a file of a run. The marker,
// tombstones and other notes are never compressed.
func mayBePacked(key string) bool {
	return strings.HasSuffix(key, ".json") && key != markerKey && !IsNote(key) && !strings.HasPrefix(key, StatusFolder)
}

func (u *unpacking) Get(ctx context.Context, key string) ([]byte, error) {
	if !mayBePacked(key) {
		return u.Store.Get(ctx, key)
	}
	first := u.packed.Load()
	body, err := u.get(ctx, key, first)
	if !errors.Is(err, ErrNotFound) {
		return body, err
	}
	body, again := u.get(ctx, key, !first)
	if errors.Is(again, ErrNotFound) {
		return nil, NotFound(schemeOf(err), key)
	}
	u.packed.Store(!first)
	return body, again
}

func (u *unpacking) get(ctx context.Context, key string, packed bool) ([]byte, error) {
	if !packed {
		return u.Store.Get(ctx, key)
	}
	stored, err := u.Store.Get(ctx, key+packedSuffix)
	if err != nil {
		return nil, err
	}
	u.seen.Store(true)
	body, err := decompress(stored)
	if err != nil {
		return nil, &StoreError{Op: "get", Scheme: "deck", Key: key + packedSuffix, Reason: "it does not decompress within the size limit", Permanent: true, Err: ErrCorrupt}
	}
	return body, nil
}

// schemeOf is the scheme of the store that an error is from.
func schemeOf(err error) string {
	if e, ok := errors.AsType[*StoreError](err); ok {
		return e.Scheme
	}
	return "deck"
}

func (u *unpacking) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		last := ""
		for o, err := range u.Store.List(ctx, prefix) {
			if key, ok := strings.CutSuffix(o.Key, packedSuffix); ok && mayBePacked(key) {
				u.seen.Store(true)
				if key == last {
					continue // two writers, one with compression and one without
				}
				o.Key = key
			}
			if last = o.Key; !yield(o, err) {
				return
			}
		}
	}
}

func (u *unpacking) Delete(ctx context.Context, key string) error {
	// Nobody deletes what he has not listed, or read.
	if mayBePacked(key) && u.seen.Load() {
		if err := u.Store.Delete(ctx, key+packedSuffix); err != nil {
			return err
		}
	}
	return u.Store.Delete(ctx, key)
}

// What a driver may have beyond Store.

func (u *unpacking) ListsByFolder() bool {
	f, ok := u.Store.(FolderStore)
	return ok && f.ListsByFolder()
}

func (u *unpacking) PutAllNew(ctx context.Context, objects []NewObject) (bool, error) {
	return putAllNew(ctx, u.Store, objects)
}

func (u *unpacking) GetRange(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	return GetRange(ctx, u.Store, key, offset, length)
}

func (u *unpacking) Abandoned(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return Abandoned(ctx, u.Store, prefix)
}

func (u *unpacking) ReadAbandoned(ctx context.Context, key string) ([]byte, error) {
	return u.Store.(Leaver).ReadAbandoned(ctx, key) // Abandoned has yielded the key
}

func (u *unpacking) RemoveAbandoned(ctx context.Context, key string) error {
	return u.Store.(Leaver).RemoveAbandoned(ctx, key) // Abandoned has yielded the key
}

// unpackedName is the name of a file that somebody names by the name under
// which it is stored.
func unpackedName(key string) string {
	if name, ok := strings.CutSuffix(key, packedSuffix); ok && strings.HasSuffix(name, ".json") && path.Base(name) != markerKey {
		return name
	}
	return key
}
