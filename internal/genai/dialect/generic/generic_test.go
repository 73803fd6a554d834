// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generic_test

import (
	"slices"
	"testing"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/genai/genaitest"
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
