// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
)

// abandonedAfter is the age at which a temporary file is taken for abandoned
// where the file system cannot say whether its writer lives. No write takes
// that long. If one does, it begins anew.
const abandonedAfter = time.Hour

// Abandoned finds the temporary files whose lock nobody holds: the system lets go
// of it when a process ends, however it ends.
func (s *store) Abandoned(ctx context.Context, prefix string) iter.Seq2[deck.Object, error] {
	return func(yield func(deck.Object, error) bool) {
		if err := deck.CheckList(ctx, "file", prefix); err != nil {
			yield(deck.Object{}, err)
			return
		}
		root, err := s.open()
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err == nil {
			dir, _ := path.Split(prefix)
			err = s.walkTemps(ctx, root.Root, path.Clean(dir), func(o deck.Object) bool { return !strings.HasPrefix(o.Key, prefix) || yield(o, nil) })
		}
		if err != nil && !errors.Is(err, errStop) {
			yield(deck.Object{}, fileError("list", prefix, err))
		}
	}
}

func (s *store) walkTemps(ctx context.Context, root *os.Root, dir string, visit func(deck.Object) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := fs.ReadDir(root.FS(), dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return nil // removed since its parent was read
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		key := path.Join(dir, e.Name())
		switch {
		case e.IsDir():
			if err := s.walkTemps(ctx, root, key, visit); err != nil {
				return err
			}
		case e.Type().IsRegular() && strings.HasPrefix(e.Name(), deck.TempPrefix):
			size, abandoned, err := s.abandoned(root, key)
			if err != nil {
				return err
			}
			if abandoned && !visit(deck.Object{Key: key, Size: size}) {
				return errStop
			}
		}
	}
	return nil
}

func (s *store) abandoned(root *os.Root, key string) (size int64, _ bool, err error) {
	f, err := root.Open(key)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil // finished
	}
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, false, err
	}
	switch err := s.lock(f); {
	case err == nil:
		return info.Size(), true, nil
	case errors.Is(err, errHeld):
		return 0, false, nil
	default:
		return info.Size(), s.now().Sub(info.ModTime()) > abandonedAfter, nil
	}
}

// errHeld says that somebody else holds the lock of a file.
var errHeld = errors.New("the file is locked")

func (s *store) ReadAbandoned(ctx context.Context, key string) ([]byte, error) {
	if err := checkTemp(ctx, "get", key); err != nil {
		return nil, err
	}
	return s.get(key, 0, -1)
}

func (s *store) RemoveAbandoned(ctx context.Context, key string) error {
	if err := checkTemp(ctx, "delete", key); err != nil {
		return err
	}
	return s.remove(key)
}

// checkTemp accepts the name of a temporary file in a folder of the store.
func checkTemp(ctx context.Context, op, key string) error {
	dir, name := path.Split(key)
	if !strings.HasPrefix(name, deck.TempPrefix) {
		return &deck.StoreError{Op: op, Scheme: "file", Key: key, Reason: "not a temporary file", Permanent: true, Err: deck.ErrBadKey}
	}
	return deck.CheckGet(ctx, op, "file", dir+strings.TrimPrefix(name, "."))
}
