// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package file

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockTemp holds until the file is closed or the process ends, however it ends.
func lockTemp(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errHeld
	}
	return err
}
