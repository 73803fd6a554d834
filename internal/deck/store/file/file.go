// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package file keeps decks in folders. Importing it adds the scheme file. Local
// paths have that scheme too.
package file

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tapedeck/tapedeck/internal/deck"
)

func init() { deck.Register("file", check, open) }

// store keeps objects as files below one folder.
//
// Invariants:
//
//   - A file under its final name is complete and was synced before it got the name.
//   - The name is given by link(2), which fails if it exists, so that one writer wins on every machine that shares the file system.
//   - PutNew returns after the folder that holds the name, and every folder above it that is new, are synced.
//
// All access goes through os.Root: no key and no symbolic link leads out of the folder.
type store struct {
	folder string
	sync   bool
	lock   func(*os.File) error // of a temporary file: lockTemp
	now    func() time.Time

	mu   sync.Mutex
	tree *tree // nil until the folder exists and is needed
	// durable holds folders whose entry in their parent this process has
	// synced. Cleared when full: it only saves work.
	durable map[string]struct{}
}

// tree is the open folder of a store.
type tree struct {
	*os.Root
	group  groupSync
	device uint64 // of the file system that the group syncs; 0 for none
	folder *os.File
}

// holds tells whether a folder lies on the file system that the group syncs. Another one may be mounted there.
func (t *tree) holds(folder *os.Root) bool { return t.device != 0 && t.device == deviceOf(folder) }

// maxDurable bounds the memory of durable (some 10 MB of names).
const maxDurable = 1 << 16

// open opens file:///path or a local path. The folder is made by the first
// write.
func open(_ context.Context, u *url.URL) (deck.Store, error) {
	doSync, _ := deck.BoolOption(u, "sync", true)
	folder, err := filepath.Abs(filepath.FromSlash(u.Path))
	if err != nil {
		return nil, deck.BadURL("file", "the path cannot be made absolute")
	}
	if blocked(folder) {
		return nil, deck.BadURL("file", "the path leads through a file, or ends at one; a deck is a folder")
	}
	return &store{folder: folder, sync: doSync, lock: lockTemp, now: time.Now, durable: map[string]struct{}{}}, nil
}

// check is the CheckFunc of file URLs.
func check(u *url.URL) error {
	if u.Host != "" && u.Host != "localhost" {
		return deck.BadURL("file", "file URLs have three slashes: file:///path")
	}
	if u.Path == "" {
		return deck.BadURL("file", "no path")
	}
	if err := deck.CheckOptions(u, []string{"sync"}); err != nil {
		return err
	}
	_, err := deck.BoolOption(u, "sync", true)
	return err
}

// blocked reports whether something that is no folder stands where the folder,
// or one above it, has to be. A folder that is not there yet, or that may not
// be looked at, may still become one.
func blocked(folder string) bool {
	for {
		switch info, err := os.Stat(folder); {
		case err == nil:
			return !info.IsDir()
		case folder == filepath.Dir(folder):
			return false
		}
		folder = filepath.Dir(folder)
	}
}

func (s *store) PutNew(ctx context.Context, key string, body []byte, _ string) (bool, error) {
	return s.PutAllNew(ctx, []deck.NewObject{{Key: key, Body: body}})
}

// PutAllNew makes the store a [deck.BatchStore]. The contents share a sync, and so do the names. A crash in between leaves no name of a later object
// without those of the earlier ones where the file system keeps a journal, and that is where syncs are shared; elsewhere each object has its own.
func (s *store) PutAllNew(ctx context.Context, objects []deck.NewObject) (created bool, err error) {
	for _, o := range objects {
		if err := deck.CheckPut(ctx, "file", o.Key, o.Body); err != nil {
			return false, err
		}
	}
	// A folder can vanish between two steps, when a Delete elsewhere empties it.
	const attempts = 5
	for attempt := 1; ; attempt++ {
		isNew, err := s.tryPut(objects)
		created = created || isNew
		if err == nil {
			return created, nil
		}
		if errors.Is(err, errApart) {
			for _, o := range objects {
				one, err := s.PutAllNew(ctx, []deck.NewObject{o})
				if err != nil {
					return created, err
				}
				created = created || one
			}
			return created, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || attempt == attempts {
			return false, fileError("put", objects[0].Key, err)
		}
		for _, o := range objects {
			s.forget(path.Dir(o.Key), attempt > 1)
		}
	}
}

// pending is an object that is being written.
type pending struct {
	dir    string
	folder *os.Root
	name   string
	fresh  []string // folders that are not durable yet
	temp   string
	file   *os.File // nil when the name is taken
}

func (s *store) tryPut(objects []deck.NewObject) (created bool, err error) {
	root, err := s.openTree(true)
	if err != nil {
		return false, err
	}
	all := make([]*pending, 0, len(objects))
	defer func() {
		for _, p := range all {
			err = errors.Join(err, p.end())
		}
	}()
	written := false
	for _, o := range objects {
		p, err := s.prepare(root.Root, o.Key)
		if p != nil {
			for _, before := range all {
				p.fresh = slices.DeleteFunc(p.fresh, func(dir string) bool { return slices.Contains(before.fresh, dir) })
			}
			all = append(all, p)
		}
		if err == nil && len(objects) > 1 && !root.holds(p.folder) {
			err = errApart
		}
		if err == nil && p.file != nil {
			written = true
			_, err = p.file.Write(o.Body)
		}
		if err != nil {
			return false, err
		}
	}
	if written {
		err := s.makeDurable(root, all, func(p *pending) error {
			if p.file == nil {
				return nil
			}
			return p.file.Sync()
		})
		if err != nil {
			return false, err
		}
	}
	for _, p := range all {
		isNew, err := p.link()
		if err != nil {
			return created, err
		}
		created = created || isNew
	}
	// Also of names that are taken: their writer may not have come to the sync of the folder.
	synced := ""
	return created, s.makeDurable(root, all, func(p *pending) error {
		if p.dir == synced {
			return nil
		}
		synced = p.dir
		return s.syncFolder(p.folder)
	})
}

// prepare opens the folder of an object, and a temporary file in it unless the name is taken. What it returns has to be ended, also with an error.
func (s *store) prepare(root *os.Root, key string) (*pending, error) {
	dir, name := path.Split(key)
	dir = path.Clean(dir)
	fresh, err := s.makeFolders(root, dir)
	if err != nil {
		return nil, err
	}
	// One walk down the path; everything else is relative to the folder.
	folder, err := root.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	p := &pending{dir: dir, folder: folder, name: name, fresh: fresh}
	info, err := folder.Lstat(name)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return p, errNotAFile
	case err == nil:
		return p, nil
	case !errors.Is(err, fs.ErrNotExist):
		return p, err
	}
	p.temp = deck.TempPrefix + rand.Text()
	if p.file, err = folder.OpenFile(p.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err != nil {
		return p, err
	}
	// Held while the file is written. From then until it has its name a sweep may take it away, which tryPut takes for a folder that vanished.
	_ = s.lock(p.file) // where there are no locks, a sweep goes by the age
	return p, nil
}

// link gives a complete, synced file its final name unless the name is taken.
func (p *pending) link() (created bool, err error) {
	if p.file == nil {
		return false, nil
	}
	err = p.file.Close()
	p.file = nil
	if err != nil {
		return false, err
	}
	err = p.folder.Link(p.temp, p.name)
	created = err == nil
	switch {
	case errors.Is(err, fs.ErrExist):
		err = nil
	case errors.Is(err, syscall.EPERM), errors.Is(err, errors.ErrUnsupported):
		err = errNoLinks
	}
	if err == nil {
		err = p.removeTemp()
	}
	return created, err
}

func (p *pending) removeTemp() error {
	if p.temp == "" {
		return nil
	}
	temp := p.temp
	p.temp = ""
	return ignoreNotExist(p.folder.Remove(temp))
}

// end lets go of what an object has open, and of a temporary file that did not get its name.
func (p *pending) end() error {
	var err error
	if p.file != nil {
		err = p.file.Close()
	}
	return errors.Join(err, p.removeTemp(), p.folder.Close())
}

func (s *store) Get(ctx context.Context, key string) ([]byte, error) {
	if err := deck.CheckGet(ctx, "get", "file", key); err != nil {
		return nil, err
	}
	return s.get(key, 0, -1)
}

func (s *store) GetRange(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	if err := deck.CheckGet(ctx, "get", "file", key); err != nil {
		return nil, err
	}
	if length < 0 {
		return nil, deck.CheckRange("file", key, offset, length, 0)
	}
	return s.get(key, offset, length)
}

// get reads an object from an offset: length bytes, or to its end if that is negative.
func (s *store) get(key string, offset, length int64) ([]byte, error) {
	root, err := s.open()
	if err != nil {
		return nil, fileError("get", key, err)
	}
	// Looked at before it is opened: opening a pipe would wait for a writer.
	if info, err := root.Stat(key); err != nil {
		return nil, fileError("get", key, err)
	} else if !info.Mode().IsRegular() {
		return nil, deck.NotFound("file", key)
	}
	f, err := root.Open(key)
	if err != nil {
		return nil, fileError("get", key, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fileError("get", key, err)
	}
	if info.Size() > deck.MaxObjectBytes {
		return nil, deck.TooLarge("get", "file", key)
	}
	if length < 0 {
		length = info.Size() - offset
	}
	if err := deck.CheckRange("file", key, offset, length, info.Size()); err != nil {
		return nil, err
	}
	body := make([]byte, length)
	if _, err := f.ReadAt(body, offset); err != nil && length > 0 {
		return nil, fileError("get", key, err)
	}
	return body, nil
}

func (s *store) Delete(ctx context.Context, key string) error {
	if err := deck.CheckGet(ctx, "delete", "file", key); err != nil {
		return err
	}
	return s.remove(key)
}

func (s *store) remove(key string) error {
	root, err := s.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fileError("delete", key, err)
	}
	info, err := root.Lstat(key)
	if err == nil && info.IsDir() {
		return nil // no object has this key
	}
	if err == nil {
		err = root.Remove(key)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fileError("delete", key, err)
	}
	// Emptied folders go too; the first that is still used stops it.
	dir := path.Dir(key)
	for ; dir != "."; dir = path.Dir(dir) {
		if root.Remove(dir) != nil {
			break
		}
		s.forget(dir, false)
	}
	if err := s.syncPath(root, dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fileError("delete", key, err)
	}
	return nil
}

func (s *store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tree == nil {
		return nil
	}
	t := s.tree
	s.tree = nil
	return errors.Join(t.folder.Close(), t.Root.Close())
}

// open returns the root, opened once.
func (s *store) open() (*os.Root, error) {
	t, err := s.openTree(false)
	if err != nil {
		return nil, err
	}
	return t.Root, nil
}

// openTree is open with what writers need. With create a missing folder is made.
func (s *store) openTree(create bool) (*tree, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tree != nil {
		return s.tree, nil
	}
	root, err := os.OpenRoot(s.folder)
	if errors.Is(err, fs.ErrNotExist) && create {
		if err := s.makeFolder(s.folder); err != nil {
			return nil, err
		}
		root, err = os.OpenRoot(s.folder)
	}
	if err != nil {
		return nil, err
	}
	t := &tree{Root: root}
	if t.folder, err = root.Open("."); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	if t.group.whole = syncFileSystem(t.folder); t.group.whole != nil {
		t.device = deviceOf(root)
	}
	s.tree = t
	return t, nil
}

// makeFolder makes the folder of the store and those above it, and syncs the
// parent of each new one.
func (s *store) makeFolder(folder string) error {
	err := os.Mkdir(folder, 0o755)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(folder) != folder {
		if err := s.makeFolder(filepath.Dir(folder)); err != nil {
			return err
		}
		err = os.Mkdir(folder, 0o755)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(folder))
	if err != nil {
		return err
	}
	defer parent.Close()
	return s.syncFile(parent)
}

// makeFolders makes dir and the folders above it, and returns those that this
// process has not made durable, the highest first. A folder that exists is no
// proof: its maker may be about to sync it, or may have died.
func (s *store) makeFolders(root *os.Root, dir string) (fresh []string, err error) {
	if dir == "." || s.isDurable(dir) {
		return nil, nil
	}
	if fresh, err = s.makeFolders(root, path.Dir(dir)); err != nil {
		return nil, err
	}
	if err := root.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return append(fresh, dir), nil
}

// makeDurable returns when the fresh folders of objects, and what own would sync for each of them, are durable. Several writers do it as a
// group.
func (s *store) makeDurable(root *tree, all []*pending, own func(*pending) error) error {
	if !s.sync {
		return nil
	}
	each := func() error {
		for _, p := range all {
			for _, dir := range p.fresh {
				if err := s.syncPath(root.Root, path.Dir(dir)); err != nil {
					return err
				}
			}
			if err := own(p); err != nil {
				return err
			}
		}
		return nil
	}
	sync := root.group.sync
	for _, p := range all {
		if !root.holds(p.folder) {
			sync = func(each func() error) error { return each() }
		}
	}
	if err := sync(each); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range all {
		if len(s.durable)+len(p.fresh) > maxDurable {
			clear(s.durable)
		}
		for _, dir := range p.fresh {
			s.durable[dir] = struct{}{}
		}
		p.fresh = nil
	}
	return nil
}

func (s *store) isDurable(dir string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.durable[dir]
	return ok
}

// forget drops what is believed about dir and the folders above it. With reopen
// it also lets go of the root, in case the whole deck was moved away. The old
// handle may be in use. It closes itself when it is collected.
func (s *store) forget(dir string, reopen bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; dir != "."; dir = path.Dir(dir) {
		delete(s.durable, dir)
	}
	if reopen {
		s.tree = nil
		clear(s.durable)
	}
}

func (s *store) syncPath(root *os.Root, dir string) error {
	if !s.sync {
		return nil
	}
	f, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return s.syncFile(f)
}

func (s *store) syncFolder(folder *os.Root) error { return s.syncPath(folder, ".") }

func (s *store) syncFile(folder *os.File) error {
	if !s.sync || runtime.GOOS == "windows" { // Windows cannot sync folders
		return nil
	}
	return folder.Sync()
}

var (
	errNotAFile = errors.New("something that is not a file has this name")
	errApart    = errors.New("these objects have to be written one by one")
	errNoLinks  = errors.New("this file system has no hard links, which create-only writes need")
)

func ignoreNotExist(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func fileError(op, key string, err error) error {
	if op == "get" && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) {
		return deck.NotFound("file", key)
	}
	permanent := errors.Is(err, errNotAFile) || errors.Is(err, errNoLinks)
	for _, final := range []error{fs.ErrPermission, syscall.EROFS, syscall.ENAMETOOLONG, syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP} {
		permanent = permanent || errors.Is(err, final)
	}
	// Two errors of os.Root have no name of their own: a link that leads out, and
	// a root that is a file.
	reason := deck.SafeReason(err)
	permanent = permanent || strings.Contains(reason, "path escapes") || reason == "not a directory"
	return &deck.StoreError{Op: op, Scheme: "file", Key: key, Permanent: permanent, Full: diskFull(err), Err: err}
}

// diskFull reports whether the disk or the quota of the user is full.
func diskFull(err error) bool {
	const windowsDiskFull = syscall.Errno(112)
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || runtime.GOOS == "windows" && errors.Is(err, windowsDiskFull)
}
