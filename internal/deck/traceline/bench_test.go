// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package traceline

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
)

// BenchmarkLine is what a trace of 20 spans costs: to read its line, and to derive it.
func BenchmarkLine(b *testing.B) {
	td := agentload.New(1).Trace(agentload.Short)
	set := evidence.NewSet()
	set.AddTraces(td)
	part, err := set.Canonical()
	if err != nil {
		b.Fatal(err)
	}
	id := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).TraceID()
	line, err := json.Marshal(map[string]any{"trace_id": id.String(), "area": "runs", "parts": []string{base64.StdEncoding.EncodeToString(part)}})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("parse", func(b *testing.B) {
		b.SetBytes(int64(len(line)))
		for b.Loop() {
			if _, err := ParseRequest(line); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("derive", func(b *testing.B) {
		b.SetBytes(int64(len(line)))
		d := NewDeriver(generation.Options{})
		for b.Loop() {
			r, err := ParseRequest(line)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := d.Derive(r); err != nil {
				b.Fatal(err)
			}
		}
	})
}
