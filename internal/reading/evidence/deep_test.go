// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/nesting"
)

func deepSpan(levels int) ptrace.Traces {
	td := ptrace.NewTraces()
	span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetTraceID(pcommon.TraceID{1})
	span.SetSpanID(pcommon.SpanID{2})
	span.Attributes().PutStr("gen_ai.operation.name", "chat")
	v := span.Attributes().PutEmpty("gen_ai.input.messages")
	for i := range levels {
		if i%2 == 0 {
			v = v.SetEmptySlice().AppendEmpty()
			continue
		}
		m := v.SetEmptyMap()
		m.EnsureCapacity(2)
		m.PutInt("z", 1)
		v = m.PutEmpty("a")
	}
	v.SetStr("x")
	return td
}

// Parts lie in decks that were written when the decoder had no bound, and they are readable for ever.
func TestPartDeeperThanTheDecoderReadsStaysReadable(t *testing.T) {
	for _, levels := range []int{49, 60, 300, nesting.Stored} {
		s := NewSet()
		s.AddTraces(deepSpan(levels))
		require.Equal(t, 1, s.Len())
		part, err := s.Canonical()
		require.NoError(t, err)
		back, err := FromPart(part)
		require.NoError(t, err)
		again, err := back.Canonical()
		require.NoError(t, err)
		require.True(t, bytes.Equal(part, again), "the same part, of %d levels", levels)
	}
}

func TestPartDeeperThanTheFormatAllowsIsAnErrorThatSaysSo(t *testing.T) {
	s := NewSet()
	s.AddTraces(deepSpan(nesting.Stored + 1))
	part, err := s.Canonical()
	require.NoError(t, err)
	_, err = FromPart(part)
	require.ErrorIs(t, err, nesting.ErrTooDeep)
}
