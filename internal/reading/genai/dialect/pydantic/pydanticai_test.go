// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pydantic_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

func TestPydanticAISpansSayWhatTheyHold(t *testing.T) {
	for _, name := range []string{"pydanticai/v1", "pydanticai/sampling"} {
		genaitest.SaysAsRecorded(t, genai.Read, name)
	}
}

func TestPydanticAIOfEveryVersion(t *testing.T) {
	for name, c := range map[string]struct {
		source *dialect.Source
		want   string
	}{
		"a model call, its operation left out": {
			genaitest.Span("pydantic-ai", "chat m1", "gen_ai.request.model", "m1", "respan.entity.log_type", "chat", "gen_ai.prompt.0.role", "user", "gen_ai.prompt.0.content", "hi"),
			"class: model\ndialect: pydantic-ai\nmodel: m1\nrequest: user | text \"hi\"\n",
		},
		"tool, version 1": {
			genaitest.Span("pydantic-ai", "running tool", "gen_ai.tool.name", "add", "gen_ai.tool.call.id", "call_1", "tool_arguments", `{"a":1}`, "tool_response", "3"),
			"class: tool\ndialect: pydantic-ai\nname: add\ncall: call_1\nkind: function\nargs: {\"a\":1}\nresult: \"3\"\n",
		},
		"tool, version 3": {
			genaitest.Span("pydantic-ai", "execute_tool add", "gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", "add", "gen_ai.tool.call.id", "call_1", "gen_ai.tool.call.arguments", `{"a":1}`, "gen_ai.tool.call.result", `{"sum":3}`),
			"class: tool\ndialect: pydantic-ai\nname: add\ncall: call_1\nkind: function\nargs: {\"a\":1}\nresult: \"{\\\"sum\\\":3}\"\n",
		},
		"arguments that were refused": {
			genaitest.Span("pydantic-ai", "running tool", "gen_ai.tool.name", "add", "tool_arguments", `{"a":"x"}`, "pydantic_ai.tool.failure_stage", "validation"),
			"class: tool\ndialect: pydantic-ai\nname: add\nkind: function\nargs: {\"a\":\"x\"}\nfailed: yes\n",
		},
		"tools together": {genaitest.Span("pydantic-ai", "running 2 tools", "tools", "['a','b']"), "class: structure\ndialect: pydantic-ai\n"},
		"structured answer": {
			genaitest.Span("pydantic-ai", "running output function: final_result", "gen_ai.tool.name", "final_result", "tool_arguments", "{}"),
			"class: structure\ndialect: pydantic-ai\n",
		},
		"run, version 2": {
			genaitest.Span("pydantic-ai", "agent run", "agent_name", "a", "final_result", "3", "pydantic_ai.new_message_index", "2", "gen_ai.agent.call.id", "r",
				"pydantic_ai.all_messages", `[{"role":"user","parts":[{"type":"text","content":"hi"}]},{"role":"assistant","parts":[{"type":"text","content":"ho"}]},{"role":"user","parts":[{"type":"text","content":"add"}]},{"role":"assistant","parts":[{"type":"text","content":"3"}]}]`),
			"class: agent\ndialect: pydantic-ai\nrun span: yes\nagent: a\ninvocation: r\ninput: user | text \"hi\"\ninput: assistant | text \"ho\"\ninput: user | text \"add\"\noutput: assistant | text \"3\"\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := genaitest.Said(genai.Read(c.source)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
