// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

func TestTextsThatSomebodyCutAreToldFromTextsWithDots(t *testing.T) {
	for text, want := range map[string]tape.Label{
		strings.Repeat("é", 1200) + "…":                   tape.Truncated,
		strings.Repeat("a", 256) + "...":                  tape.Truncated,
		strings.Repeat("a", 300) + "... [truncated]":      tape.Truncated,
		strings.Repeat("a", 500) + "…<truncated 7 chars>": tape.Truncated,
		strings.Repeat("a", 201) + "...":                  "",
		strings.Repeat("a", 333) + "...[truncated]":       "",
		strings.Repeat("a", 100) + "...":                  "",
		strings.Repeat("a", 33) + " [truncated]":          "",
	} {
		if got := decode.LabelOf(text); got != want {
			t.Errorf("%d bytes that end with %q: %q", len(text), text[len(text)-12:], got)
		}
	}
}
