// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package anthropic_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/genai/genaitest"
)

func TestClaudeAgentSDKSpansSayWhatTheyHold(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "claudeagent/retry")
}

func TestClaudeAPISpansSayWhatTheyHold(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "claudeapi/typescript")
}

func TestClaudeAPIResultsAreBlocksUnderANameOfTheirOwn(t *testing.T) {
	s := genaitest.Span("com.anthropic.sdk.python", "anthropic.tool_use add", "gen_ai.tool.call.id", "toolu_1",
		"gen_ai.tool.call.arguments", `{"a":1}`, "anthropic.tool_result.content", `[{"type":"text","text":"3"}]`)
	want := "class: tool\ndialect: claude-api\nname: add\ncall: toolu_1\nkind: function\nargs: {\"a\":1}\nresult: \"3\" [content_blocks]\n"
	if got := genaitest.Said(genai.Read(s)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
