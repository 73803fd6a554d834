// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package derive

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/maphash"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"golang.org/x/sys/unix"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/redact"
	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
	"github.com/tapedeck/tapedeck/internal/testbed/cputime"
	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/jsonscan"
)

// floorRun is a run of the load in all forms that it takes on its way.
type floorRun struct {
	request      []byte
	td           ptrace.Traces
	set          *evidence.Set
	tape         *tape.Tape
	oracle       []oracle.Entry
	part, packed []byte
	tapeText     []byte
	oracleText   []byte
	hashed       [][]byte // of which the formats demand the SHA-256
	documents    []string // attributes that hold JSON
}

func newFloorRun(b *testing.B, request []byte) *floorRun {
	b.Helper()
	r := &floorRun{request: request, set: decode(b, request)}
	var err error
	if r.td, err = (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(request); err != nil {
		b.Fatal(err)
	}
	if r.part, err = r.set.Canonical(); err != nil {
		b.Fatal(err)
	}
	r.packed = deck.Pack(r.part)
	r.tape = tapesOf(r.set)[0]
	if err := r.tape.Seal(); err != nil {
		b.Fatal(err)
	}
	r.oracle = oracle.FromTape(r.tape)
	r.oracleText, r.tapeText = oracle.Append(nil, r.oracle), r.tape.AppendJSON(nil)
	r.hashed = [][]byte{r.part, r.oracleText, r.tapeText}
	for _, m := range r.tape.Messages {
		var said []byte
		for _, p := range m.Parts {
			said = p.Result.AppendJSON(p.Args.AppendJSON(append(said, p.Text...)))
		}
		r.hashed = append(r.hashed, said)
	}
	for i := range r.tape.Events {
		r.hashed = append(r.hashed, r.tape.Events[i].Args.AppendJSON(nil), r.tape.Events[i].Result.AppendJSON(nil))
	}
	for _, s := range r.td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
		for _, v := range s.Attributes().All() {
			if v.Type() == pcommon.ValueTypeStr && jsonscan.Valid(v.Str()) {
				r.documents = append(r.documents, v.Str())
			}
		}
	}
	return r
}

// floorStep is work that no implementation of the default pipeline to a deck of files avoids, done with the libraries that it uses. Work for the n-th run
// returns false when it failed.
type floorStep struct {
	name string
	work func(n int, r *floorRun) bool
}

// What the default pipeline shares among runs: requests of senders, and syncs of writers.
const (
	floorSpansPerRequest = 100
	floorWriters         = 16
)

func floorSteps(b *testing.B, runs []*floorRun, spans int) []floorStep {
	b.Helper()
	fail := func(err error) bool {
		if err != nil {
			b.Error(err)
		}
		return err == nil
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { encoder.Close() })
	redactor, err := redact.New(redact.Default())
	if err != nil {
		b.Fatal(err)
	}
	for range 2 { // so that it knows the texts
		for _, r := range runs {
			redactor.Traces(r.td, nil)
		}
	}
	dir := b.TempDir()
	spool, err := os.Create(filepath.Join(dir, "spool"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { spool.Close() })
	const segment = 64 << 20
	if err := unix.Fallocate(int(spool.Fd()), 0, 0, segment); err != nil {
		b.Log("the spool grows as it is written: ", err)
	}
	castagnoli, seed := crc32.MakeTable(crc32.Castagnoli), maphash.MakeSeed()
	var at int64
	made := 0
	var canonical, packed, text []byte
	return []floorStep{
		{"decoding", func(_ int, r *floorRun) bool {
			_, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(r.request)
			return fail(err)
		}},
		{"redaction", func(_ int, r *floorRun) bool { // of texts that it knows: a sum of each
			redactor.Traces(r.td, nil)
			return true
		}},
		{"spool", func(n int, r *floorRun) bool { // one marshalling, one checksum, one write; a sync for each request
			record, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(r.td)
			if err != nil {
				return fail(err)
			}
			at %= segment - int64(len(record)) // a segment is reused in the long run
			record = binary.LittleEndian.AppendUint32(record, crc32.Checksum(record, castagnoli))
			if _, err := spool.WriteAt(record, at); err != nil {
				return fail(err)
			}
			at += int64(len(record))
			if n%max(1, floorSpansPerRequest/spans) == 0 {
				return fail(unix.Fdatasync(int(spool.Fd())))
			}
			return true
		}},
		{"canonical form", func(_ int, r *floorRun) bool {
			_, err := r.set.CanonicalIn(&canonical)
			return fail(err)
		}},
		{"digests", func(_ int, r *floorRun) bool {
			for _, text := range r.hashed {
				sha256.Sum256(text)
			}
			return maphash.Bytes(seed, r.part) != 0 // the items of the set are, together, as large as the part
		}},
		{"compression", func(_ int, r *floorRun) bool {
			packed = encoder.EncodeAll(r.part, packed[:0])
			return true
		}},
		{"reading JSON", func(_ int, r *floorRun) bool { // once, into nothing
			return !slices.ContainsFunc(r.documents, func(s string) bool { return !jsonscan.Valid(s) })
		}},
		{"rendering", func(_ int, r *floorRun) bool { // each file once
			text = r.tape.AppendJSON(oracle.Append(text[:0], r.oracle))
			return true
		}},
		{"gate", func(_ int, r *floorRun) bool { // of texts that it knows: a sum
			return maphash.Bytes(seed, r.tapeText)^maphash.Bytes(seed, r.oracleText) != 0
		}},
		{"deck of files", func(n int, r *floorRun) bool { // two folders, three files that get their names at last, a share of two syncs
			made++
			trace := filepath.Join(dir, fmt.Sprintf("%032x", made))
			generation := filepath.Join(trace, "generation")
			if err := errors.Join(os.Mkdir(trace, 0o755), os.Mkdir(generation, 0o755)); err != nil {
				return fail(err)
			}
			names := []string{filepath.Join(trace, "part"), filepath.Join(generation, tape.OracleFile), filepath.Join(generation, tape.TapeFile)}
			for i, body := range [][]byte{r.packed, r.oracleText, r.tapeText} {
				if err := os.WriteFile(names[i]+".tmp", body, 0o644); err != nil {
					return fail(err)
				}
			}
			share := func() error {
				if n%floorWriters != 0 {
					return nil
				}
				return unix.Syncfs(int(spool.Fd()))
			}
			err := share()
			for _, name := range names {
				err = errors.Join(err, os.Rename(name+".tmp", name))
			}
			return fail(errors.Join(err, share()))
		}},
	}
}

// BenchmarkFloor is the default pipeline to a deck of files without everything that could be left out: each byte is decoded, compared with what is known,
// hashed, compressed and rendered once, and written once to the spool and to the deck. Receiving is not in it (it is most of otlp → nop), nor is making the
// tape of the spans, or anything that runs beside the work.
func BenchmarkFloor(b *testing.B) {
	shapes(b, func(b *testing.B, shape agentload.Shape) {
		requests, spans, size := loads(b, shape, 16)
		var runs []*floorRun
		for _, request := range requests {
			runs = append(runs, newFloorRun(b, request))
		}
		measure := func(name string, steps []floorStep) {
			b.Run(name, func(b *testing.B) {
				b.SetBytes(int64(size))
				b.ReportAllocs()
				n, began := 0, cputime.Used()
				for b.Loop() {
					for _, step := range steps {
						if !step.work(n, runs[n%len(runs)]) {
							b.Fatal(step.name)
						}
					}
					n++
				}
				b.ReportMetric(float64((cputime.Used()-began).Nanoseconds())/float64(n*spans), "cpu-ns/span")
			})
		}
		steps := floorSteps(b, runs, spans)
		for i, step := range steps {
			measure(step.name, steps[i:i+1])
		}
		measure("all", steps)
	})
}
