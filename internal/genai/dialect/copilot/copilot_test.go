// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package copilot_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/genai/genaitest"
)

func TestCopilotWritesTheConventionsUnderItsOwnScope(t *testing.T) {
	s := genaitest.Span("github.copilot", "execute_tool bash", "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "bash",
		"gen_ai.tool.call.id", "call_1", "gen_ai.tool.call.arguments", `{"command":"ls"}`, "gen_ai.tool.call.result", "a")
	want := "class: tool\ndialect: copilot-cli\nname: bash\ncall: call_1\nargs: {\"command\":\"ls\"}\nresult: \"a\"\n"
	if got := genaitest.Said(genai.Read(s)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
