// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package file

import (
	"errors"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// fdFolder is an open folder by its descriptor.
type fdFolder int

// openDirect opens a folder by its path with one call, which follows no link out of the store.
func (t *tree) openDirect(dir string) (folder, error) {
	fd, err := t.openBeneath(dir)
	if err != nil {
		return nil, err
	}
	return fdFolder(fd), nil
}

func (t *tree) openBeneath(dir string) (fd int, err error) {
	raw, err := t.folder.SyscallConn()
	if err != nil {
		return -1, err
	}
	if controlErr := raw.Control(func(root uintptr) { fd, err = openBeneath(int(root), dir) }); controlErr != nil {
		return -1, controlErr
	}
	return fd, err
}

func openBeneath(at int, dir string) (fd int, err error) {
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH}
	err = again(func() error {
		fd, err = unix.Openat2(at, dir, &how)
		return err
	})
	return fd, err
}

// again repeats a call that a signal has interrupted.
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (f fdFolder) device() uint64 {
	var stat unix.Stat_t
	if again(func() error { return unix.Fstat(int(f), &stat) }) != nil {
		return 0
	}
	return uint64(stat.Dev)
}

func (f fdFolder) mkdir(name string) error {
	return again(func() error { return unix.Mkdirat(int(f), name, folderMode) })
}

func (f fdFolder) open(name string) (folder, error) {
	fd, err := openBeneath(int(f), name)
	if err != nil {
		return nil, err
	}
	return fdFolder(fd), nil
}

func (f fdFolder) holdsFile(name string) (bool, error) {
	var stat unix.Stat_t
	err := again(func() error { return unix.Fstatat(int(f), name, &stat, unix.AT_SYMLINK_NOFOLLOW) })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err == nil && stat.Mode&unix.S_IFMT != unix.S_IFREG:
		return false, errNotAFile
	}
	return err == nil, err
}

func (f fdFolder) create(name string) (file *os.File, err error) {
	err = again(func() error {
		fd, err := unix.Openat(int(f), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, fileMode)
		if err == nil {
			file = os.NewFile(uintptr(fd), name)
		}
		return err
	})
	return file, err
}

func (f fdFolder) publish(name, as string, rename bool) (bool, error) {
	if rename {
		switch err := again(func() error { return unix.Renameat2(int(f), name, int(f), as, unix.RENAME_NOREPLACE) }); {
		case err == nil:
			return true, nil
		case errors.Is(err, fs.ErrNotExist):
			return false, err
		}
		// The name is taken, or something that the link will say too.
	}
	err := again(func() error { return unix.Linkat(int(f), name, int(f), as, 0) })
	return linked(err, func() error { return f.remove(name) })
}

func (f fdFolder) remove(name string) error {
	return ignoreNotExist(again(func() error { return unix.Unlinkat(int(f), name, 0) }))
}

func (f fdFolder) sync() error { return again(func() error { return unix.Fsync(int(f)) }) }

func (f fdFolder) Close() error { return unix.Close(int(f)) }

// readDirect is readEntries with as few calls as there can be.
func (t *tree) readDirect(dir string) ([]entry, error) {
	fd, err := t.openBeneath(dir)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), dir)
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	entries := make([]entry, 0, len(names))
	for _, name := range names {
		var stat unix.Stat_t
		err := again(func() error { return unix.Fstatat(fd, name, &stat, unix.AT_SYMLINK_NOFOLLOW) })
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // removed since the folder was read
		case err != nil:
			return nil, err
		}
		e := entry{name: name, mode: fs.ModeIrregular, size: stat.Size}
		switch stat.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			e.mode = 0
			e.version = strconv.FormatUint(stat.Ino, 36) + "-" + strconv.FormatInt(stat.Ctim.Nano(), 36)
		case unix.S_IFDIR:
			e.mode = fs.ModeDir
		}
		entries = append(entries, e)
	}
	return entries, nil
}
