// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapeexporter

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
)

// watcher is a host that notes what components report.
type watcher struct {
	mu     sync.Mutex
	events []componentstatus.Status
}

func (*watcher) GetExtensions() map[component.ID]component.Component { return nil }

func (w *watcher) Report(e *componentstatus.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e.Status())
}

func (w *watcher) seen() []componentstatus.Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events)
}

func TestStatusFollowsTheStore(t *testing.T) {
	t.Cleanup(func() { mem.Drop("status") })
	core, logs := observer.New(zap.InfoLevel)
	r := newRigLogging(t, "mem://status", zap.New(core), func(c *Config) { c.Retry.Enabled = false })
	host := &watcher{}
	require.NoError(t, r.Start(t.Context(), host))
	require.Equal(t, 1, logs.FilterMessage("tapes go into the deck").Len())
	require.NoError(t, r.ConsumeTraces(t.Context(), oneTrace(1, "")))
	require.Empty(t, host.seen(), "what is well is reported without need")
	for range 3 {
		r.faults.Hook(func(context.Context, decktest.Op) error { return errAway })
		require.Error(t, r.ConsumeTraces(t.Context(), oneTrace(2, "")))
	}
	require.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError}, host.seen())
	r.faults.Reset()
	require.NoError(t, r.ConsumeTraces(t.Context(), oneTrace(2, "")))
	require.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError, componentstatus.StatusOK}, host.seen())
	require.Equal(t, 1, logs.FilterMessage("the store is back: tapes are written again").Len())
	r.stop(t)
}

func TestStoreThatIsAwayAtTheStartShowsInTheStatus(t *testing.T) {
	t.Cleanup(func() { mem.Drop("status-start") })
	r := newRig(t, "mem://status-start", func(c *Config) { c.Retry.Enabled = false })
	r.faults.Hook(func(context.Context, decktest.Op) error { return errAway })
	host := &watcher{}
	require.NoError(t, r.Start(t.Context(), host))
	require.Equal(t, []componentstatus.Status{componentstatus.StatusRecoverableError}, host.seen())
	r.stop(t)
}

// A store that does not answer holds one call, and no other one waits for it beyond its own time.
func TestCallDoesNotWaitForAnotherOnesOpeningOfTheDeck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { mem.Drop("status-opening") })
		r := newRig(t, "mem://status-opening", func(c *Config) { c.Retry.Enabled = false; c.Timeout.Timeout = 0 })
		release := make(chan struct{})
		r.faults.Hook(func(context.Context, decktest.Op) error { return errAway })
		r.start(t)
		r.faults.Hook(func(context.Context, decktest.Op) error { <-release; return nil }) // deaf to its context
		held := make(chan error, 1)
		go func() { held <- r.ConsumeTraces(context.Background(), oneTrace(1, "")) }()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		second := make(chan error, 1)
		go func() { second <- r.ConsumeTraces(ctx, oneTrace(2, "")) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		select {
		case err := <-second:
			require.ErrorIs(t, err, context.Canceled)
		default:
			t.Error("a call whose time is up waits for another one")
		}
		close(release)
		require.NoError(t, <-held)
		r.stop(t)
	})
}
