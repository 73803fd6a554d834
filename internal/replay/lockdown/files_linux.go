// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package lockdown

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mount lays out the files of a command. Without any of it the command could write what is not its own, so
// the first failure is one of the whole.
func (f *Files) mount() (err error) {
	points, err := mountPoints()
	if err != nil {
		return err
	}
	// What is laid over must still be found: it is held open by its descriptor.
	held := map[string]int{}
	defer func() {
		for _, fd := range held {
			_ = unix.Close(fd)
		}
	}()
	hold := func(path string) error {
		if _, known := held[path]; known {
			return nil
		}
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return &fs.PathError{Op: "open", Path: path, Err: err}
		}
		held[path] = fd
		return nil
	}
	bind := func(from, at string) error {
		if err := unix.Mount("/proc/self/fd/"+strconv.Itoa(held[from]), at, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return &fs.PathError{Op: "bind " + from + " to", Path: at, Err: err}
		}
		return nil
	}
	for _, dir := range f.Open {
		err = errors.Join(err, hold(dir))
	}
	for _, c := range f.Copies {
		err = errors.Join(err, hold(c.From))
	}
	for _, o := range f.Overlays {
		err = errors.Join(err, hold(o.Dir), hold(o.Upper), hold(o.Work)) // they may lie in a folder that is laid over before
		for _, point := range points {
			if below(point, o.Dir) {
				_ = hold(point) // one that cannot be opened cannot be seen either
			}
		}
	}
	if err != nil {
		return err
	}
	for _, o := range f.Overlays {
		options := fmt.Sprintf("lowerdir=/proc/self/fd/%d,upperdir=/proc/self/fd/%d,workdir=/proc/self/fd/%d,userxattr", held[o.Dir], held[o.Upper], held[o.Work])
		if err := unix.Mount("overlay", o.Dir, "overlay", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
			return &fs.PathError{Op: "lay over", Path: o.Dir, Err: err}
		}
		for _, point := range points { // an overlay does not show what is mounted below
			if _, known := held[point]; known && below(point, o.Dir) {
				if err := bind(point, point); err != nil {
					return err
				}
			}
		}
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("make all files read-only: %w", err)
	}
	if err := unix.Mount("tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"); err != nil && !errors.Is(err, unix.ENOENT) {
		return &fs.PathError{Op: "mount", Path: "/dev/shm", Err: err}
	}
	for _, own := range []string{"/proc", "/dev/pts"} { // no files of anybody; what of them is read-only is so by itself
		_ = writable(own)
	}
	for _, o := range f.Overlays {
		if err := writable(o.Dir); err != nil {
			return err
		}
	}
	for _, dir := range f.Open {
		if err := errors.Join(bind(dir, dir), writable(dir)); err != nil {
			return err
		}
	}
	for _, c := range f.Copies {
		if err := os.MkdirAll(c.At, 0o755); err != nil {
			return fmt.Errorf("the folder of the copy: %w", err)
		}
		if err := errors.Join(bind(c.From, c.At), writable(c.At)); err != nil {
			return err
		}
	}
	return nil
}

// below reports a path that lies below a folder.
func below(path, dir string) bool {
	return path != dir && strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// writable takes away that a mount is read-only.
func writable(path string) error {
	if err := unix.MountSetattr(unix.AT_FDCWD, path, 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return &fs.PathError{Op: "open to writing", Path: path, Err: err}
	}
	return nil
}

// mountPoints are the places at which something is mounted, those above first.
func mountPoints() (points []string, err error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(table) {
		if fields := bytes.Fields(line); len(fields) > 4 {
			points = append(points, filepath.Clean(octal(string(fields[4]))))
		}
	}
	slices.Sort(points)
	return slices.Compact(points), nil
}

// octal undoes how the kernel writes what divides its fields.
func octal(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
