// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"os"
	"path/filepath"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

// FuzzRead gives every dialect spans of any content: none may fail on them, and reading twice says the same.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("dialect/*/testdata/*/*.otlp.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("no fixtures: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(data)
		if err != nil {
			t.Skip("no telemetry")
		}
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					s := &dialect.Source{Resource: rs.Resource().Attributes(), ScopeName: ss.Scope().Name(), ScopeVersion: ss.Scope().Version(), Span: span}
					if first, second := genaitest.Said(Read(s)), genaitest.Said(Read(s)); first != second {
						t.Fatalf("read twice:\n%s\n%s", first, second)
					}
					for _, d := range Dialects { // also where another dialect's detection would have passed it by
						for class := dialect.Agent; class <= dialect.Noise; class++ {
							o := dialect.NewDraft()
							o.Class = class
							d.Read(&dialect.Source{Resource: pcommon.NewMap(), ScopeName: ss.Scope().Name(), Span: span}, o)
							o.Discard()
						}
					}
				}
			}
		}
	})
}
