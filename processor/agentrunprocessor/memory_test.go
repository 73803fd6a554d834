// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentrunprocessor

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
	"github.com/tapedeck/tapedeck/processor/agentrunprocessor/internal/metadata"
)

// docs/operations.md computes the memory of a collector from max_memory_bytes: what is held of it is at most a third larger in memory than it
// is counted, as evidence that waits and as evidence that is being passed on.
func TestEvidenceTakesAThirdMoreMemoryThanItIsCounted(t *testing.T) {
	const bound = 64 << 20
	for name, shape := range map[string]agentload.Shape{"short": agentload.Short, "long": agentload.Long} {
		t.Run(name, func(t *testing.T) {
			cfg := createDefaultConfig().(*Config)
			cfg.Redaction = redactionNone
			cfg.MaxMemoryBytes, cfg.MaxTraceBytes = bound, bound/4
			store := make(chan struct{}) // that does not answer
			next, err := consumer.NewTraces(func(ctx context.Context, _ ptrace.Traces) error {
				<-store
				return nil
			})
			require.NoError(t, err)
			p, err := newTracesProcessor(processortest.NewNopSettings(metadata.Type), cfg, next)
			require.NoError(t, err)
			require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))
			g := agentload.New(1)
			before := alive()
			refused := false
			for range 4 * bound / (32 << 10) {
				body, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(g.Trace(shape))
				require.NoError(t, err)
				td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(body) // as from the wire
				require.NoError(t, err)
				if refused = p.ConsumeTraces(t.Context(), td) != nil; refused {
					break
				}
			}
			require.True(t, refused, "the bound was not reached")
			if took := alive() - before; took > bound/3*4 {
				t.Errorf("%d MB are alive, %d MB are allowed", took>>20, bound>>20)
			}
			close(store)
			require.NoError(t, p.Shutdown(t.Context()))
		})
	}
}

// alive is what is on the heap and in use.
func alive() int64 {
	runtime.GC()
	runtime.GC() // what a pool keeps goes with the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
