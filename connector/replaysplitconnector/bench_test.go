// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package replaysplitconnector

import (
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pipeline"

	"github.com/tapedeck/tapedeck/connector/replaysplitconnector/internal/metadata"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
	"github.com/tapedeck/tapedeck/internal/testbed/cputime"
)

// BenchmarkUntagged is a pipeline with and without the connector, turn by turn: overhead-% is what the connector adds to it. "otlp" decodes a run, encodes
// it and compresses it, as an OTLP receiver and an OTLP exporter with its default compression do; "floor" leaves the compression out.
func BenchmarkUntagged(b *testing.B) {
	b.Run("otlp", func(b *testing.B) { benchmarkUntagged(b, gzip.NewWriter(io.Discard)) })
	b.Run("floor", func(b *testing.B) { benchmarkUntagged(b, nil) })
}

func benchmarkUntagged(b *testing.B, compressor *gzip.Writer) {
	var encoder ptrace.ProtoMarshaler
	exporter, err := consumer.NewTraces(func(_ context.Context, td ptrace.Traces) error {
		body, err := encoder.MarshalTraces(td)
		if err != nil || compressor == nil {
			return err
		}
		compressor.Reset(io.Discard)
		if _, err := compressor.Write(body); err != nil {
			return err
		}
		return compressor.Close()
	})
	require.NoError(b, err)
	c := newBenchmarkSplit(b, exporter)
	g := agentload.New(1)
	const traces = 64
	var bodies [traces][]byte
	spans := 0
	for i := range bodies {
		td := g.Trace(agentload.Short)
		spans = td.SpanCount()
		a := td.ResourceSpans().At(0).Resource().Attributes()
		a.PutStr(handover.RunKey, fmt.Sprintf("default/%032x", i))
		a.PutInt(handover.RunItems, int64(spans))
		a.PutBool(handover.RunComplete, true)
		bodies[i], err = encoder.MarshalTraces(td)
		require.NoError(b, err)
	}
	var decoder ptrace.ProtoUnmarshaler
	n := uint64(0)
	turn := func(next consumer.Traces) time.Duration {
		began := cputime.Used()
		for _, body := range bodies {
			td, err := decoder.UnmarshalTraces(body)
			require.NoError(b, err)
			// Every run is another one, so that each is decided and remembered anew.
			var id pcommon.TraceID
			n++
			binary.BigEndian.PutUint64(id[:], n)
			td.ResourceSpans().At(0).Resource().Attributes().PutStr(handover.RunKey, "default/"+id.String())
			if err := next.ConsumeTraces(b.Context(), td); err != nil {
				b.Fatal(err)
			}
		}
		return cputime.Used() - began
	}
	var with, without time.Duration
	var ratios []float64
	for n := 0; b.Loop(); n++ {
		// The order changes from round to round, and a disturbance from outside hits one round.
		var w, o time.Duration
		if n%2 == 0 {
			w, o = turn(c), turn(exporter)
		} else {
			o, w = turn(exporter), turn(c)
		}
		with, without = with+w, without+o
		ratios = append(ratios, float64(w)/float64(o))
	}
	slices.Sort(ratios)
	b.ReportMetric(float64(without.Nanoseconds())/float64(b.N*traces*spans), "without-cpu-ns/span")
	b.ReportMetric(float64(with.Nanoseconds())/float64(b.N*traces*spans), "with-cpu-ns/span")
	b.ReportMetric(100*(ratios[len(ratios)/2]-1), "median-overhead-%")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkDecision is the connector alone.
func BenchmarkDecision(b *testing.B) {
	c := newBenchmarkSplit(b, consumertest.NewNop())
	td := agentload.New(1).Trace(agentload.Short)
	a := td.ResourceSpans().At(0).Resource().Attributes()
	a.PutStr(handover.RunKey, "default/1")
	a.PutBool(handover.RunComplete, true)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.ConsumeTraces(b.Context(), td); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*td.SpanCount()), "ns/span")
}

func newBenchmarkSplit(b *testing.B, next consumer.Traces) connector.Traces {
	b.Helper()
	c, err := NewFactory().CreateTracesToTraces(b.Context(), connectortest.NewNopSettings(metadata.Type), config(nil),
		connector.NewTracesRouter(map[pipeline.ID]consumer.Traces{ids("traces/p")[0]: next, ids("traces/r")[0]: next, ids("traces/u")[0]: next}))
	require.NoError(b, err)
	require.NoError(b, c.Start(b.Context(), componenttest.NewNopHost()))
	b.Cleanup(func() { require.NoError(b, c.Shutdown(context.Background())) })
	return c
}
