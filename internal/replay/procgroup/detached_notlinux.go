// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package procgroup

import "time"

func starting(start func() (pid int, err error)) error {
	_, err := start()
	return err
}

func hasEnded(int) {}

// Adopt has nothing to offer here: what leaves the group of a command outlives it.
func Adopt(string) (end func(grace time.Duration) (names []string)) {
	return func(time.Duration) []string { return nil }
}
