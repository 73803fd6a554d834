// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package cputime

import (
	"fmt"
	"syscall"
	"time"
)

// Used is the user and system time of the process, garbage collection included.
func Used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(fmt.Sprintf("getrusage: %v", err)) // it fails for arguments that do not exist alone
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
