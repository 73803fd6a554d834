// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// Overlap reports two calls that have a moment in common.
func Overlap(a, b *Call) bool { return a.Start <= b.End && b.Start <= a.End }

// Beside reports two calls that overlap in time, give or take the slack of clocks.
func Beside(a, b *Call) bool {
	return a.Start <= b.End+spantree.ClockSlack && b.Start <= a.End+spantree.ClockSlack
}

// Apart is the time between two instants, whichever comes first.
func Apart(a, b uint64) uint64 { return max(a, b) - min(a, b) }
