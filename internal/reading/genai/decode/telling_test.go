// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestAnswersThatSayNothingAreNone(t *testing.T) {
	for body, left := range map[string]int{
		`[null]`: 0, `"<anthropic.Stream object at 0x7fb7eda10920>"`: 0, `"<generator object f.<locals>.g at 0x7f>"`: 0, `"<Foo at 0x1f>"`: 0,
		`""`: 1, `[null,"a"]`: 1, `"<p>at 0x1f"`: 1, `"see <Foo at 0x1f>"`: 1, `{"a":null}`: 1,
	} {
		v, err := exactjson.Parse(body)
		if err != nil {
			t.Fatal(err)
		}
		m := decode.Message{Role: tape.RoleAssistant, Parts: decode.Parts(v)}
		if got := len(decode.Telling([]decode.Message{m})); got != left {
			t.Errorf("%s: %d answers, want %d", body, got, left)
		}
	}
}

// What Python writes for a method, a class or an object is no text that was sent to a model.
func TestObjectsOfAProgramAreNoInstructions(t *testing.T) {
	for text, said := range map[string]bool{
		"<bound method Agent.instructions of Agent(name='a',\n model=None)>": false, "<class 'str'>": false, "<function f at 0x7f>": false, "<bound method of contact> is the mail.": true, "Write <class 'a'> tags.": true,
	} {
		if got := len(decode.System(exactjson.StringValue(text))) > 0; got != said {
			t.Errorf("%q: %v, want %v", text, got, said)
		}
	}
}
