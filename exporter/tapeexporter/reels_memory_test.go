// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tapeexporter

import (
	"context"
	"encoding/base64"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/decktest"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
)

// workers is emit_concurrency of agentrun.
const workers = 16

// passOn delivers traces one by one, as agentrun does it: so many work at a time, and as many as like wait.
func passOn(t *testing.T, r *rig, traces []ptrace.Traces) (wait func()) {
	t.Helper()
	var wg sync.WaitGroup
	wg.Go(func() {
		slots := make(chan struct{}, workers)
		for _, td := range traces {
			slots <- struct{}{}
			wg.Go(func() {
				leave := sync.OnceFunc(func() { <-slots })
				defer leave()
				if err := r.ConsumeTraces(handover.OnIdle(t.Context(), leave), td); err != nil {
					t.Error(err)
				}
			})
		}
	})
	return wg.Wait
}

// numbered is a small run with an id of its own.
func numbered(n int, content string) ptrace.Traces {
	td := oneTrace(1, "acme")
	id := pcommon.TraceID{14: byte(n >> 8), 15: byte(n)}
	rs := td.ResourceSpans().At(0)
	rs.Resource().Attributes().PutStr(handover.RunKey, "acme/"+groupKey{trace: id}.hex())
	for _, span := range rs.ScopeSpans().At(0).Spans().All() {
		span.SetTraceID(id)
	}
	if content != "" {
		rs.ScopeSpans().At(0).Spans().At(2).Attributes().PutStr("gen_ai.tool.call.result", content)
	}
	return td
}

// TestTracesOfManyCallsShareReels: agentrun brings one trace with a call, and one with a mistake among them fails alone.
func TestTracesOfManyCallsShareReels(t *testing.T) {
	const all = 3000
	synctest.Test(t, func(t *testing.T) {
		r := reelRig(t, "reels-calls")
		r.faults.Reset()
		traces := make([]ptrace.Traces, all)
		for i := range traces {
			traces[i] = numbered(i+1, "")
		}
		traces[1234] = numbered(1235, `{"token":"ghp_1234567890abcdefghijklmnopqrstuvwxyzAB"}`)
		passOn(t, r, traces)()
		reels := 0
		for _, op := range r.faults.Ops() {
			if strings.HasSuffix(op.Key, ".parquet") {
				reels++
			}
		}
		require.Equal(t, 1, reels)
		r.stop(t)
	})
	require.Len(t, runsOf(t, "mem://reels-calls"), all-1)
}

// TestWhatWaitsHoldsNoSpans: the frames of a call that waits for a reel hold what it was called with.
func TestWhatWaitsHoldsNoSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := reelRig(t, "reels-spans")
		td := numbered(1, "")
		at := -1
		require.NoError(t, r.ConsumeTraces(handover.OnIdle(t.Context(), func() { at = td.SpanCount() }), td))
		require.Zero(t, at)
		r.stop(t)
	})
	require.Len(t, runsOf(t, "mem://reels-spans"), 1)
}

// sink is a store that takes reels and keeps nothing of them.
type sink struct {
	deck.Store
	bytes atomic.Int64
}

func (s *sink) PutNew(ctx context.Context, key string, body []byte, contentType string) (bool, error) {
	if strings.HasSuffix(key, ".parquet") {
		s.bytes.Add(int64(len(body)))
		return true, nil
	}
	return s.Store.PutNew(ctx, key, body, contentType)
}

// TestWhatWaitsIsBounded: while a store does not answer. internal/deck/reel tests the memory of the encoder.
func TestWhatWaitsIsBounded(t *testing.T) {
	const maxBytes, all, size = 24 << 20, 1000, 32 << 10
	synctest.Test(t, func(t *testing.T) {
		r := reelRig(t, "reels-memory", func(c *Config) { c.Reel.MaxBytes = maxBytes })
		store := &sink{Store: r.faults.Store}
		r.faults.Store = store
		random := rand.NewChaCha8([32]byte{1})
		traces := make([]ptrace.Traces, all)
		for i := range traces {
			b := make([]byte, size*3/4)
			_, _ = random.Read(b)
			traces[i] = numbered(i+1, base64.StdEncoding.EncodeToString(b)) // the pipeline's own
		}
		require.NoError(t, r.ConsumeTraces(t.Context(), oneTrace(200, "acme"))) // what is made once
		own := alive()
		answer := make(chan struct{})
		r.faults.Hook(func(_ context.Context, op decktest.Op) error {
			if strings.HasSuffix(op.Key, ".parquet") {
				<-answer
			}
			return nil
		})
		wait := passOn(t, r, traces)
		synctest.Wait() // everything is full
		held := alive() - own
		close(answer)
		wait()
		r.stop(t)
		if held < maxBytes/2 {
			t.Errorf("%d MB are held: nothing has been full", held>>20)
		}
		if held > 2*maxBytes {
			t.Errorf("%d MB are held beside what the pipeline has, of max_bytes %d MB", held>>20, maxBytes>>20)
		}
		t.Logf("%.2f of max_bytes; %d MB were written", float64(held)/maxBytes, store.bytes.Load()>>20)
	})
}

// alive is what is on the heap and in use.
func alive() int64 {
	runtime.GC()
	runtime.GC() // what a pool keeps goes with the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
