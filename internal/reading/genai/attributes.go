// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
)

// asSet returns the item with the attributes that the program set, where its SDK writes others. The exporter of OpenTelemetry for Java leaves a text of no
// length out and keeps its key, and its API has no null: a key without a value is an empty text there. Elsewhere it may be null (JavaScript), and stays
// that. The SDK for Rust writes an attribute that was set twice twice: the last is what it was set to. It returns the item itself when there is nothing
// to change.
func asSet(s *dialect.Source) *dialect.Source {
	language, _ := s.Resource.Get("telemetry.sdk.language")
	switch {
	case s.ScopeName == dialect.LogScope:
		return s
	case language.Str() == "java" && leavesOut(s.Span.Attributes()), language.Str() == "rust" && repeats(s.Span.Attributes()):
	default:
		return s
	}
	with := *s
	with.Span = ptrace.NewSpan()
	s.Span.CopyTo(with.Span)
	with.Span.Attributes().Clear()
	for key, v := range s.Span.Attributes().All() {
		if v.Type() == pcommon.ValueTypeEmpty && language.Str() == "java" {
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
