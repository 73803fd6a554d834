// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"testing"
	"time"
)

func TestWhenIsATimeOrAnAge(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-11-20": time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), "2026-11-20T12:00:00Z": time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC),
		"36h": now.Add(-36 * time.Hour), "7d": now.AddDate(0, 0, -7), "0d": now,
	} {
		if got, err := ParseTime(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "7", "-3h", "7dd", "2026-13-01"} {
		if got, err := ParseTime(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
