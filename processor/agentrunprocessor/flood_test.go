// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentrunprocessor

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/tapedeck/tapedeck/exporter/tapeexporter"
	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/processor/agentrunprocessor/internal/metadata"
)

// rootless are n traces of one span each that names a parent which never comes.
func rootless(first, n int) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "flood")
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	for i := range n {
		span := spans.AppendEmpty()
		var id pcommon.TraceID
		binary.BigEndian.PutUint64(id[8:], uint64(first+i+1))
		span.SetTraceID(id)
		span.SetSpanID(pcommon.SpanID(id[8:]))
		span.SetParentSpanID(pcommon.SpanID{0: 1})
		span.SetName("chat")
		span.Attributes().PutStr("gen_ai.operation.name", "chat")
	}
	return td
}

// Tiny runs of a backlog reach the deck in few calls, and each lies there by itself, as if it had come alone.
func TestTheDeckHoldsEachRunOfABatchByItself(t *testing.T) {
	for name, directory := range map[string]string{"memory": "", "spool": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			defer mem.Drop("batches")
			tapes := tapeexporter.NewFactory()
			to := tapes.CreateDefaultConfig().(*tapeexporter.Config)
			to.Deck = "mem://batches"
			exporter, err := tapes.CreateTraces(t.Context(), exportertest.NewNopSettings(tapes.Type()), to)
			require.NoError(t, err)
			require.NoError(t, exporter.Start(t.Context(), componenttest.NewNopHost()))
			calls := make(chan int, 1000)
			gate := make(chan struct{})
			next, err := consumer.NewTraces(func(ctx context.Context, td ptrace.Traces) error {
				<-gate
				calls <- td.ResourceSpans().Len()
				return exporter.ConsumeTraces(ctx, td)
			})
			require.NoError(t, err)
			cfg := createDefaultConfig().(*Config)
			cfg.Redaction, cfg.Spool.Directory, cfg.OnShutdown, cfg.EmitConcurrency = redactionNone, directory, onShutdownEmit, 1
			cfg.ShutdownTimeout = time.Hour
			p, err := newTracesProcessor(processortest.NewNopSettings(metadata.Type), cfg, next)
			require.NoError(t, err)
			require.NoError(t, p.Start(t.Context(), componenttest.NewNopHost()))
			const all = 300
			require.NoError(t, p.ConsumeTraces(t.Context(), rootless(0, all)))
			close(gate)
			require.NoError(t, p.Shutdown(context.Background())) // emits what is open
			require.NoError(t, exporter.Shutdown(context.Background()))
			close(calls)
			sum, n := 0, 0
			for traces := range calls {
				sum, n = sum+traces, n+1
			}
			require.Equal(t, all, sum)
			require.Less(t, n, all/2)

			d, err := deck.Open(t.Context(), "mem://batches")
			require.NoError(t, err)
			found := 0
			for l, err := range d.Locations(t.Context(), deck.AreaUndecided) {
				require.NoError(t, err)
				state, err := d.State(t.Context(), l)
				require.NoError(t, err)
				require.Len(t, state.Parts, 1)
				found++
			}
			require.Equal(t, all, found)
			stats := p.assembler.Stats()
			require.EqualValues(t, []int64{all, 0, 0}, []int64{stats.Emitted, stats.Held, stats.Waiting})
		})
	}
}
