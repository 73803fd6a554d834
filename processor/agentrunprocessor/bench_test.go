// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentrunprocessor

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/tapedeck/tapedeck/processor/agentrunprocessor/internal/metadata"
)

// The load: requests of 100 spans of 25 traces with four spans each, ten attributes and about 2 KB for each span.
const (
	benchSpans  = 100
	benchTraces = 25
)

// request builds a request in which every n-th trace is an agent run (0: none).
func request(everyNth int) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	for i := range 8 {
		rs.Resource().Attributes().PutStr(fmt.Sprintf("resource.attribute.%d", i), "a value of thirty characters ..")
	}
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("app")
	for i := range benchSpans {
		s := ss.Spans().AppendEmpty()
		trace := i % benchTraces
		s.SetTraceID(pcommon.TraceID{15: byte(trace + 1)})
		s.SetSpanID(pcommon.SpanID{7: byte(i/benchTraces + 1)})
		if i >= benchTraces {
			s.SetParentSpanID(pcommon.SpanID{7: 1})
		}
		s.SetName("operation")
		agent := everyNth > 0 && trace%everyNth == 0
		for a := range 9 {
			if agent {
				s.Attributes().PutStr(fmt.Sprintf("gen_ai.attribute.%d", a), "a value of thirty characters ..")
			} else {
				s.Attributes().PutStr(fmt.Sprintf("http.attribute.%d", a), "a value of thirty characters ..")
			}
		}
		s.Attributes().PutStr("payload", strings.Repeat("x", 1500))
	}
	return td
}

// onePercent is a request in which one span of a hundred belongs to an agent run.
func onePercent() ptrace.Traces {
	td := request(0)
	span := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(benchSpans / 2)
	span.Attributes().PutStr("gen_ai.operation.name", "chat")
	return td
}

// BenchmarkPassThrough is the cost of a request that came from a receiver. The ids of its traces change with each request; that and
// the copy of the request are what "nop" measures, and are to be subtracted from the others.
func BenchmarkPassThrough(b *testing.B) {
	for _, c := range []struct {
		name    string
		request ptrace.Traces
		nop     bool
	}{
		{"nop", request(0), true},
		{"agent=0%", request(0), false},
		{"agent=1%", onePercent(), false},
		{"nop-agent", request(1), true},
		{"agent=100%", request(1), false},
	} {
		b.Run(c.name, func(b *testing.B) {
			var next consumer.Traces = consumertest.NewNop()
			if !c.nop {
				cfg := createDefaultConfig().(*Config)
				cfg.Redaction = redactionNone
				cfg.QuietPeriod, cfg.MaxMemoryBytes = 200*time.Millisecond, 4<<30
				next = started(b, cfg, next)
			}
			b.ReportAllocs()
			for n := uint64(0); b.Loop(); n++ {
				td := ptrace.NewTraces()
				c.request.CopyTo(td)
				for _, s := range td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
					id := s.TraceID()
					binary.BigEndian.PutUint64(id[:8], n)
					s.SetTraceID(id)
				}
				if err := next.ConsumeTraces(b.Context(), td); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchSpans), "ns/span")
		})
	}
}

// started is a processor in front of next, which ends with the benchmark.
func started(b *testing.B, cfg *Config, next consumer.Traces) consumer.Traces {
	b.Helper()
	p, err := newTracesProcessor(processortest.NewNopSettings(metadata.Type), cfg, next)
	if err != nil {
		b.Fatal(err)
	}
	if err := p.Start(b.Context(), componenttest.NewNopHost()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := p.Shutdown(context.Background()); err != nil {
			b.Error(err)
		}
		b.Logf("%+v", p.assembler.Stats())
	})
	return p
}
