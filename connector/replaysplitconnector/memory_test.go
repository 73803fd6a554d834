// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replaysplitconnector

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pipeline"
)

// host has one extension that keeps entries for the life of a test.
type host struct{ extension component.Component }

func (h host) GetExtensions() map[component.ID]component.Component {
	return map[component.ID]component.Component{component.MustNewID("file_storage"): h.extension}
}

type memoryStorage struct {
	component.StartFunc
	component.ShutdownFunc
	mu      sync.Mutex
	entries map[string][]byte
	broken  error
}

func (k *memoryStorage) GetClient(context.Context, component.Kind, component.ID, string) (storage.Client, error) {
	return k, nil
}

func (k *memoryStorage) Set(_ context.Context, key string, value []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.broken == nil {
		k.entries[key] = value
	}
	return k.broken
}

func (k *memoryStorage) Walk(_ context.Context, f storage.WalkFunc) error {
	for key, value := range k.entries {
		if _, err := f(key, value); err != nil {
			return err
		}
	}
	return nil
}

func (k *memoryStorage) Get(context.Context, string) ([]byte, error)        { panic("not used") }
func (k *memoryStorage) Delete(context.Context, string) error               { panic("not used") }
func (k *memoryStorage) Batch(context.Context, ...*storage.Operation) error { panic("not used") }
func (k *memoryStorage) Close(context.Context) error                        { return nil }
func stored(c *Config)                                                      { id := component.MustNewID("file_storage"); c.Storage = &id }

func TestReplaysAreRememberedOverARestart(t *testing.T) {
	k := &memoryStorage{entries: map[string][]byte{}}
	first := newRig(t, host{k}, stored)
	require.NoError(t, first.ConsumeTraces(t.Context(), emission{run: 1, spans: 2, items: 2, tag: "r"}.traces()))
	require.NoError(t, first.ConsumeTraces(t.Context(), emission{run: 2, spans: 2, items: 2, complete: true}.traces()))
	require.NoError(t, first.ConsumeTraces(t.Context(), tagAlone(4, "r")))
	require.NoError(t, first.Shutdown(t.Context()))
	// agentrun has forgotten the first half as well: the second looks like a whole run.
	second := newRig(t, host{k}, stored)
	require.NoError(t, second.ConsumeTraces(t.Context(), emission{run: 1, spans: 2, items: 2, complete: true}.traces()))
	require.Equal(t, [sides]int{0, 2, 0}, second.take())
	require.NoError(t, second.ConsumeTraces(t.Context(), emission{run: 4, spans: 2, items: 2, complete: true}.traces()))
	require.Equal(t, [sides]int{0, 2, 0}, second.take())
	k.broken = errors.New("disk full")
	require.ErrorIs(t, second.ConsumeTraces(t.Context(), emission{run: 3, spans: 2, items: 2, tag: "r"}.traces()), k.broken)
	require.Equal(t, [sides]int{}, second.take())
	require.NoError(t, second.Shutdown(t.Context()))
}

func TestMemoryIsBoundedAndKeepsTheLatest(t *testing.T) {
	k := &memoryStorage{entries: map[string][]byte{}}
	m := newMemory(100)
	require.NoError(t, m.open(t.Context(), k))
	for i := range 1000 {
		require.NoError(t, m.put(t.Context(), fmt.Sprint(i), decision{side: replay}))
	}
	require.LessOrEqual(t, len(m.recent)+len(m.previous), 100)
	require.LessOrEqual(t, len(k.entries), 100)
	again := newMemory(100)
	require.NoError(t, again.open(t.Context(), k))
	for _, m := range []*memory{m, again} {
		for i := 951; i < 1000; i++ {
			d, ok := m.get(fmt.Sprint(i))
			require.True(t, ok && d.side == replay, i)
		}
	}
	require.NoError(t, again.put(t.Context(), "new", decision{side: replay}))
	require.EqualValues(t, 1001, again.next)
}

func TestStorageThatIsMissingEndsTheStart(t *testing.T) {
	for name, test := range map[string]struct {
		host component.Host
		want string
	}{
		"none":       {componenttest.NewNopHost(), "is not configured"},
		"no storage": {host{nopExtension{}}, "is no storage"},
	} {
		set, _ := settings(t)
		cfg := config(stored)
		c, err := NewFactory().CreateTracesToTraces(t.Context(), set, cfg, connector.NewTracesRouter(map[pipeline.ID]consumer.Traces{
			ids("traces/p")[0]: consumertest.NewNop(), ids("traces/r")[0]: consumertest.NewNop(), ids("traces/u")[0]: consumertest.NewNop(),
		}))
		require.NoError(t, err)
		require.ErrorContains(t, c.Start(t.Context(), test.host), test.want, name)
		require.NoError(t, c.Shutdown(t.Context()))
	}
}

type nopExtension struct {
	component.StartFunc
	component.ShutdownFunc
}
