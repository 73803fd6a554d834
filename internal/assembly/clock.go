// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"time"

	"github.com/jonboulle/clockwork"
)

// monotonicClock tells the time since the assembler was made. It does not move when the system clock is set forward or back. So no
// timeout ends early or late because of that.
type monotonicClock struct {
	clock   clockwork.Clock
	started time.Time
}

// now is in nanoseconds.
func (w monotonicClock) now() int64 { return int64(w.clock.Since(w.started)) }

// at converts a time of day to the value that now had then. For a time before this process began it is negative.
func (w monotonicClock) at(t time.Time) int64 { return int64(t.Sub(w.started)) }
