// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Messages of the AI SDK for a page hold a call together with its result. Of a state that was cut there, what is left of the arguments is nobody's.
func TestConversationThatWasCutEndsBeforeTheCut(t *testing.T) {
	const before = `[{"role":"user","content":"q"},{"role":"assistant","parts":[{"type":"text","text":"one moment"},{"type":"step-start"},`
	const one = `{"type":"tool-f","toolCallId":"c1","state":"output-available","input":{"x":1},"output":"five"}`
	const two = `{"type":"tool-f","toolCallId":"c2","state":"output-available","input":{"x":`
	for name, c := range map[string]struct {
		state string
		cut   bool
		want  int // messages: of a step, the answer and the results are one each
	}{
		"whole":                 {before + one + `]}]`, false, 4},
		"cut in the arguments":  {before + one + `,{"type":"step-start"},` + two, true, 4},
		"cut in the result":     {before + `{"type":"tool-f","toolCallId":"c1","state":"output-available","input":{"x":1},"output":"fi`, true, 3},
		"cut in the next words": {before + one + `,{"type":"step-start"},{"type":"text","text":"so`, true, 4},
	} {
		content := genai.Content{}
		text := c.state
		if c.cut {
			text, content.Label = decode.MarkCut(c.state), tape.Truncated
		}
		v, err := exactjson.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		content.Value, _ = decode.UnmarkValue(v)
		if got := ConversationIn(content); len(got) != c.want {
			t.Errorf("%s: %d messages %+v", name, len(got), got)
		}
	}
}
