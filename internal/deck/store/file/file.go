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
//   - The name is given by link(2), which fails if it exists, so that one writer wins on every machine that shares the file system. On a file system
//     of this machine alone it is given by renameat2(2), which fails likewise and is one change of the folder instead of two.
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
func (t *tree) holds(f folder) bool { return t.device != 0 && t.device == f.device() }

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

// opened is a folder that objects are written to.
type opened struct {
	dir    string
	folder folder
	fresh  []freshFolder // on the way to it, the highest first
	above  []folder      // that were opened on the way to it
	// rename: it lies on the file system that the group syncs, so its names may be given by renaming.
	rename bool
}

// freshFolder is a folder that is not durable before the one that holds it is synced.
type freshFolder struct {
	dir string
	in  folder
}

// pending is an object that is being written.
type pending struct {
	in   *opened
	name string
	temp string
	file *os.File // nil when the name is taken
}

func (s *store) tryPut(objects []deck.NewObject) (created bool, err error) {
	root, err := s.openTree(true)
	if err != nil {
		return false, err
	}
	var folders []*opened
	all := make([]*pending, 0, len(objects))
	defer func() {
		for _, p := range all {
			err = errors.Join(err, p.end())
		}
		for _, o := range folders {
			err = errors.Join(err, o.end())
		}
	}()
	written := false
	for _, object := range objects {
		dir, name := path.Split(object.Key)
		dir = path.Clean(dir)
		i := slices.IndexFunc(folders, func(o *opened) bool { return o.dir == dir })
		if i < 0 {
			o, err := s.openFolders(root, dir, folders)
			i, folders = len(folders), append(folders, o)
			if err != nil {
				return false, err
			}
			for _, before := range folders[:i] {
				o.fresh = slices.DeleteFunc(o.fresh, func(f freshFolder) bool {
					return slices.ContainsFunc(before.fresh, func(b freshFolder) bool { return b.dir == f.dir })
				})
			}
			if o.rename = root.holds(o.folder); len(objects) > 1 && !o.rename {
				return false, errApart
			}
		}
		p := &pending{in: folders[i], name: name}
		all = append(all, p)
		if err := s.begin(p); err != nil {
			return false, err
		}
		if p.file != nil {
			written = true
			if _, err := p.file.Write(object.Body); err != nil {
				return false, err
			}
		}
	}
	if written {
		err := s.makeDurable(root, folders, func() error {
			for _, p := range all {
				if p.file == nil {
					continue
				}
				if err := p.file.Sync(); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return false, err
		}
	}
	for _, p := range all {
		isNew, err := p.publish()
		if err != nil {
			return created, err
		}
		created = created || isNew
	}
	// Also of names that are taken: their writer may not have come to the sync of the folder.
	return created, s.makeDurable(root, folders, func() error {
		for _, o := range folders {
			if err := o.folder.sync(); err != nil {
				return err
			}
		}
		return nil
	})
}

// begin opens a temporary file for an object unless its name is taken.
func (s *store) begin(p *pending) error {
	if there, err := p.in.folder.holdsFile(p.name); err != nil || there {
		return err
	}
	p.temp = deck.TempPrefix + rand.Text()
	var err error
	if p.file, err = p.in.folder.create(p.temp); err != nil {
		return err
	}
	// Held while the file is written. From then until it has its name a sweep may take it away, which tryPut takes for a folder that vanished.
	_ = s.lock(p.file) // where there are no locks, a sweep goes by the age
	return nil
}

// publish gives a complete, synced file its final name unless the name is taken.
func (p *pending) publish() (created bool, err error) {
	if p.file == nil {
		return false, nil
	}
	err = p.file.Close()
	p.file = nil
	if err != nil {
		return false, err
	}
	if created, err = p.in.folder.publish(p.temp, p.name, p.in.rename); err == nil {
		p.temp = ""
	}
	return created, err
}

// end lets go of what an object has open, and of a temporary file that did not get its name.
func (p *pending) end() (err error) {
	if p.file != nil {
		err = p.file.Close()
	}
	if p.temp != "" {
		err = errors.Join(err, p.in.folder.remove(p.temp))
	}
	return err
}

func (o *opened) end() (err error) {
	for _, f := range append(o.above, o.folder) {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
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
	if err := s.syncPath(root.Root, dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
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
func (s *store) open() (*tree, error) { return s.openTree(false) }

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
	err := os.Mkdir(folder, folderMode)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(folder) != folder {
		if err := s.makeFolder(filepath.Dir(folder)); err != nil {
			return err
		}
		err = os.Mkdir(folder, folderMode)
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

// openFolders opens dir. It makes it, and the folders above it, unless this process has made them durable. A folder that exists is no proof: its
// maker may be about to sync it, or may have died. What it returns has to be ended, also with an error. It may
// stand on a folder that was opened earlier for the same objects, and is of no use when that has ended.
func (s *store) openFolders(root *tree, dir string, earlier []*opened) (*opened, error) {
	if dir == "." || s.isDurable(dir) {
		// If it has vanished since, tryPut is called again when that is forgotten.
		f, err := root.openFolder(dir)
		return &opened{dir: dir, folder: f}, err
	}
	o, name := &opened{}, path.Base(dir)
	var in folder
	if i := slices.IndexFunc(earlier, func(o *opened) bool { return o.dir == path.Dir(dir) }); i >= 0 {
		in = earlier[i].folder
	} else {
		var err error
		if o, err = s.openFolders(root, path.Dir(dir), earlier); err != nil {
			o.dir = dir
			return o, err
		}
		in = o.folder
		o.above, o.folder = append(o.above, in), nil
	}
	o.dir = dir
	if err := in.mkdir(name); err != nil && !errors.Is(err, fs.ErrExist) {
		return o, err
	}
	o.fresh = append(o.fresh, freshFolder{dir, in})
	f, err := in.open(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f, err = root.openFolder(dir)
	}
	if err == nil {
		o.folder = f
	}
	return o, err
}

// makeDurable returns when the fresh folders, and what own would sync, are durable. Several writers do it as a group.
func (s *store) makeDurable(root *tree, folders []*opened, own func() error) error {
	if !s.sync {
		return nil
	}
	each := func() error {
		for _, o := range folders {
			for _, f := range o.fresh {
				if err := f.in.sync(); err != nil {
					return err
				}
			}
		}
		return own()
	}
	sync := root.group.sync
	for _, o := range folders {
		if !o.rename {
			sync = func(each func() error) error { return each() }
		}
	}
	if err := sync(each); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range folders {
		if len(s.durable)+len(o.fresh) > maxDurable {
			clear(s.durable)
		}
		for _, f := range o.fresh {
			s.durable[f.dir] = struct{}{}
		}
		o.fresh = nil
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
