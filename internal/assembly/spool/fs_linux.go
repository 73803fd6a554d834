// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// syncData leaves out what reading the data back does not need. With preallocated files that is most of the work.
func syncData(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if !errors.Is(err, syscall.EINTR) {
			return wrapPath("fdatasync", f, err)
		}
	}
}

// maxVector is how many buffers the kernel takes with one call (IOV_MAX).
const maxVector = 1024

// writeFrames writes the frames of a commit with one call, mostly, from where they lie.
func writeFrames(f *os.File, frames [][]byte, at int64) error {
	return writeVectors(f, frames, at, unix.Pwritev)
}

// writeVectors is writeFrames by a system call that may take a part of what it is given, also of one frame. The frames stay as they are: the index is made of them.
func writeVectors(f *os.File, frames [][]byte, at int64, pwritev func(fd int, buffers [][]byte, at int64) (int, error)) error {
	for len(frames) > 1 {
		n, err := pwritev(int(f.Fd()), frames[:min(len(frames), maxVector)], at)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err == nil && n == 0 {
			err = io.ErrShortWrite
		}
		if err != nil {
			return wrapPath("pwritev", f, err)
		}
		at += int64(n)
		for len(frames) > 0 && n >= len(frames[0]) {
			n, frames = n-len(frames[0]), frames[1:]
		}
		if n > 0 { // the rest of a frame of which the disk has taken a part
			if _, err := f.WriteAt(frames[0][n:], at); err != nil {
				return err
			}
			at, frames = at+int64(len(frames[0])-n), frames[1:]
		}
	}
	return writeEach(f, frames, at)
}

// preallocate reserves disk space, so that a full disk fails the creation of a segment and not a write to it.
func preallocate(f *os.File, size int64) error {
	for {
		err := syscall.Fallocate(int(f.Fd()), 0, 0, size)
		if errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.ENOSYS) {
			return nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return wrapPath("fallocate", f, err)
		}
	}
}

func wrapPath(op string, f *os.File, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: f.Name(), Err: err}
}

// canPreallocate says whether Preallocate reserves disk space. If it does not, a reserved file would reserve nothing and is not made.
const canPreallocate = true
