// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package anthropic_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
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

func TestClaudeCodeInstructionsOfARequest(t *testing.T) {
	for name, c := range map[string]struct {
		preview string
		length  string
		program string
		want    string
	}{
		"a preview of all of it": {"You are terse. Été 🙂", "21", "terse", "You are terse. Été 🙂"},
		"a preview of a part":    {"You are", "200", "You are terse.", "You are terse."},
		"a part alone":           {"You are", "200", "", ""},
	} {
		attrs := []string{"span.type", "llm_request", "model", "claude-sonnet-4-5", "system_prompt_preview", c.preview, "system_prompt_length", c.length}
		if c.program != "" {
			attrs = append(attrs, "user_system_prompt", c.program)
		}
		o := genai.Read(genaitest.Span("com.anthropic.claude_code.tracing", "claude_code.llm_request", attrs...))
		got := ""
		for _, p := range o.System {
			got += p.Text
		}
		if got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
