// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"fmt"
	"runtime/debug"
)

// Recovered turns a panic into an error that wraps sentinel; it is deferred. It guards every function that
// takes evidence in: a panic over one trace must not end the process, because a spool would deliver the same
// trace again after each start.
func Recovered(err *error, sentinel error, trace string) {
	if p := recover(); p != nil {
		*err = Defect(sentinel, trace, p)
	}
}

// Defect is the error about a panic. It holds the stack.
func Defect(sentinel error, trace string, panicked any) error {
	return fmt.Errorf("%w (trace %s): %v\n%s", sentinel, trace, panicked, debug.Stack())
}
