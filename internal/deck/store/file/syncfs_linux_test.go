// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package file

import "testing"

func TestFromWhichLinuxOnSyncfsTellsFailures(t *testing.T) {
	for release, want := range map[string]bool{
		"4.18.0-553.el8.x86_64": false, "5.7.19": false, "5.8.0": true, "5.10.0-28-amd64": true, "6.18.0": true, "10.0": true, "": false, "weird": false, "6": false,
	} {
		if got := tellsFailures(release); got != want {
			t.Errorf("%q: %v", release, got)
		}
	}
}
