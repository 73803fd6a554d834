// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generic_test

import (
	"slices"
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

func TestHandWrittenSpansAreRead(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "generic/mixed")
	genaitest.Says(t, genai.Read(genaitest.Span("app", "tool call", "tool.name", "f", "tool.call_id", "c1", "input", `{"a":1}`, "output", "r")),
		"class: tool\ndialect: generic\nname: f\ncall: c1\nkind: function\nargs: {\"a\":1}\nresult: \"r\"\n")
	genaitest.Says(t, genai.Read(genaitest.Span("app", "tool", "tool.name", "f", "tool.parameters", `{"type":"object","properties":{"a":{}}}`)),
		"class: tool\ndialect: generic\nname: f\nkind: function\n")
}

func TestHandWrittenNamesAddNothingToOpenInference(t *testing.T) {
	o := genai.Read(genaitest.Span("app", "t", "openinference.span.kind", "TOOL", "tool.name", "f", "input.value", "{}"))
	if len(o.Dialects) == 0 || o.Dialects[0] != "openinference" || slices.Contains(o.Dialects, "generic") {
		t.Errorf("read by %v", o.Dialects)
	}
}

// A model answers in JSON whose members may have the names of those of a response; what stands beside them tells, and that there is no message.
func TestAnAnswerInJSONMayHaveMembersOfAResponse(t *testing.T) {
	for text, answers := range map[string]bool{
		`{"output":{"lines":[]},"total":false}`:                             true,
		`{"error":["late"],"content":7,"total":1}`:                          true,
		`{"message":"I look.","severity":3}`:                                true,
		`{"output":{"lines":[]},"latency_ms":12}`:                           false, // around what was answered
		`{"output":{"lines":[]}}`:                                           false,
		`{"output":{"role":"assistant","refusal":null},"total":1}`:          false,
		`{"output":[{"type":"web_search_call","status":"done"}],"total":1}`: false,
		`{"choices":[],"output":{"lines":[]},"total":1}`:                    false,
	} {
		o := genai.Read(genaitest.Span("app", "completion m", "gen_ai.request.model", "m", "gen_ai.prompt", "hi", "gen_ai.completion", text))
		got := len(o.Response) == 1 && len(o.Response[0].Parts) == 1 && o.Response[0].Parts[0].Text == text
		if got != answers {
			t.Errorf("%s answers %t: %+v", text, got, o.Response)
		}
	}
}
