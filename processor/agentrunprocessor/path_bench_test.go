// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package agentrunprocessor

import (
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/assembly/heapgoal"
	"github.com/tapedeck/tapedeck/internal/reading/handover"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
	"github.com/tapedeck/tapedeck/internal/testbed/cputime"
)

// BenchmarkGroup is the whole way of agent spans from protobuf to the next component: requests of 25 traces with four spans each, 2 KB for
// each span, several senders. CPU is that of the process, with everything that goes on in the background.
func BenchmarkGroup(b *testing.B) {
	for _, c := range []struct {
		name string
		edit func(*Config)
	}{
		{"nop", nil},
		{"memory", func(*Config) {}},
		{"spool", func(c *Config) { c.Spool.Directory = b.TempDir() }},
		{"spool, read back", func(c *Config) { c.Spool.Directory, c.MaxMemoryBytes, c.MaxTraceBytes = b.TempDir(), 16<<20, 1<<20 }},
	} {
		b.Run(c.name, func(b *testing.B) {
			var next consumer.Traces = consumertest.NewNop()
			if c.edit != nil {
				cfg := createDefaultConfig().(*Config)
				cfg.Redaction = redactionNone
				cfg.QuietPeriod, cfg.MaxMemoryBytes, cfg.OnShutdown = 300*time.Millisecond, 4<<30, onShutdownEmit
				c.edit(cfg)
				next = started(b, cfg, next)
			}
			raw, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(request(1))
			if err != nil {
				b.Fatal(err)
			}
			var n atomic.Uint64
			b.SetParallelism(8)
			cpu := cputime.Used()
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(raw)
					if err != nil {
						b.Fatal(err)
					}
					number := n.Add(1)
					for _, s := range td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
						id := s.TraceID()
						binary.BigEndian.PutUint64(id[:8], number)
						s.SetTraceID(id)
					}
					for next.ConsumeTraces(b.Context(), td) != nil {
						time.Sleep(time.Millisecond)
					}
				}
			})
			b.ReportMetric(float64(cputime.Used()-cpu)/float64(b.N*benchSpans), "cpu-ns/span")
		})
	}
}

// BenchmarkWay is the way of requests of agents from protobuf through redaction and grouping to the next component, by one sender. Texts come again and
// again, with new trace ids. The garbage is collected as in our collectors.
func BenchmarkWay(b *testing.B) {
	heapgoal.Start()
	for name, shape := range map[string]agentload.Shape{"short": agentload.Short, "long": agentload.Long} {
		requests, spans := requestsOf(b, shape)
		for _, c := range []struct {
			name   string
			redact bool
			edit   func(*Config)
		}{
			{"decode", false, nil},
			{"redaction", true, nil},
			{"memory", true, func(*Config) {}},
			{"spool", true, func(c *Config) { c.Spool.Directory = b.TempDir() }},
			{"spool, read back", true, func(c *Config) { c.Spool.Directory, c.MaxMemoryBytes = b.TempDir(), 32<<20 }},
		} {
			b.Run(name+"/"+c.name, func(b *testing.B) {
				profile := redact.Default()
				key, err := redact.NewKey([]byte("0123456789abcdefghijklmnopqrstuv"), "")
				if err != nil {
					b.Fatal(err)
				}
				redactor, err := redact.New(profile.WithKey(key))
				if err != nil {
					b.Fatal(err)
				}
				seal := redactor.Seal()
				defer redact.Announce()()
				var next consumer.Traces = consumertest.NewNop()
				if c.edit != nil {
					cfg := createDefaultConfig().(*Config)
					cfg.QuietPeriod, cfg.OnShutdown = 300*time.Millisecond, onShutdownEmit
					c.edit(cfg)
					next = started(b, cfg, next)
				}
				cpu, sent := cputime.Used(), 0
				b.ReportAllocs()
				for n := uint64(0); b.Loop(); n++ {
					of := n % uint64(len(requests))
					td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(requests[of])
					if err != nil {
						b.Fatal(err)
					}
					for _, rs := range td.ResourceSpans().All() {
						for _, s := range rs.ScopeSpans().At(0).Spans().All() {
							id := s.TraceID()
							binary.BigEndian.PutUint64(id[:8], n/uint64(len(requests)))
							s.SetTraceID(id)
						}
					}
					if c.redact {
						redactor.Traces(td, nil)
						for _, rs := range td.ResourceSpans().All() {
							rs.Resource().Attributes().PutStr(handover.Redaction, seal)
						}
					}
					for next.ConsumeTraces(b.Context(), td) != nil {
						time.Sleep(time.Millisecond)
					}
					sent += spans[of]
				}
				b.ReportMetric(float64(cputime.Used()-cpu)/float64(sent), "cpu-ns/span")
			})
		}
	}
}

// requestsOf are 25 runs, interleaved in five requests, and the spans of each request.
func requestsOf(b *testing.B, shape agentload.Shape) (requests [][]byte, spans []int) {
	b.Helper()
	g := agentload.New(1)
	var runs []ptrace.Traces
	for range 25 {
		runs = append(runs, g.Trace(shape))
	}
	for _, td := range agentload.Interleave(runs, 5) {
		body, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
		if err != nil {
			b.Fatal(err)
		}
		requests, spans = append(requests, body), append(spans, td.SpanCount())
	}
	return requests, spans
}
