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

// hide erases the strings of the environment where the kernel has put them, and shows in /proc. The runtime has copies of its own.
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
	const first, envStart, envEnd = 3, 50, 51 // fields, counted from 1; the name before the third can hold anything
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= envEnd-first {
		return 0, 0, errors.New("/proc/self/stat does not say where it lies")
	}
	begin, err1 := strconv.ParseInt(string(fields[envStart-first]), 10, 64)
	end, err2 := strconv.ParseInt(string(fields[envEnd-first]), 10, 64)
	return begin, end, errors.Join(err1, err2)
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
