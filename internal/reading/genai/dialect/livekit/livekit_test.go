// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package livekit_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

func TestLiveKitTurnsAreRuns(t *testing.T) {
	for _, c := range []struct {
		name   string
		source *dialect.Source
		want   string
	}{
		{"a turn", genaitest.Span("livekit-agents", "agent_turn", "lk.agent_name", "host", "lk.instructions", "be kind", "lk.user_input", "hi"),
			"class: agent\ndialect: livekit\nrun span: yes\nagent: host\nsystem: | text \"be kind\"\ninput: user | text \"hi\"\n"},
		{"a model call", genaitest.Span("livekit-agents", "llm_node",
			"lk.chat_ctx", `{"items":[{"id":"i1","type":"message","role":"user","content":["hi"]},{"id":"i2","type":"function_call","call_id":"c0","name":"f","arguments":"{}"},{"id":"i3","type":"function_call_output","call_id":"c0","name":"f","output":"ok","is_error":false}]}`,
			"lk.response.function_calls", `[{"call_id":"c1","name":"f","arguments":"{\"a\":1}"}]`),
			"class: model\ndialect: livekit\nrequest: user | text \"hi\"\nrequest: assistant | call f c0 {}\nrequest: tool | result f c0 \"ok\"\nresponse: assistant | call f c1 {\"a\":1}\n"},
		{"a tool", genaitest.Span("livekit-agents", "function_tool", "lk.function_tool.id", "c1", "lk.function_tool.name", "f", "lk.function_tool.args", `{"a":1}`,
			"lk.function_tool.output", "ok", "lk.function_tool.is_error", "false"),
			"class: tool\ndialect: livekit\nname: f\ncall: c1\nkind: function\nargs: {\"a\":1}\nresult: \"ok\"\n"},
		{"speech", genaitest.Span("livekit-agents", "tts_node", "lk.job_id", "j"), "class: noise\ndialect: livekit\nnoise: speech\nconversation: j\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := genaitest.Said(genai.Read(c.source)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
