// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package assembly

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/assembly/spool"
)

// agentSpans is n spans of about 2 KB with ten attributes, the load of the comparisons with other processors.
func agentSpans(trace uint64, n int) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "agent")
	rs.Resource().Attributes().PutStr("service.version", "1.2.3")
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("opentelemetry.instrumentation.openai_v2")
	for i := range n {
		s := ss.Spans().AppendEmpty()
		var id pcommon.TraceID
		binary.BigEndian.PutUint64(id[8:], trace)
		s.SetTraceID(id)
		s.SetSpanID(spanID(byte(i + 1)))
		if i > 0 {
			s.SetParentSpanID(spanID(1))
		}
		s.SetName("chat gpt-5")
		s.Attributes().PutStr("gen_ai.operation.name", "chat")
		s.Attributes().PutStr("gen_ai.input.messages", strings.Repeat("x", 1500))
		for a := range 8 {
			s.Attributes().PutStr(fmt.Sprintf("gen_ai.attribute.%d", a), "a value of thirty characters ..")
		}
	}
	return td
}

// BenchmarkHold compares the two ways to hold one span until its trace ends: as pdata that was moved, or as bytes.
func BenchmarkHold(b *testing.B) {
	raw, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(agentSpans(1, 20))
	if err != nil {
		b.Fatal(err)
	}
	perSpan := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*20), "ns/span")
	}
	b.Run("pdata", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			td, _ := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(raw) // the receiver does this in either case
			held := ptrace.NewTraces()
			td.ResourceSpans().MoveAndAppendTo(held.ResourceSpans())
		}
		perSpan(b)
	})
	b.Run("bytes", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			td, _ := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(raw)
			held, _ := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
			_, _ = (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(held)
		}
		perSpan(b)
	})
}

// BenchmarkAssembler is the whole way of a trace of 20 spans in 5 requests through the assembler.
func BenchmarkAssembler(b *testing.B) {
	m := New(Options{
		QuietPeriod: 100 * time.Millisecond, IdleTimeout: time.Minute, MaxAge: time.Minute,
		MaxTraceBytes: 64 << 20, MaxTraceSpans: 20, MaxTraces: 100_000, MaxBytes: 1 << 30,
		Emit: func(context.Context, *Emission) error { return nil }, EmitConcurrency: 16,
		InitialBackoff: time.Second, MaxBackoff: time.Second,
	})
	if err := m.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	const traces = 1000
	b.ReportAllocs()
	for n := uint64(0); b.Loop(); n++ {
		b.StopTimer()
		requests := make([]Request, 0, 5*traces)
		for t := range uint64(traces) {
			var id pcommon.TraceID
			binary.BigEndian.PutUint64(id[8:], n*traces+t)
			for part := range 5 {
				td := ptrace.NewTraces()
				rs := td.ResourceSpans().AppendEmpty()
				rs.Resource().Attributes().PutStr("service.name", "agent")
				spans := rs.ScopeSpans().AppendEmpty().Spans()
				for i := range 4 {
					s := spans.AppendEmpty()
					s.SetTraceID(id)
					s.SetSpanID(spanID(byte(part*4 + i + 1)))
					s.SetParentSpanID(spanID(1))
				}
				requests = append(requests, Request{Chunks: []TraceChunk{{Key: Key{Tenant: "default", TraceID: id}, Traces: td, Items: 4, Bytes: 8000}}})
			}
		}
		b.StartTimer()
		for _, r := range requests {
			if err := tryAdmit(m, r); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*traces*20), "ns/span")
	if err := m.Shutdown(context.Background()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkOpenTrace is the memory that one trace of 20 spans in 5 requests takes while it waits and its evidence is in the spool only.
func BenchmarkOpenTrace(b *testing.B) {
	const traces = 100_000
	for b.Loop() {
		dir := b.TempDir()
		a := New(Options{
			QuietPeriod: time.Hour, IdleTimeout: time.Hour, MaxAge: time.Hour,
			MaxTraceBytes: 1 << 20, MaxTraceSpans: 1000, MaxTraces: 2 * traces, MaxBytes: 1 << 20,
			OpenSpool: func(recovered func(spool.Held) error) (Spool, error) {
				return spool.Open(dir, spool.Options{Sync: spool.SyncNone}, recovered)
			},
			Park: true,
			Emit: func(context.Context, *Emission) error { return nil }, EmitConcurrency: 1,
			InitialBackoff: time.Second, MaxBackoff: time.Second,
		})
		if err := a.Start(b.Context()); err != nil {
			b.Fatal(err)
		}
		before := heapBytes()
		for part := range 5 {
			for t := range uint64(traces) {
				var id pcommon.TraceID
				binary.BigEndian.PutUint64(id[8:], t)
				td := ptrace.NewTraces()
				spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
				for i := range 4 {
					s := spans.AppendEmpty()
					s.SetTraceID(id)
					s.SetSpanID(spanID(byte(part*4 + i + 2)))
					s.SetParentSpanID(spanID(1))
				}
				f := TraceChunk{Key: Key{Tenant: "default", TraceID: id}, Traces: td, Items: 4, Bytes: 2000}
				for tryAdmit(a, Request{Chunks: []TraceChunk{f}}) != nil {
					time.Sleep(time.Millisecond) // memory is full of what is on its way
				}
			}
		}
		for a.Stats().MemoryBytes > 1<<20 {
			time.Sleep(time.Millisecond)
		}
		b.ReportMetric(float64(heapBytes()-before)/traces, "B/trace")
		if err := a.Shutdown(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
