// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// fileSystem is one directory. Tests put one in its place that fails and forgets.
type fileSystem interface {
	Open(name string, flag int) (file, error)
	Remove(name string) error
	Rename(from, to string) error
	List() ([]fileEntry, error)
	SyncDir() error
	Lock() (io.Closer, error)
}

type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// WriteFrames writes buffers one behind the other from an offset on.
	WriteFrames(frames [][]byte, at int64) error
	Truncate(size int64) error
	// Sync makes the bytes written and the size durable; times and the like may be left out.
	Sync() error
	// Preallocate makes the file size bytes long and reserves the disk space where the system can do that.
	Preallocate(size int64) error
	Size() (int64, error)
}

type fileEntry struct {
	name    string
	size    int64
	regular bool
}

const lockName = "LOCK"

type osDir struct{ path string }

// newOSDir makes the directory and makes its name durable. It does the same for those of the directories
// above it that did not exist either: a power loss that takes a directory away loses what is synced in it. A
// symbolic link in the place of the directory or in it is refused, because whoever made it would choose where
// the content of a spool goes, or what is taken for it.
func newOSDir(path string) (osDir, error) {
	return makeDir(path, syncDir)
}

func makeDir(path string, sync func(string) error) (osDir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return osDir{}, err
	}
	var parents []string // of what has to be made
	for dir := abs; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) || dir == filepath.Dir(dir) {
			break
		}
		parents = append(parents, filepath.Dir(dir))
	}
	if err := noLink(abs); err != nil {
		return osDir{}, err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return osDir{}, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return osDir{}, err
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink != 0 {
			return osDir{}, linkError(filepath.Join(abs, e.Name()))
		}
	}
	for _, dir := range parents {
		if err := sync(dir); err != nil {
			return osDir{}, err
		}
	}
	return osDir{path}, nil
}

func noLink(path string) error {
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&os.ModeSymlink != 0 {
		return linkError(path)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func linkError(path string) error {
	return fmt.Errorf("%s is a symbolic link: a spool is a directory, and nothing in it leads elsewhere; name the directory itself", path)
}

// Open never follows a symbolic link, where the system supports that.
func (d osDir) Open(name string, flag int) (file, error) {
	f, err := os.OpenFile(filepath.Join(d.path, name), flag|noFollow, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (d osDir) Remove(name string) error { return os.Remove(filepath.Join(d.path, name)) }

func (d osDir) Rename(from, to string) error {
	return os.Rename(filepath.Join(d.path, from), filepath.Join(d.path, to))
}

func (d osDir) List() ([]fileEntry, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, err
	}
	var list []fileEntry
	for _, e := range entries {
		fi, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted since, by the process that has the log open
		}
		if err != nil {
			return nil, err
		}
		list = append(list, fileEntry{e.Name(), fi.Size(), fi.Mode().IsRegular()})
	}
	return list, nil
}

func (d osDir) SyncDir() error { return syncDir(d.path) }

func (d osDir) Lock() (io.Closer, error) {
	f, err := os.OpenFile(filepath.Join(d.path, lockName), os.O_CREATE|os.O_RDWR|noFollow, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

type osFile struct{ *os.File }

func (f osFile) WriteFrames(frames [][]byte, at int64) error { return writeFrames(f.File, frames, at) }

// writeEach is what writeFrames does where the system has no call for it.
func writeEach(f *os.File, frames [][]byte, at int64) error {
	for _, b := range frames {
		if _, err := f.WriteAt(b, at); err != nil {
			return err
		}
		at += int64(len(b))
	}
	return nil
}

func (f osFile) Sync() error { return syncData(f.File) }

func (f osFile) Preallocate(size int64) error { return preallocate(f.File, size) }

func (f osFile) Size() (int64, error) {
	fi, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return fi.Size(), nil
}

// isFull says whether an error means that the disk or the quota of the user is full.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, errNoQuota)
}
