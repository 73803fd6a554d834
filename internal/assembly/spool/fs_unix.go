// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package spool

import (
	"os"
	"syscall"
)

const noFollow = syscall.O_NOFOLLOW

const errNoQuota = syscall.EDQUOT

// syncDir makes the names of files durable.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}
