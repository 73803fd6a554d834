// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
)

func TestToolIsNamedInItsSpan(t *testing.T) {
	for span, want := range map[string]string{"tool: 'search'": "search", "Tool:search": "search", "search.tool": "search", "search": "search", "step: 0": "step: 0"} {
		if got := decode.ToolOfSpan(span); got != want {
			t.Errorf("%s: %q, want %q", span, got, want)
		}
	}
}
