// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package lockdown runs this program again where there is no network but a loopback of its own: on Linux, in a network namespace. What the
// program listens on there is reachable from what it starts, and nothing else is.
package lockdown

import (
	"errors"
	"os"
)

// ErrImpossible is returned, wrapped, where the system cannot do it.
var ErrImpossible = errors.New("the network cannot be shut here")

// marker tells the program that it runs inside, and names the network that it left. It is taken away before anything is started.
const marker = "TAPEDECK_LOCKDOWN"

// Enter makes the loopback ready where this process runs inside, and reports that it does.
func Enter() (inside bool, err error) {
	if os.Getenv(marker) == "" {
		return false, nil
	}
	outside := os.Getenv(marker)
	if err := os.Unsetenv(marker); err != nil {
		return true, err
	}
	return true, enter(outside)
}

// Inside reports, before Enter, that this process is to run inside.
func Inside() bool { return os.Getenv(marker) != "" }
