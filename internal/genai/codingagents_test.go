// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

func TestClaudeAgentSDKSpansSayWhatTheyHold(t *testing.T) {
	saysAsRecorded(t, Read, "claudeagent/retry")
}

func TestClaudeAPISpansSayWhatTheyHold(t *testing.T) { saysAsRecorded(t, Read, "claudeapi/typescript") }

func TestCodexLeavesOutSpansThatSayNothing(t *testing.T) {
	for _, s := range sourcesOf(t, "testdata/codex/retry") {
		if got := IsEvidence(s.ScopeName, s.Span); got != (s.Span.Name() != "fs.read_file") {
			t.Errorf("%s: evidence is %v", s.Span.Name(), got)
		}
	}
}

func TestClaudeAPIResultsAreBlocksUnderANameOfTheirOwn(t *testing.T) {
	s := spanSource("com.anthropic.sdk.python", "anthropic.tool_use add", "gen_ai.tool.call.id", "toolu_1",
		"gen_ai.tool.call.arguments", `{"a":1}`, "anthropic.tool_result.content", `[{"type":"text","text":"3"}]`)
	want := "class: tool\ndialect: claude-api\nname: add\ncall: toolu_1\nkind: function\nargs: {\"a\":1}\nresult: \"3\" [content_blocks]\n"
	if got := said(Read(s)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCopilotWritesTheConventionsUnderItsOwnScope(t *testing.T) {
	s := spanSource("github.copilot", "execute_tool bash", "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "bash",
		"gen_ai.tool.call.id", "call_1", "gen_ai.tool.call.arguments", `{"command":"ls"}`, "gen_ai.tool.call.result", "a")
	want := "class: tool\ndialect: copilot-cli\nname: bash\ncall: call_1\nargs: {\"command\":\"ls\"}\nresult: \"a\"\n"
	if got := said(Read(s)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestClaudeCodeArgumentsThatWereRedactedAreNotTakenForCut(t *testing.T) {
	size := int64(400)
	for text, want := range map[string]tape.Label{
		`{"token":"[REDACTED:jwt:kkb7zrhoj7k2qn7fgkthcp2zbq]"}`: "",
		`{"token":"short"}`: tape.Truncated,
	} {
		if got := claudeCodeArgs(exactjson.StringValue(text), &size); got.Label != want {
			t.Errorf("%s: %q, want %q", text, got.Label, want)
		}
	}
}
