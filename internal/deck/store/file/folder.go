// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

// folder is an open folder of the store. Names are those of entries in it. It exists twice: as os.Root has it, which walks a path folder by folder, and with
// the calls of Linux that open a path at once and cannot be led out of the store either.
type folder interface {
	// device identifies the file system; 0 if it cannot be told.
	device() uint64
	mkdir(name string) error
	// open opens a folder in it. It may refuse a link; then the folder has to be opened by its whole path.
	open(name string) (folder, error)
	// holdsFile tells whether there is a file of that name. Something else is errNotAFile.
	holdsFile(name string) (bool, error)
	create(name string) (*os.File, error)
	// publish gives a file another name, unless that is taken. Its old name is gone afterwards if there is no error. With rename, the file system renames
	// without replacing, and every process on it sees the same winner.
	publish(name, as string, rename bool) (created bool, err error)
	remove(name string) error
	sync() error
	Close() error
}

// entry is something that lies in a folder.
type entry struct {
	name string
	mode fs.FileMode // its type
	size int64
	// version changes whenever the file does: its number in the file system and the time of the last change of anything in it, which nobody can set. "" where that is not known.
	version string
}

// rootFolder is a folder as os.Root has it.
type rootFolder struct{ *os.Root }

func (f rootFolder) device() uint64 { return deviceOf(f.Root) }

func (f rootFolder) mkdir(name string) error { return f.Mkdir(name, folderMode) }

func (f rootFolder) open(name string) (folder, error) {
	inner, err := f.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return rootFolder{inner}, nil
}

func (f rootFolder) holdsFile(name string) (bool, error) {
	info, err := f.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err == nil && !info.Mode().IsRegular():
		return false, errNotAFile
	}
	return err == nil, err
}

func (f rootFolder) create(name string) (*os.File, error) {
	return f.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
}

func (f rootFolder) publish(name, as string, _ bool) (bool, error) {
	return linked(f.Link(name, as), func() error { return f.remove(name) })
}

func (f rootFolder) remove(name string) error { return ignoreNotExist(f.Root.Remove(name)) }

func (f rootFolder) sync() error {
	if runtime.GOOS == "windows" { // which cannot sync folders
		return nil
	}
	file, err := f.Open(".")
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}

// What lies in a deck is for its owner alone, as what lies in a spool is. Files and folders that are there
// keep their modes.
const (
	folderMode = 0o700
	fileMode   = 0o600
)

// linked is what linking a file to its final name came to.
func linked(err error, removeOld func() error) (created bool, _ error) {
	created = err == nil
	switch {
	case errors.Is(err, fs.ErrExist):
		err = nil
	case errors.Is(err, syscall.EPERM), errors.Is(err, errors.ErrUnsupported):
		err = errNoLinks
	}
	if err == nil {
		err = removeOld()
	}
	return created, err
}

// openFolder opens a folder by its path.
func (t *tree) openFolder(dir string) (folder, error) {
	f, err := t.openDirect(dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	// Whatever the direct way refuses, os.Root decides.
	root, err := t.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return rootFolder{root}, nil
}

// readEntries returns what lies in a folder.
func (t *tree) readEntries(dir string) ([]entry, error) {
	entries, err := t.readDirect(dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return entries, err
	}
	f, err := t.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := f.ReadDir(-1)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	entries = make([]entry, 0, len(list))
	for _, e := range list {
		found := entry{name: e.Name(), mode: e.Type()}
		if e.Type().IsRegular() {
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // removed since the folder was read
			}
			if err != nil {
				return nil, err
			}
			found.size = info.Size()
		}
		entries = append(entries, found)
	}
	return entries, nil
}
