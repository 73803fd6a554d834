// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"encoding/binary"
	"path/filepath"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/testbed/collectorproc"
	"github.com/tapedeck/tapedeck/internal/testbed/otlpsend"
)

const recordedFile = "testdata/traces/vercel-ai-research.otlp.json"

// recorded is one run of a real agent: eight spans, the root last.
func recorded(t *testing.T) ptrace.Traces {
	t.Helper()
	traces, err := otlpsend.ReadFile(filepath.Join(repository, recordedFile))
	if err != nil {
		t.Fatal(err)
	}
	return traces
}

// another is the recorded run under a trace id of its own.
func another(t *testing.T, n uint32) ptrace.Traces {
	t.Helper()
	traces := recorded(t)
	for span := range spans(traces) {
		id := span.TraceID()
		binary.BigEndian.PutUint32(id[:4], binary.BigEndian.Uint32(id[:4])^n)
		span.SetTraceID(id)
	}
	return traces
}

// pick returns the spans of the traces whose position, counted over all, is wanted.
func pick(traces ptrace.Traces, wanted func(position int) bool) ptrace.Traces {
	picked := ptrace.NewTraces()
	traces.CopyTo(picked)
	position := -1
	picked.ResourceSpans().RemoveIf(func(rs ptrace.ResourceSpans) bool {
		rs.ScopeSpans().RemoveIf(func(ss ptrace.ScopeSpans) bool {
			ss.Spans().RemoveIf(func(ptrace.Span) bool {
				position++
				return !wanted(position)
			})
			return ss.Spans().Len() == 0
		})
		return rs.ScopeSpans().Len() == 0
	})
	return picked
}

func spans(traces ptrace.Traces) func(func(ptrace.Span) bool) {
	return func(yield func(ptrace.Span) bool) {
		for _, rs := range traces.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					if !yield(span) {
						return
					}
				}
			}
		}
	}
}

func traceID(traces ptrace.Traces) string {
	var id pcommon.TraceID
	for span := range spans(traces) {
		id = span.TraceID()
		break
	}
	return id.String()
}

// send delivers the traces over OTLP/gRPC; the collector must acknowledge them.
func send(t *testing.T, p *collectorproc.Process, traces ptrace.Traces) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := otlpsend.GRPC(ctx, p.GRPC, traces); err != nil {
		t.Fatal(err)
	}
}
