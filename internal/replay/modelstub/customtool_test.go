// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// A call whose arguments are a text is one of a custom tool, as Codex has for patches, unless the tool is offered as a function.
func TestATextIsTheInputOfACustomTool(t *testing.T) {
	const patch = "*** Begin Patch\n*** Update File: src/app.py\n@@\n-VERSION = 1\n+VERSION = 2\n*** End Patch"
	tp := taped("go on", told("", "go on", ""))
	tp.Messages["0.0"] = tape.Message{Role: tape.RoleSystem}
	tp.Messages["a0"] = tape.Message{Role: tape.RoleAssistant, Parts: []tape.Part{{Type: tape.PartToolCall, ID: "call_1", Name: "apply_patch", Args: exactjson.StringValue(patch)}}}
	s := server(t, tp, Options{}, Config{})
	for i, c := range []struct{ kind, want, member string }{{"", "custom_tool_call", "input"}, {"custom", "custom_tool_call", "input"}, {"function", "function_call", "arguments"}} {
		body := map[string]any{"model": "m", "input": "go on", "stream": true}
		if c.kind != "" {
			body["tools"] = []any{map[string]any{"type": c.kind, "name": "apply_patch"}}
		}
		_, text := post(t, s.URL+"/v1/responses", body, SessionHeader, itoa(i))
		streamed, done := "", ""
		for line := range strings.SplitSeq(text, "\n") {
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				continue
			}
			var e struct {
				Type, Delta string
				Item        map[string]any
			}
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(e.Type, c.member+".delta") {
				streamed += e.Delta
			}
			if e.Type == "response.output_item.done" && e.Item["type"] == c.want && e.Item["call_id"] == "call_1" {
				done, _ = e.Item[c.member].(string)
			}
		}
		if streamed != patch || done != patch {
			t.Errorf("offered as %q: streamed %q, done %q", c.kind, streamed, done)
		}
	}
}
