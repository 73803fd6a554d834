// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package google

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
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

func TestADKPiecesOfCallsAreOneAnswer(t *testing.T) {
	calls := func(ids ...string) decode.Message {
		m := decode.Message{Role: tape.RoleAssistant}
		for _, id := range ids {
			m.Parts = append(m.Parts, decode.Part{Part: tape.Part{Type: tape.PartToolCall, Name: "f", ID: id}})
		}
		return m
	}
	for name, c := range map[string]struct {
		chunks []decode.Message
		want   int
	}{
		"pieces, then the whole": {[]decode.Message{calls("a"), calls("a"), calls("b"), calls("a", "b")}, 2},
		"one call in each chunk": {[]decode.Message{calls("a"), calls("b")}, 2},
		"calls without ids":      {[]decode.Message{calls(""), calls("")}, 2},
	} {
		if got := wholeAnswer(c.chunks); len(got) != 1 || len(got[0].Parts) != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
