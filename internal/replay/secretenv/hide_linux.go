// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package secretenv

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// hide erases the strings of the environment where the kernel has put them, and shows in /proc. The runtime
// has copies of its own.
func hide() error {
	begin, end, err := block()
	if err == nil && end > begin {
		err = overwrite(begin, make([]byte, end-begin))
	}
	if err != nil {
		err = fmt.Errorf("erase the environment in /proc: %w", err)
	}
	return errors.Join(err, unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
}

// block is where the environment lies: addresses in the memory of this process.
func block() (begin, end int64, err error) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0, err
	}
	return environmentAt(stat)
}

var errNoEnvironment = errors.New("/proc/self/stat does not say where it lies")

// environmentAt reads from a /proc/PID/stat where in memory the environment is.
func environmentAt(stat []byte) (begin, end int64, err error) {
	const envStart, envEnd = 47, 48      // of the fields from the third on
	const most = 64 << 20                // bytes; the kernel takes less
	at := bytes.LastIndexByte(stat, ')') // the second is a name, which holds anything
	fields := bytes.Fields(stat[at+1:])
	if at < 0 || len(fields) <= envEnd {
		return 0, 0, errNoEnvironment
	}
	begin, err1 := strconv.ParseInt(string(fields[envStart]), 10, 64)
	end, err2 := strconv.ParseInt(string(fields[envEnd]), 10, 64)
	if err1 != nil || err2 != nil || begin < 0 || end < begin || end-begin > most {
		return 0, 0, errNoEnvironment
	}
	return begin, end, nil
}

func overwrite(at int64, with []byte) error {
	memory, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = memory.WriteAt(with, at)
	return errors.Join(err, memory.Close())
}

// open undoes what hide has the kernel refuse, until it is called again.
func open() (again func()) {
	if dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || dumpable != 0 {
		return func() {}
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
		return func() {}
	}
	return func() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
}
