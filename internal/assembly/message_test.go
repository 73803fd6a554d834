// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
)

// A message marshals as pdata marshals its traces. A version of pdata or gRPC that gives none is noticed here: records would be right, and dearer.
func TestMessageOf(t *testing.T) {
	g := agentload.New(1)
	short := g.Trace(agentload.Short)
	short.ResourceSpans().At(0).Resource().Attributes().PutEmptySlice("list").AppendEmpty().SetEmptyMap().PutDouble("x", 1.5)
	short.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).SetParentSpanID(pcommon.SpanID{1})
	for _, td := range []ptrace.Traces{short, g.Trace(agentload.Long), ptrace.NewTraces()} {
		m := messageOf(td)
		require.NotNil(t, m)
		want, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
		require.NoError(t, err)
		got := make([]byte, m.SizeProto())
		require.Equal(t, len(got), m.MarshalProto(got))
		require.Equal(t, want, got)
	}
}

func BenchmarkMessageOf(b *testing.B) {
	td := agentload.New(1).Trace(agentload.Short)
	b.ReportAllocs()
	for b.Loop() {
		messageOf(td)
	}
}
