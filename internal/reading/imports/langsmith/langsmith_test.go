// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package langsmith

import (
	"bufio"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/imports"
)

func readAll(t *testing.T, text string) (spans []ptrace.Span, refused []error) {
	t.Helper()
	for doc, err := range read(imports.Input{Name: "in", Reader: bufio.NewReader(strings.NewReader(text))}) {
		if err != nil {
			refused = append(refused, err)
			continue
		}
		for _, s := range doc.Traces.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
			spans = append(spans, s)
		}
	}
	return spans, refused
}

// TestTheCallerOfARunIsNamedInFourWays: as a member, in the dotted order, as the last of all callers, and by
// the run that holds it.
func TestTheCallerOfARunIsNamedInFourWays(t *testing.T) {
	const above, below = "01a2246b-9e33-7c1e-974a-c58fa4ea4cbe", "01a2246b-9e4c-712e-86b3-ddc7dff21dc1"
	for name, text := range map[string]string{
		"member":       `{"id":"%[2]s","run_type":"llm","trace_id":"%[1]s","parent_run_id":"%[1]s"}`,
		"dotted order": `{"id":"%[2]s","run_type":"LLM","trace_id":"%[1]s","dotted_order":"20261128T230922355592Z%[1]s.20261128T230922380511Z%[2]s"}`,
		"ancestors":    `{"id":"%[2]s","run_type":"llm","trace_id":"%[1]s","parent_run_ids":["x","%[1]s"]}`,
		"child":        `{"id":"%[1]s","run_type":"chain","trace_id":"%[1]s","child_runs":[{"id":"%[2]s","run_type":"llm"}]}`,
	} {
		spans, refused := readAll(t, fmt.Sprintf(text, above, below))
		if len(spans) == 0 || len(refused) > 0 {
			t.Fatal(name, len(spans), refused)
		}
		s := spans[len(spans)-1]
		kind, _ := s.Attributes().Get("langsmith.span.kind")
		if s.ParentSpanID() != imports.SpanID("langsmith", above) || s.TraceID().String() != strings.ReplaceAll(above, "-", "") || kind.Str() != "llm" {
			t.Error(name, s.ParentSpanID(), s.TraceID(), kind.Str())
		}
	}
}

func TestChildRunsAreReadToABoundedDepth(t *testing.T) {
	text := strings.Repeat(`{"id":"a","run_type":"chain","child_runs":[`, 100) + strings.Repeat("]}", 100)
	if spans, refused := readAll(t, text); len(spans) != 0 || len(refused) != 1 {
		t.Error(len(spans), refused)
	}
}
