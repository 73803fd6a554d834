// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package flue_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

func TestFlueTurnsToolsAndTasksAreRead(t *testing.T) {
	for _, c := range []struct {
		name   string
		source *dialect.Source
		want   string
	}{
		{"a task", genaitest.Span("@flue/opentelemetry", "task", "flue.task.agent", "helper", "flue.task.prompt", "hi", "flue.task.result", "ho"),
			"class: agent\ndialect: flue\nrun span: yes\nagent: helper\ninput: user | text \"hi\"\noutput: assistant | text \"ho\"\n"},
		{"a turn", genaitest.Span("@flue/opentelemetry", "turn", "flue.turn.input", `{"systemPrompt":"s","messages":[{"role":"user","content":"hi"}]}`,
			"flue.turn.output", `{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"f","arguments":{"a":1}}]}`),
			"class: model\ndialect: flue\nsystem: | text \"s\"\nrequest: user | text \"hi\"\nresponse: assistant | call f c1 {\"a\":1}\n"},
		{"a tool", genaitest.Span("@flue/opentelemetry", "tool", "flue.tool.name", "f", "flue.tool.call_id", "c1", "flue.tool.arguments", `{"a":1}`, "flue.tool.result", `{"ok":true}`),
			"class: tool\ndialect: flue\nname: f\ncall: c1\nkind: function\nargs: {\"a\":1}\nresult: {\"ok\":true}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := genaitest.Said(genai.Read(c.source)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
