// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/genai/dialect"
)

// withEmptyTexts returns the item with an empty text where its SDK wrote no value. The exporter of OpenTelemetry for Java leaves a text of no length out
// and keeps its key, and its API has no null: a key without a value is an empty text there. Elsewhere it may be null (JavaScript), and stays that. It
// returns the item itself when there is nothing to change.
func withEmptyTexts(s *dialect.Source) *dialect.Source {
	if language, _ := s.Resource.Get("telemetry.sdk.language"); s.ScopeName == dialect.LogScope || language.Str() != "java" {
		return s
	}
	for _, v := range s.Span.Attributes().All() {
		if v.Type() != pcommon.ValueTypeEmpty {
			continue
		}
		with := *s
		with.Span = ptrace.NewSpan()
		s.Span.CopyTo(with.Span)
		for _, v := range with.Span.Attributes().All() {
			if v.Type() == pcommon.ValueTypeEmpty {
				v.SetStr("")
			}
		}
		return &with
	}
	return s
}
