// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package journal

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock keeps other programs out until the file is closed.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
