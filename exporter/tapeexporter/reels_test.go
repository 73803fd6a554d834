// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapeexporter

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/exporter/tapeexporter/internal/metadata"
	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
)

// reelRig is a rig on a deck of reels that has its marker.
func reelRig(t *testing.T, name string, edit ...func(*Config)) *rig {
	t.Helper()
	mem.Drop(name)
	r := newRig(t, "mem://"+name, func(c *Config) {
		c.Layout = "reels"
		c.Reel.MaxWait = 200 * time.Millisecond
		c.Retry.Enabled = false
		for _, edit := range edit {
			edit(c)
		}
	})
	decktest.MakeDeck(t, r.faults.Store, deck.LayoutReels)
	r.start(t)
	return r
}

// runsOf are the runs that a reader finds in a deck.
func runsOf(t *testing.T, url string) (runs []string) {
	t.Helper()
	d, err := deck.Open(t.Context(), url)
	require.NoError(t, err)
	defer d.Close()
	require.Equal(t, deck.LayoutReels, d.Layout())
	for l, err := range d.Locations(t.Context()) {
		require.NoError(t, err)
		current, ok, err := d.Current(t.Context(), l)
		require.NoError(t, err)
		if !ok {
			continue
		}
		for _, run := range current.Runs {
			_, err := d.ReadFile(t.Context(), l, current.Generation, run.Root, deck.TapeFile)
			require.NoError(t, err)
			runs = append(runs, string(l.Area)+"/"+l.TraceID+"-"+run.Root)
		}
	}
	return runs
}

func TestTracesOfACallShareAReelAndNothingIsRead(t *testing.T) {
	const all = 100
	r := reelRig(t, "reels-call", func(c *Config) { c.Reel.MaxRuns, c.Reel.MaxWait = all, 50*time.Second })
	r.faults.Reset()
	td := ptrace.NewTraces()
	for i := range byte(all) {
		agentTrace(td, i+1, "acme")
	}
	require.NoError(t, r.ConsumeTraces(t.Context(), td))
	var ops []decktest.Op
	for _, op := range r.faults.Ops() {
		if op.Key != "tapedeck.json" { // the first write of a process proves the storage on it
			ops = append(ops, op)
		}
	}
	require.Len(t, ops, 1)
	require.Equal(t, "put", ops[0].Name)
	r.stop(t)
	require.Len(t, runsOf(t, "mem://reels-call"), all)
}

// A batch of agentrun gives its worker back when all of its traces only wait, and shares a reel with those
// that come then.
func TestABatchIsIdleWhenAllOfItWaits(t *testing.T) {
	const half = 20 // more than are worked on at once
	r := reelRig(t, "reels-batch", func(c *Config) { c.Reel.MaxRuns, c.Reel.MaxWait, c.Timeout.Timeout = 2*half, time.Hour, 2*time.Hour })
	idle, done := make(chan struct{}), make(chan error, 1)
	batch := func(first byte) ptrace.Traces {
		td := ptrace.NewTraces()
		for i := range byte(half) {
			agentTrace(td, first+i, "acme")
		}
		return td
	}
	go func() {
		done <- r.ConsumeTraces(handover.OnIdle(t.Context(), sync.OnceFunc(func() { close(idle) })), batch(1))
	}()
	<-idle
	require.NoError(t, r.ConsumeTraces(handover.OnIdle(t.Context(), func() {}), batch(100)))
	require.NoError(t, <-done)
	keys := r.objects(t)
	r.stop(t)
	require.Len(t, runsOf(t, "mem://reels-batch"), 2*half)
	require.Equal(t, 1, count(keys, ".parquet"), keys)
}

func TestAFailingTraceFailsAlone(t *testing.T) {
	r := reelRig(t, "reels-alone", func(c *Config) { // a reel closes when all that can be stored are there, whenever that is
		c.Reel.MaxRuns, c.Reel.MaxWait, c.Timeout.Timeout = 9, time.Hour, 2*time.Hour
	})
	td := ptrace.NewTraces()
	for i := range byte(10) {
		agentTrace(td, i+1, "acme")
	}
	// The gate finds a secret in one of them.
	secret := td.ResourceSpans().At(3).ScopeSpans().At(0).Spans().At(2)
	secret.Attributes().PutStr("gen_ai.tool.call.result", `{"token":"ghp_1234567890abcdefghijklmnopqrstuvwxyzAB"}`)
	require.NoError(t, r.ConsumeTraces(t.Context(), td))
	keys := r.objects(t)
	r.stop(t)
	require.Len(t, runsOf(t, "mem://reels-alone"), 9)
	require.Equal(t, 1, count(keys, ".parquet"), keys)
	require.NotZero(t, count(keys, "quarantine/runs/acme/"), keys)
}

func TestAStoreThatFailsIsToldToEverybodyWhoWaits(t *testing.T) {
	r := reelRig(t, "reels-store")
	require.NoError(t, r.ConsumeTraces(t.Context(), oneTrace(200, "acme")))
	r.faults.Reset()
	r.faults.FailBefore(1, errAway)
	td := ptrace.NewTraces()
	for i := range byte(10) {
		agentTrace(td, i+1, "acme")
	}
	require.ErrorIs(t, r.ConsumeTraces(t.Context(), td), errAway.Err)
	require.NoError(t, r.ConsumeTraces(t.Context(), td)) // whoever has the evidence tries again
	require.NoError(t, r.ConsumeTraces(t.Context(), td)) // or once more
	r.stop(t)
	require.Len(t, runsOf(t, "mem://reels-store"), 11)
}

func TestLayoutSettingsAreChecked(t *testing.T) {
	for name, edit := range map[string]func(*Config){
		"layout must be files, reels or empty": func(c *Config) { c.Layout = "parquet" },
		"max_bytes must be at least":           func(c *Config) { c.Reel.MaxBytes = 1 },
		"max_runs must be at least":            func(c *Config) { c.Reel.MaxRuns = 0 },
		"max_wait must be between":             func(c *Config) { c.Reel.MaxWait = 0 },
		"timeout must be longer than":          func(c *Config) { c.Layout, c.Timeout.Timeout = "reels", time.Second },
	} {
		cfg := createDefaultConfig().(*Config)
		cfg.Deck = "mem://x"
		require.NoError(t, cfg.Validate())
		edit(cfg)
		require.ErrorContains(t, cfg.Validate(), name)
	}
	require.NoError(t, reel.DefaultLimits.Validate())
}

func TestADeckOfTheOtherLayoutFailsTheStart(t *testing.T) {
	mem.Drop("other-layout")
	store, err := deck.OpenStore(t.Context(), "mem://other-layout")
	require.NoError(t, err)
	decktest.MakeDeck(t, store, deck.LayoutFiles)
	r := newRig(t, "mem://other-layout", func(c *Config) { c.Layout = "reels" })
	e, err := newTapeExporter(exportertest.NewNopSettings(metadata.Type), r.exporter.cfg)
	require.NoError(t, err)
	require.ErrorContains(t, e.start(t.Context(), nil), "it is a deck of files, not of reels")
}
