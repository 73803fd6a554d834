// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package main

import (
	"testing"
	"time"
)

// TestALongDayIsAsPlanned: with several times the runs, compacted once and every hour.
func TestALongDayIsAsPlanned(t *testing.T) {
	warm(t)
	t.Run("1 run per second", func(t *testing.T) { confirm(t, 1, 50, 0) })
	t.Run("1 run per second, hourly", func(t *testing.T) { confirm(t, 1, 50, time.Hour) })
	t.Run("100 runs per second", func(t *testing.T) { confirm(t, 100, 400, 0) })
	t.Run("100 runs per second, hourly", func(t *testing.T) { confirm(t, 100, 400, time.Hour) })
}
