// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path"
	"strings"
	"time"
)

// Leaver is a Store in which a writer that dies can leave a file that is no
// object: unfinished, or the second name of one. No listing shows such files and
// no key reaches them, but they hold what was written.
type Leaver interface {
	// Abandoned walks those below prefix that no living writer holds.
	Abandoned(ctx context.Context, prefix string) iter.Seq2[Object, error]
	// ReadAbandoned and RemoveAbandoned take what Abandoned yields.
	ReadAbandoned(ctx context.Context, key string) ([]byte, error)
	RemoveAbandoned(ctx context.Context, key string) error
}

// Abandoned walks what writers that died have left below a prefix of a store;
// nothing where the store can hold none.
func Abandoned(ctx context.Context, s Store, prefix string) iter.Seq2[Object, error] {
	if l, ok := s.(Leaver); ok {
		return l.Abandoned(ctx, prefix)
	}
	return func(func(Object, error) bool) {}
}

// Sweep removes what writers that died have left below a prefix of the deck.
func (d *Deck) Sweep(ctx context.Context, prefix string) (removed int, err error) {
	l, ok := d.store.(Leaver)
	if !ok {
		return 0, nil
	}
	for o, err := range l.Abandoned(ctx, prefix) {
		if err == nil {
			err = l.RemoveAbandoned(ctx, o.Key)
		}
		if err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// abandonedAfter is the age at which a temporary file is taken for abandoned
// where the file system cannot say whether its writer lives. No write takes that
// long; one that does begins anew.
const abandonedAfter = time.Hour

// Abandoned finds the temporary files whose lock nobody holds: the system lets go
// of it when a process ends, however it ends.
func (s *fileStore) Abandoned(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		if err := checkList(ctx, "file", prefix); err != nil {
			yield(Object{}, err)
			return
		}
		root, err := s.open(false)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err == nil {
			dir, _ := path.Split(prefix)
			err = s.walkTemps(ctx, root, path.Clean(dir), func(o Object) bool { return !strings.HasPrefix(o.Key, prefix) || yield(o, nil) })
		}
		if err != nil && !errors.Is(err, errStop) {
			yield(Object{}, fileError("list", prefix, err))
		}
	}
}

func (s *fileStore) walkTemps(ctx context.Context, root *os.Root, dir string, visit func(Object) bool) error {
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
		case e.Type().IsRegular() && strings.HasPrefix(e.Name(), tempPrefix):
			size, abandoned, err := s.abandoned(root, key)
			if err != nil {
				return err
			}
			if abandoned && !visit(Object{Key: key, Size: size}) {
				return errStop
			}
		}
	}
	return nil
}

func (s *fileStore) abandoned(root *os.Root, key string) (size int64, _ bool, err error) {
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

func (s *fileStore) ReadAbandoned(ctx context.Context, key string) ([]byte, error) {
	if err := checkTemp(ctx, "get", key); err != nil {
		return nil, err
	}
	return s.get(key)
}

func (s *fileStore) RemoveAbandoned(ctx context.Context, key string) error {
	if err := checkTemp(ctx, "delete", key); err != nil {
		return err
	}
	return s.remove(key)
}

// checkTemp accepts the name of a temporary file in a folder of the store.
func checkTemp(ctx context.Context, op, key string) error {
	dir, name := path.Split(key)
	if !strings.HasPrefix(name, tempPrefix) {
		return &StoreError{Op: op, Scheme: "file", Key: shorten(key), Reason: "not a temporary file", Permanent: true, Err: ErrBadKey}
	}
	return checkGet(ctx, op, "file", dir+strings.TrimPrefix(name, "."))
}
