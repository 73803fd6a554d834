// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapeexporter

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
)

// levels are those of the reels of a deck.
func (r *rig) levels(t *testing.T) (levels []int) {
	t.Helper()
	for _, key := range decktest.Keys(t, r.faults) {
		if n, ok := reel.ParseName(key); ok {
			levels = append(levels, n.Level)
		}
	}
	return levels
}

func TestACollectorMergesTheReelsOfItsDeck(t *testing.T) {
	r := reelRig(t, "reels-compaction", func(c *Config) {
		c.Reel.MaxRuns = 1
		c.Compaction.Interval, c.Compaction.grace = time.Second, time.Nanosecond
	})
	const all = 5
	for i := range byte(all) {
		td := ptrace.NewTraces()
		agentTrace(td, i+1, "acme")
		require.NoError(t, r.ConsumeTraces(t.Context(), td))
	}
	require.Eventually(t, func() bool { levels := r.levels(t); return len(levels) == 1 && levels[0] > 0 }, time.Minute, 10*time.Millisecond)
	r.stop(t)
	require.Len(t, runsOf(t, "mem://reels-compaction"), all)
}

// A collector that is stopped while it merges ends at once, and readers see what they saw.
func TestTheShutdownInterruptsACompaction(t *testing.T) {
	r := reelRig(t, "reels-interrupted", func(c *Config) {
		c.Reel.MaxRuns = 1
		c.Compaction.Interval, c.Compaction.grace = time.Second, time.Hour
	})
	for i := range byte(3) {
		td := ptrace.NewTraces()
		agentTrace(td, i+1, "acme")
		require.NoError(t, r.ConsumeTraces(t.Context(), td))
	}
	// It has written what it merged, and waits for the grace before it deletes what it merged it from.
	require.Eventually(t, func() bool { return slices.Max(r.levels(t)) > 0 }, time.Minute, 10*time.Millisecond)
	r.stop(t)
	require.Len(t, runsOf(t, "mem://reels-interrupted"), 3)
}

func TestCompactionThatCannotWorkIsRefused(t *testing.T) {
	for problem, edit := range map[string]func(*Config){
		"interval must be":         func(c *Config) { c.Compaction.Interval = time.Millisecond },
		"nothing to compact":       func(c *Config) { c.Layout, c.Compaction.Interval = "files", time.Minute },
		"max_bytes must not be 0":  func(c *Config) { c.Compaction.MaxBytes = 0 },
		"the size of a reel":       func(c *Config) { c.Compaction.MaxBytes = 5 },
		"must not be less than no": func(c *Config) { c.Compaction.OlderThan = -1 },
	} {
		c := createDefaultConfig().(*Config)
		c.Deck = "mem://x"
		edit(c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", problem, err)
		}
	}
}
