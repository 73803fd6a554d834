// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"encoding/binary"
	"os"
	"sync"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/assembly/heapgoal"
	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	_ "github.com/tapedeck/tapedeck/internal/deck/reel/view" // reads what a deck of reels shows
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
	"github.com/tapedeck/tapedeck/internal/testbed/cputime"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

// loads are the traces that the benchmarks run on, marshalled as they come over the wire.
func loads(b *testing.B, shape agentload.Shape, n int) (requests [][]byte, spans, bytes int) {
	b.Helper()
	heapgoal.Start() // as in a collector: by default the runtime would collect the small heap of a benchmark every few runs
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

// bench runs a stage over the load and reports MB/s and CPU time per span, garbage collection included. A stage must leave what
// prepare made as it was.
func bench[T any](b *testing.B, shape agentload.Shape, prepare func([]byte) T, run func(T)) {
	requests, spans, bytes := loads(b, shape, 16)
	inputs := make([]T, len(requests))
	for i, body := range requests {
		inputs[i] = prepare(body)
	}
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	began := cputime.Used()
	b.ResetTimer()
	for i := range b.N {
		run(inputs[i%len(inputs)])
	}
	b.ReportMetric(float64((cputime.Used()-began).Nanoseconds())/float64(b.N*spans), "cpu-ns/span")
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
	var buf []byte // kept, as the writer keeps it
	shapes(b, func(b *testing.B, shape agentload.Shape) {
		bench(b, shape, func(body []byte) *evidence.Set { return decode(b, body) }, func(set *evidence.Set) {
			if _, err := set.CanonicalIn(&buf); err != nil {
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

// BenchmarkGate is what the gate reads of a run: its evidence, its tape and its oracle. A write without and with it: BenchmarkWrite/mem
// and BenchmarkWrite/gate.
func BenchmarkGate(b *testing.B) {
	gate, err := NewGate(redact.Default())
	if err != nil {
		b.Fatal(err)
	}
	type written struct {
		set   *evidence.Set
		files []deck.File
	}
	shapes(b, func(b *testing.B, shape agentload.Shape) {
		bench(b, shape, func(body []byte) written {
			set := decode(b, body)
			files, _, err := generation.Files(nil, tapesOf(set)[0], generation.DefaultFormats)
			if err != nil {
				b.Fatal(err)
			}
			return written{set, files}
		}, func(w written) {
			hits := len(gate.ScanTraces(w.set.Traces()))
			clear := gate.redactor.ClearJSON(func(yield func([]byte) bool) {
				for _, f := range w.files {
					if !yield(f.Body) {
						return
					}
				}
			})
			if hits > 0 || !clear {
				b.Fatalf("%d hits", hits)
			}
		})
	})
}

// BenchmarkRecorded renders the tapes of the recorded traces, and reads them as the gate does. An operation
// is all of them.
func BenchmarkRecorded(b *testing.B) {
	traces, err := agentload.Recorded("../../../testdata/corpus")
	if err != nil {
		b.Fatal(err)
	}
	heapgoal.Start()
	gate, err := NewGate(redact.Default())
	if err != nil {
		b.Fatal(err)
	}
	redactor, err := redact.New(redact.Default())
	if err != nil {
		b.Fatal(err)
	}
	redactor.Seal()
	var runs [][]*tape.Tape
	var files [][]deck.File
	for _, td := range traces {
		redactor.Traces(td, nil)
		set := evidence.NewSet()
		set.AddTraces(td)
		for _, tr := range set.Split() {
			tapes, _ := reconstruct.Trace(tr, reconstruct.Options{Tenant: "default", Redaction: tape.Redaction{Policy: "none"}})
			runs = append(runs, tapes)
			var rendered []deck.File
			for _, t := range tapes {
				of, _, err := generation.Files(nil, t, generation.DefaultFormats)
				if err != nil {
					b.Fatal(err)
				}
				rendered = append(rendered, of...)
			}
			files = append(files, rendered)
		}
	}
	measure := func(name string, run func()) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			began := cputime.Used()
			for b.Loop() {
				run()
			}
			b.ReportMetric(float64((cputime.Used()-began).Nanoseconds())/float64(b.N*len(runs)), "cpu-ns/trace")
		})
	}
	var text []byte
	measure("render", func() {
		for _, tapes := range runs {
			text = text[:0]
			for _, t := range tapes {
				if _, text, err = generation.Files(text, t, generation.DefaultFormats); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	measure("gate", func() {
		for _, of := range files {
			gate.redactor.ClearJSON(func(yield func([]byte) bool) {
				for _, f := range of {
					if !yield(f.Body) {
						return
					}
				}
			})
		}
	})
}

// BenchmarkWrite is the whole export: evidence to part, tape and oracle in a deck. The deck of reels has the
// gate too.
func BenchmarkWrite(b *testing.B) {
	for _, store := range []string{"mem", "gate", "file", "reels"} {
		b.Run(store, func(b *testing.B) {
			shapes(b, func(b *testing.B, shape agentload.Shape) { benchWrite(b, store, shape) })
		})
	}
}

func benchWrite(b *testing.B, store string, shape agentload.Shape) {
	url := "mem://bench"
	var gate *Gate
	if store == "gate" || store == "reels" {
		var err error
		if gate, err = NewGate(redact.Default()); err != nil {
			b.Fatal(err)
		}
	}
	if store == "file" {
		dir, err := os.MkdirTemp("", "bench")
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { os.RemoveAll(dir) })
		url = "file://" + dir
	}
	requests, spans, bytes := loads(b, shape, 16)
	traces := make([]ptrace.Traces, len(requests))
	for i, body := range requests {
		var err error
		if traces[i], err = (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(body); err != nil {
			b.Fatal(err)
		}
	}
	redactor, err := redact.New(redact.Default())
	if err != nil {
		b.Fatal(err)
	}
	redactor.Seal()
	const batch = 512 // runs in one deck
	var write func(Request)
	end := func() {}
	open := func() {
		mem.Drop("bench")
		layout := deck.LayoutFiles
		if store == "reels" {
			layout = deck.LayoutReels
		}
		d, err := deck.OpenLayout(b.Context(), url, layout)
		if err != nil {
			b.Fatal(err)
		}
		o := Options{Options: generation.Options{Producer: tape.Producer{Name: "tapedeck", Version: "bench"}}, Gate: gate}
		if store == "reels" {
			write, end = toReels(b, NewReelWriter(d, o, reel.DefaultLimits))
			return
		}
		w := NewWriter(d, o)
		write = func(r Request) {
			if _, err := w.Write(b.Context(), r); err != nil {
				b.Error(err)
			}
		}
	}
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	began := cputime.Used()
	b.ResetTimer()
	for i := range b.N {
		if i%batch == 0 {
			end()
			b.StopTimer() // not for each run: the timer of package testing looks at all of the memory
			before := cputime.Used()
			open() // what a deck in memory holds is not to be part of the figures
			for j := i; gate != nil && j < min(i+batch, b.N); j++ {
				rename(traces[j%len(traces)], uint64(j))
				redactor.Traces(traces[j%len(traces)], nil) // the gate knows what this process has redacted, and that costs nothing here
			}
			began += cputime.Used() - before
			b.StartTimer()
		}
		td := traces[i%len(traces)]
		rename(td, uint64(i))
		set := evidence.NewSet()
		set.AddTraces(td)
		tr := set.Split()[0]
		write(Request{Tenant: "default", TraceID: tr.TraceID, Set: tr.Set, Complete: true, First: true})
	}
	end()
	b.ReportMetric(float64((cputime.Used()-began).Nanoseconds())/float64(b.N*spans), "cpu-ns/span")
}

// toReels writes runs one after the other, as far as each of them need not wait for its reel. end waits for
// the last reel.
func toReels(b *testing.B, w *ReelWriter) (write func(Request), end func()) {
	var waiting sync.WaitGroup
	write = func(r Request) {
		derived := make(chan struct{})
		r.GoesOn, r.Idle = true, sync.OnceFunc(func() { close(derived) })
		waiting.Go(func() {
			defer r.Idle()
			if _, _, err := w.Deliver(b.Context(), r); err != nil {
				b.Error(err)
			}
		})
		<-derived
	}
	return write, func() {
		w.Close()
		waiting.Wait()
	}
}

// rename makes a trace another one, which costs next to nothing.
func rename(td ptrace.Traces, n uint64) {
	var id pcommon.TraceID
	binary.BigEndian.PutUint64(id[:], n+1)
	for _, s := range td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
		s.SetTraceID(id)
	}
}

// BenchmarkLongRun shows what a conversation that is resent whole with every turn costs: the input grows with the square of the
// turns, tape and memory are to grow with the turns alone.
func BenchmarkLongRun(b *testing.B) {
	wide := agentload.Shape{Tools: 4, ToolBytes: 500, TextBytes: 400, Resend: true} // with 200 turns: 997 spans
	for _, c := range []struct {
		turns int
		name  string
		shape agentload.Shape
	}{
		{50, "50", agentload.Long}, {100, "100", agentload.Long}, {200, "200", agentload.Long},
		{50, "50x4", wide}, {100, "100x4", wide}, {200, "200x4", wide},
	} {
		b.Run(c.name, func(b *testing.B) {
			turns, shape := c.turns, c.shape
			shape.Turns = turns
			td := agentload.New(1).Trace(shape)
			body, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			size := 0
			began := cputime.Used()
			for b.Loop() {
				t := tapesOf(decode(b, body))[0]
				if err := t.Seal(); err != nil {
					b.Fatal(err)
				}
				size = len(t.AppendJSON(nil))
			}
			b.ReportMetric(float64((cputime.Used()-began).Nanoseconds())/float64(b.N*len(body)), "cpu-ns/byte")
			b.ReportMetric(float64(size)/float64(turns), "tape-bytes/turn")
		})
	}
}
