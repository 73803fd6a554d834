// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package langfuse

import (
	"bufio"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/imports"
)

func readAll(t *testing.T, text string) (spans []ptrace.Span) {
	t.Helper()
	for doc, err := range read(imports.Input{Name: "in", Reader: bufio.NewReader(strings.NewReader(text))}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, rs := range doc.Traces.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					spans = append(spans, s)
				}
			}
		}
	}
	return spans
}

// TestATraceOfAnOlderSDKIsTheRootOfItsObservations: such a trace is no observation, and several of them have
// no parent.
func TestATraceOfAnOlderSDKIsTheRootOfItsObservations(t *testing.T) {
	spans := readAll(t, `{"id":"9f0c1f3e-7a52-4e6e-b7f3-2d4b6f6f1a11","timestamp":"2026-01-01T00:00:01Z","name":"agent","sessionId":"c","userId":null,"input":{"q":"hi"},"output":"yo","tags":[],
	 "observations":[{"id":"a","type":"GENERATION","startTime":"2026-01-01T00:00:00.500Z","endTime":"2026-01-01T00:00:03Z","parentObservationId":null,"input":[],"level":"DEFAULT"},
	  {"id":"b","type":"TOOL","startTime":"2026-01-01T00:00:02Z","parentObservationId":null},{"id":"c","type":"SPAN","parentObservationId":"b"}]}`)
	if len(spans) != 4 {
		t.Fatal(len(spans))
	}
	root := spans[3]
	for i, parent := range []ptrace.Span{root, root, spans[1]} {
		if spans[i].ParentSpanID() != parent.SpanID() || spans[i].TraceID() != root.TraceID() {
			t.Errorf("observation %d is below %s", i, spans[i].ParentSpanID())
		}
	}
	if root.TraceID().String() != "9f0c1f3e7a524e6eb7f32d4b6f6f1a11" || !root.ParentSpanID().IsEmpty() || root.StartTimestamp() != spans[0].StartTimestamp() || root.EndTimestamp() != spans[0].EndTimestamp() {
		t.Error(root.TraceID(), root.StartTimestamp(), root.EndTimestamp())
	}
	for name, want := range map[string]string{"langfuse.observation.input": `{"q":"hi"}`, "langfuse.observation.output": "yo", "session.id": "c", "langfuse.observation.type": "span"} {
		if v, _ := root.Attributes().Get(name); v.AsString() != want {
			t.Error(name, v.AsString())
		}
	}
	if _, ok := spans[0].Attributes().Get("langfuse.observation.input"); ok {
		t.Error("an empty input is none")
	}
}

// TestRowsOfTheTableOfTracesAreLeftOut: they hold no call, and their observations are rows of another table.
func TestRowsOfTheTableOfTracesAreLeftOut(t *testing.T) {
	if spans := readAll(t, `{"id":"t","timestamp":"2026-01-01T00:00:00Z","sessionId":"s","input":1,"output":2,"observations":["a","b"]}`); len(spans) != 0 {
		t.Error(len(spans))
	}
}
