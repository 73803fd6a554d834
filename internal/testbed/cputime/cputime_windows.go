// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package cputime

import (
	"fmt"
	"syscall"
	"time"
)

// Used is the user and system time of the process, garbage collection included.
func Used() time.Duration {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		panic(fmt.Sprintf("process: %v", err))
	}
	var created, exited, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(self, &created, &exited, &kernel, &user); err != nil {
		panic(fmt.Sprintf("process times: %v", err))
	}
	ticks := func(t syscall.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) } // of 100 ns
	return time.Duration(ticks(kernel)+ticks(user)) * 100
}
