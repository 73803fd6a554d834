// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package lateverdict

import "testing"

// Bound sets other bounds for a test.
func Bound(t *testing.T, runs, given int) {
	before := [2]int{mostRuns, mostGiven}
	mostRuns, mostGiven = runs, given
	t.Cleanup(func() { mostRuns, mostGiven = before[0], before[1] })
}
