// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
)

// languageQuirks are those of whatever runs in a language. Frameworks in Go hand a tool its arguments as
// map[string]any and write its result from one: every number there is a double (ADK, Genkit). Few integers
// are written as doubles print, so a program that keeps its integers is told apart by them.
var languageQuirks = map[string]dialect.Quirks{"go": dialect.RoundsIntegers | dialect.NamesEmpty}

var languageHooks = []dialect.Hook{{Quirk: dialect.NamesEmpty, Run: readEmpty}}

func languageOf(s *dialect.Source) string {
	language, _ := s.Resource.Get("telemetry.sdk.language")
	return language.Str()
}

// readEmpty reads the null that exporters for Go write as a text in log records.
func readEmpty(s *dialect.Source, o *dialect.Draft) {
	if slices.ContainsFunc(s.Logs, holdsEmpty) {
		o.Request, o.Response = slices.Clone(o.Request), slices.Clone(o.Response)
		decode.ReadEmpty(o.Request)
		decode.ReadEmpty(o.Response)
	}
}

func holdsEmpty(record ptrace.Span) bool {
	for _, v := range record.Attributes().All() {
		if decode.HoldsEmpty(decode.JSONOf(v)) {
			return true
		}
	}
	return false
}

// asSet returns the item with the attributes that the program set, or the item itself where its SDK writes
// these:
//
//   - Java: the exporter leaves out a text of no length and keeps its key. The API has no null, so the value
//     is a text. Elsewhere a key without a value may be null (JavaScript), and stays null.
//   - Rust: an attribute that was set twice is written twice. The last value counts.
func asSet(s *dialect.Source) *dialect.Source {
	language := languageOf(s)
	switch {
	case s.ScopeName == dialect.LogScope:
		return s
	case language == "java" && leavesOut(s.Span.Attributes()), language == "rust" && repeats(s.Span.Attributes()):
	default:
		return s
	}
	with := *s
	with.Span = ptrace.NewSpan()
	s.Span.CopyTo(with.Span)
	with.Span.Attributes().Clear()
	for key, v := range s.Span.Attributes().All() {
		if v.Type() == pcommon.ValueTypeEmpty && language == "java" {
			with.Span.Attributes().PutStr(key, "")
		} else {
			value, _ := with.Span.Attributes().GetOrPutEmpty(key)
			v.CopyTo(value)
		}
	}
	return &with
}

// leavesOut reports a key without a value.
func leavesOut(m pcommon.Map) bool {
	for _, v := range m.All() {
		if v.Type() == pcommon.ValueTypeEmpty {
			return true
		}
	}
	return false
}

// repeats reports a key that is there more than once.
func repeats(m pcommon.Map) bool {
	seen := make(map[string]bool, m.Len())
	for key := range m.All() {
		if seen[key] {
			return true
		}
		seen[key] = true
	}
	return false
}
