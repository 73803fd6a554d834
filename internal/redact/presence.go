// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import "sync/atomic"

// A component that requires redacted spans has to know at its start whether anything in the process will bring them. A collector creates all components
// before it starts the first. So every start knows what was announced at creation.

var announced atomic.Int64

// Announce says that a redactor of spans is part of this process, until withdraw is called.
func Announce() (withdraw func()) {
	announced.Add(1)
	var done atomic.Bool
	return func() {
		if done.CompareAndSwap(false, true) {
			announced.Add(-1)
		}
	}
}

// Announced reports whether a redactor of spans is part of this process.
func Announced() bool { return announced.Load() > 0 }
