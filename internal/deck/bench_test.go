// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package deck_test

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/store/mem"
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
// part, one listing, a generation of four files.
func BenchmarkWriteRun(b *testing.B) {
	for _, kind := range []struct{ name, url string }{
		{"mem", "mem://bench"},
		{"file", "file://%s/deck"},
		{"file-nosync", "file://%s/deck?sync=false"},
	} {
		b.Run(kind.name, func(b *testing.B) {
			url := kind.url
			if kind.name != "mem" {
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
			id := make([]byte, 16)
			for b.Loop() {
				_, _ = rand.Read(id) // never fails
				copy(part, id)
				location := deck.Location{Area: deck.AreaRuns, Tenant: "default", TraceID: hex.EncodeToString(id)}
				if _, _, err := d.PutPart(b.Context(), location, part); err != nil {
					b.Fatal(err)
				}
				state, err := d.State(b.Context(), location)
				if err != nil {
					b.Fatal(err)
				}
				gen := deck.NewGeneration(20, state.Parts, nil)
				if _, err := d.PutGeneration(b.Context(), location, gen, []deck.RunFiles{{Root: root1, Files: files}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
