// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestPairsOfARoleAndATextThatPythonWrote(t *testing.T) {
	read := func(text string) []decode.Message {
		messages, _ := decode.Messages(exactjson.StringValue(text), tape.RoleUser)
		return messages
	}
	if m := read(`[('system', 'be brief'), ("human", "it's me")]`); len(m) != 2 || m[0].Role != tape.RoleSystem || m[1].Role != tape.RoleUser || m[1].Parts[0].Text != "it's me" {
		t.Errorf("%+v", m)
	}
	if m := read(`[('user', 'it was c`); len(m) > 0 {
		t.Errorf("of a list that was cut: %+v", m)
	}
	for _, text := range []string{`[('berry', 'red')] is a pair`, `[('user', 'hi'), 3]`, `[(1, 2)]`} {
		if m := read(text); len(m) != 1 || m[0].Parts[0].Text != text {
			t.Errorf("%s: %+v", text, m)
		}
	}
}
