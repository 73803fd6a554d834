// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
)

// details is the event that holds the content of a call, as an event of its span or as a log record that
// names it.
const details = "gen_ai.client.inference.operation.details"

// eventContent are the attributes of details that package semconv reads where they are.
var eventContent = []string{"gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions"}

// withDetails returns the item with the attributes of its details on the span, where the span lacks them, or
// the item itself where there is nothing to add. An instrumentation may write any content key of a convention
// into the event instead. One written by hand may use an event or a record of any name: there, keys of the
// table count.
func withDetails(s *dialect.Source) *dialect.Source {
	if s.ScopeName == dialect.LogScope {
		return s
	}
	var span ptrace.Span
	added := false
	add := func(name string, m pcommon.Map) {
		for key, v := range m.All() {
			if name == details && slices.Contains(eventContent, key) || strings.HasPrefix(key, "log.record.") || strings.HasPrefix(key, "event.") {
				continue
			}
			if name != details && (key == "gen_ai.prompt" || key == "gen_ai.completion") {
				continue // other keys say what the span is
			}
			if name != details && keyMarks(key)&^memberOnly == 0 && !strings.HasPrefix(key, "gen_ai.") {
				continue
			}
			if _, there := s.Span.Attributes().Get(key); there {
				continue
			}
			if !added {
				span, added = ptrace.NewSpan(), true
				s.Span.CopyTo(span)
			}
			if _, there := span.Attributes().Get(key); !there {
				v.CopyTo(span.Attributes().PutEmpty(key))
			}
		}
	}
	for _, e := range s.Span.Events().All() {
		if e.Name() == details || e.Name() != "exception" && !strings.HasPrefix(e.Name(), "gen_ai.") {
			add(e.Name(), e.Attributes())
		}
	}
	for _, l := range s.Logs {
		if l.Name() == details || !strings.HasPrefix(l.Name(), "gen_ai.") && ownerOfEvent(l.Name()) == nil {
			add(l.Name(), l.Attributes())
		}
	}
	if !added {
		return s
	}
	with := *s
	with.Span = span
	return &with
}
