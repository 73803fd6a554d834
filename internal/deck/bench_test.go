// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck_test

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
	"github.com/tapedeck/tapedeck/internal/testbed/cputime"
)

// evidence is n bytes that compress about as OTLP does: ids and numbers between
// names that come again and again.
func evidence(n int) []byte {
	var b bytes.Buffer
	id := make([]byte, 16)
	for i := 0; b.Len() < n; i++ {
		_, _ = rand.Read(id) // never fails
		fmt.Fprintf(&b, "invoke_agent gen_ai.operation.name chat gen_ai.request.model %s gen_ai.usage.input_tokens %d the quick brown fox %d;", id, i, i*i)
	}
	return b.Bytes()[:n]
}

// BenchmarkWriteRun does what the exporter does for a new run of 20 spans: a
// part, one listing, a generation of four files; file-16 does it for 16 runs at
// once on two processors, as agentrun lets it.
func BenchmarkWriteRun(b *testing.B) {
	for _, kind := range []struct {
		name, url string
		writers   int // for each processor
	}{
		{"mem", "mem://bench", 1},
		{"file", "file://%s/deck", 1},
		{"file-16", "file://%s/deck", 8},
		{"file-nosync", "file://%s/deck?sync=false", 1},
	} {
		b.Run(kind.name, func(b *testing.B) {
			url := kind.url
			if strings.Contains(url, "%s") {
				url = fmt.Sprintf(url, b.TempDir())
			}
			mem.Drop("bench")
			b.Cleanup(func() { mem.Drop("bench") })
			d, err := deck.Open(b.Context(), url)
			if err != nil {
				b.Fatal(err)
			}
			defer d.Close()
			part, tape, side := evidence(44<<10), evidence(40<<10), evidence(12<<10)
			files := []deck.File{{Name: "oracle.json", Body: side}, {Name: "agent-run1.json", Body: side}, {Name: "execution-snapshot.json", Body: side}, {Name: deck.TapeFile, Body: tape}}
			b.SetBytes(int64(len(part) + len(tape) + 3*len(side)))
			b.ReportAllocs()
			write := func(part, id []byte) error {
				_, _ = rand.Read(id) // never fails
				copy(part, id)
				location := deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: hex.EncodeToString(id)}
				if _, _, err := d.PutPart(b.Context(), location, part); err != nil {
					return err
				}
				state, err := d.State(b.Context(), location)
				if err != nil {
					return err
				}
				gen := deck.NewGeneration(20, state.Parts, nil)
				_, err = d.PutGeneration(b.Context(), location, gen, []deck.RunFiles{{Root: root1, Files: files}})
				return err
			}
			began := cputime.Used()
			b.SetParallelism(kind.writers)
			b.RunParallel(func(next *testing.PB) {
				part, id := slices.Clone(part), make([]byte, 16)
				for next.Next() {
					if err := write(part, id); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64((cputime.Used()-began).Microseconds())/float64(b.N), "cpu-us/op")
		})
	}
}
