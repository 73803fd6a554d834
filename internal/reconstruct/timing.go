// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

// overlap reports two calls that have a moment in common.
func overlap(a, b *call) bool { return a.start <= b.end && b.start <= a.end }

// beside reports two calls that overlap in time, give or take the slack of clocks.
func beside(a, b *call) bool { return a.start <= b.end+clockSlack && b.start <= a.end+clockSlack }

// apart is the time between two instants, whichever comes first.
func apart(a, b uint64) uint64 { return max(a, b) - min(a, b) }
