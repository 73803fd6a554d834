// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"errors"
	"os"
	"syscall"
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
