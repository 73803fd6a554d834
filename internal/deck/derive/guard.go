// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// ErrDefect is returned, wrapped, when this program cannot take the evidence because of a defect of its own. Nothing of the evidence has
// been stored yet. The sender has to keep it.
var ErrDefect = errors.New("a defect in this program")

// Recovered turns a panic into an error that wraps sentinel. One trace must not take the process down and with it all others: a spool would
// deliver the same trace again after each start. It stands, deferred, in every function through which evidence comes in.
func Recovered(err *error, sentinel error, trace string) {
	if p := recover(); p != nil {
		*err = defect(sentinel, trace, p)
	}
}

func defect(sentinel error, trace string, panicked any) error {
	return fmt.Errorf("%w (trace %s): %v\n%s", sentinel, trace, panicked, debug.Stack())
}
