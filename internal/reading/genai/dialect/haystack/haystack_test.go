// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package haystack_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

// The spans of this file are written by hand after the producers' sources: there is no recording of them that may be copied here.

func TestHaystackAgentsArePipelinesOfSteps(t *testing.T) {
	for _, c := range []struct {
		name   string
		source *dialect.Source
		want   string
	}{
		{"the run", genaitest.Span("haystack", "haystack.agent.run",
			"haystack.agent.input", `{"messages":[{"role":"user","meta":{},"name":null,"content":[{"text":"hi"}]}],"system_prompt":"be brief"}`,
			"haystack.agent.output", `{"messages":[],"last_message":{"role":"assistant","content":[{"text":"ho"}]}}`),
			"class: agent\ndialect: haystack\nrun span: yes\nsystem: | text \"be brief\"\ninput: user | text \"hi\"\noutput: assistant | text \"ho\"\n"},
		{"the prompt of the agent is in what came out", genaitest.Span("haystack", "haystack.agent.run", "haystack.agent.input", `{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`,
			"haystack.agent.output", `{"messages":[{"role":"system","content":[{"text":"be brief"}]},{"role":"user","content":[{"text":"hi"}]},{"role":"assistant","content":[{"text":"ho"}]}]}`),
			"class: agent\ndialect: haystack\nrun span: yes\nsystem: | text \"be brief\"\ninput: user | text \"hi\"\noutput: assistant | text \"ho\"\n"},
		{"a model call that str() wrote", genaitest.Span("haystack", "haystack.agent.step.llm",
			"haystack.agent.step.llm.input", `{'messages': [ChatMessage(_role=<ChatRole.USER: 'user'>, _content=[TextContent(text='hi')], _name=None, _meta={})], 'tools': [Tool(function=<function f at 0x7f>)]}`),
			"class: model\ndialect: haystack\nrequest: user | text \"hi\"\n"},
		{"a model call", genaitest.Span("haystack", "haystack.agent.step.llm",
			"haystack.agent.step.llm.input", `{"messages":[{"role":"user","content":[{"text":"hi"}]}],"tools":[{"type":"haystack.tools.tool.Tool","data":{"name":"f","description":"d","parameters":{"type":"object"}}}],"generation_kwargs":{"temperature":0}}`,
			"haystack.agent.step.llm.output", `{"replies":[{"role":"assistant","content":[{"tool_call":{"tool_name":"f","arguments":{"a":1},"id":"call_1"}}],"meta":{"model":"gpt-4o","finish_reason":"tool_calls","usage":{"prompt_tokens":3,"completion_tokens":4}}}]}`),
			"class: model\ndialect: haystack\nparam temperature: 0\nrequest: user | text \"hi\"\nresponse: assistant | call f call_1 {\"a\":1}\noffers: f\nfinish: tool_calls\nresponse model: gpt-4o\ninput tokens: 3\noutput tokens: 4\n"},
		{"a result in the next request, old field names", genaitest.Span("haystack", "haystack.component.run", "haystack.component.type", "OpenAIChatGenerator",
			"haystack.component.input", `{"messages":[{"_role":"tool","_content":[{"tool_call_result":{"result":"42","origin":{"tool_name":"f","arguments":{"a":1},"id":"call_1"},"error":false}}]}]}`),
			"class: model\ndialect: haystack\nrequest: tool | result  call_1 \"42\"\n"},
		{"a tool", genaitest.Span("haystack", "haystack.agent.step.tool", "haystack.tool.name", "f",
			"haystack.agent.step.tool.input", `{"a":1}`, "haystack.agent.step.tool.output", `{"result":"42"}`),
			"class: tool\ndialect: haystack\nname: f\nkind: function\nargs: {\"a\":1}\nresult: \"42\" [haystack.result]\n"},
		{"a tool that failed", genaitest.Span("haystack", "haystack.agent.step.tool", "haystack.tool.name", "f",
			"haystack.agent.step.tool.input", `{"a":1}`, "haystack.agent.step.tool.output", `{"error":"boom"}`),
			"class: tool\ndialect: haystack\nname: f\nkind: function\nargs: {\"a\":1}\nfailed: yes\nerror: boom\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := genaitest.Said(genai.Read(c.source)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
