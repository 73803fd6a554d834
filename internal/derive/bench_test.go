// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"os"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/agentload"
	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/evidence"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// loads are the traces that the benchmarks run on, marshalled as they come over the wire.
func loads(b *testing.B, shape agentload.Shape, n int) (requests [][]byte, spans, bytes int) {
	b.Helper()
	g := agentload.New(1)
	var m ptrace.ProtoMarshaler
	for range n {
		td := g.Trace(shape)
		spans += td.SpanCount()
		body, err := m.MarshalTraces(td)
		if err != nil {
			b.Fatal(err)
		}
		requests = append(requests, body)
		bytes += len(body)
	}
	return requests, spans / n, bytes / n
}

func decode(b *testing.B, body []byte) *evidence.Set {
	b.Helper()
	var u ptrace.ProtoUnmarshaler
	td, err := u.UnmarshalTraces(body)
	if err != nil {
		b.Fatal(err)
	}
	set := evidence.NewSet()
	set.AddTraces(td)
	return set
}

// bench runs a stage over the load and reports MB/s and time per span. prepare runs outside the clock.
func bench[T any](b *testing.B, shape agentload.Shape, prepare func([]byte) T, run func(T)) {
	requests, spans, bytes := loads(b, shape, 16)
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		b.StopTimer()
		in := prepare(requests[i%len(requests)])
		b.StartTimer()
		run(in)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*spans), "ns/span")
}

func shapes(b *testing.B, f func(b *testing.B, shape agentload.Shape)) {
	b.Run("short", func(b *testing.B) { f(b, agentload.Short) })
	b.Run("long", func(b *testing.B) { f(b, agentload.Long) })
}

func BenchmarkDecode(b *testing.B) {
	shapes(b, func(b *testing.B, shape agentload.Shape) {
		bench(b, shape, func(body []byte) []byte { return body }, func(body []byte) { decode(b, body) })
	})
}

func BenchmarkPart(b *testing.B) {
	shapes(b, func(b *testing.B, shape agentload.Shape) {
		bench(b, shape, func(body []byte) *evidence.Set { return decode(b, body) }, func(set *evidence.Set) {
			if _, err := set.Canonical(); err != nil {
				b.Fatal(err)
			}
		})
	})
}

func tapesOf(set *evidence.Set) []*tape.Tape {
	tr := set.Split()[0]
	tapes, _ := reconstruct.Trace(tr, reconstruct.Options{Tenant: "default", Redaction: tape.Redaction{Policy: "none"}})
	return tapes
}

func BenchmarkReconstruct(b *testing.B) {
	shapes(b, func(b *testing.B, shape agentload.Shape) {
		bench(b, shape, func(body []byte) *evidence.Set { return decode(b, body) }, func(set *evidence.Set) {
			if tapes := tapesOf(set); len(tapes) != 1 {
				b.Fatal("no tape")
			}
		})
	})
}

func BenchmarkEncode(b *testing.B) {
	shapes(b, func(b *testing.B, shape agentload.Shape) {
		bench(b, shape, func(body []byte) *tape.Tape { return tapesOf(decode(b, body))[0] }, func(t *tape.Tape) {
			if err := t.Seal(); err != nil {
				b.Fatal(err)
			}
			_ = oracle.Append(nil, oracle.FromTape(t))
			_ = t.AppendJSON(nil)
		})
	})
}

// BenchmarkWrite is the whole export: evidence to part, tape and oracle in a deck.
func BenchmarkWrite(b *testing.B) {
	for _, store := range []string{"mem", "file"} {
		b.Run(store, func(b *testing.B) {
			shapes(b, func(b *testing.B, shape agentload.Shape) { benchWrite(b, store, shape) })
		})
	}
}

func benchWrite(b *testing.B, store string, shape agentload.Shape) {
	url := "mem://bench"
	if store == "file" {
		dir, err := os.MkdirTemp("", "bench")
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { os.RemoveAll(dir) })
		url = "file://" + dir
	}
	d, err := deck.Open(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	w := NewWriter(d, Options{Producer: tape.Producer{Name: "tapedeck", Version: "bench"}})
	g := agentload.New(2)
	spans := g.Trace(shape).SpanCount()
	var bytes int
	sizer := ptrace.ProtoMarshaler{}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		td := g.Trace(shape)
		bytes = sizer.TracesSize(td)
		set := evidence.NewSet()
		b.StartTimer()
		set.AddTraces(td)
		tr := set.Split()[0]
		if _, err := w.Write(b.Context(), Request{Tenant: "default", TraceID: tr.TraceID, Set: tr.Set, Complete: true}); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(bytes))
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*spans), "ns/span")
}
