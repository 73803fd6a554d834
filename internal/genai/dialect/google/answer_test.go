// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package google

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

func TestADKStreamedChoicesAreOneAnswer(t *testing.T) {
	text := func(s string) decode.Message {
		return decode.Message{Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart(s)}}
	}
	for name, chunks := range map[string][]decode.Message{
		"chunks":                 {text("Hel"), text("lo")},
		"chunks, then the whole": {text("Hel"), text("lo"), text("Hello")},
	} {
		if got := messageText(wholeAnswer(chunks)); got != "Hello" {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
