// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// errStop ends a walk whose consumer has had enough.
var errStop = errors.New("stop")

func (s *store) List(ctx context.Context, prefix string) iter.Seq2[deck.Object, error] {
	return func(yield func(deck.Object, error) bool) {
		err := s.eachEntry(ctx, prefix, func(root *tree, e fileEntry) error {
			return walkFiles(ctx, root, e, prefix, func(o deck.Object) error {
				if !yield(o, nil) {
					return errStop
				}
				return nil
			})
		})
		if err != nil {
			yield(deck.Object{}, err)
		}
	}
}

func (s *store) ListFolders(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		err := s.eachEntry(ctx, prefix, func(root *tree, e fileEntry) error {
			if !e.folder() {
				return nil
			}
			// An interrupted writer leaves empty folders; those are none.
			found := false
			err := walkFiles(ctx, root, e, "", func(deck.Object) error {
				found = true
				return errStop
			})
			if err != nil && !errors.Is(err, errStop) {
				return err
			}
			if found && !yield(e.sortKey, nil) {
				return errStop
			}
			return nil
		})
		if err != nil {
			yield("", err)
		}
	}
}

// ListsByFolder makes the store a [deck.FolderStore].
func (s *store) ListsByFolder() bool { return true }

// eachEntry visits the entries that begin with prefix in the one folder that
// can hold them.
func (s *store) eachEntry(ctx context.Context, prefix string, visit func(*tree, fileEntry) error) error {
	if err := deck.CheckList(ctx, "file", prefix); err != nil {
		return err
	}
	root, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fileError("list", prefix, err)
	}
	dir, _ := path.Split(prefix)
	entries, err := readFolder(root, path.Clean(dir))
	if err != nil {
		return fileError("list", prefix, err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.sortKey, prefix) {
			continue
		}
		if err := visit(root, e); errors.Is(err, errStop) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// walkFiles visits e, if it is a file, or all files below it in order of keys.
func walkFiles(ctx context.Context, root *tree, e fileEntry, prefix string, visit func(deck.Object) error) error {
	if err := ctx.Err(); err != nil {
		return &deck.StoreError{Op: "list", Scheme: "file", Key: prefix, Err: err}
	}
	if !e.folder() {
		return visit(deck.Object{Key: e.sortKey, Size: e.entry.size, Version: e.entry.version})
	}
	entries, err := readFolder(root, path.Clean(e.sortKey))
	if err != nil {
		return fileError("list", e.sortKey, err)
	}
	for _, child := range entries {
		if err := walkFiles(ctx, root, child, prefix, visit); err != nil {
			return err
		}
	}
	return nil
}

// fileEntry is a file or folder of the store. sortKey is its key, with a slash
// behind folders: in the order of keys "a-b/x" comes before "a/x", although
// the names sort the other way.
type fileEntry struct {
	sortKey string
	entry   entry
}

func (e fileEntry) folder() bool { return e.entry.mode.IsDir() }

// readFolder returns the files and folders of dir in the order of keys, without
// files that are being written, symbolic links and names that are no keys. A
// missing folder is empty.
func readFolder(root *tree, dir string) ([]fileEntry, error) {
	found, err := root.readEntries(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries := make([]fileEntry, 0, len(found))
	for _, e := range found {
		key := path.Join(dir, e.name)
		if (!e.mode.IsDir() && !e.mode.IsRegular()) || deck.CheckKey(key) != nil {
			continue
		}
		if e.mode.IsDir() {
			key += "/"
		}
		entries = append(entries, fileEntry{sortKey: key, entry: e})
	}
	slices.SortFunc(entries, func(a, b fileEntry) int { return strings.Compare(a.sortKey, b.sortKey) })
	return entries, nil
}
