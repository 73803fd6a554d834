// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package llamaindex_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

const scope = "llamaindex.opentelemetry.tracer"

func with(s *dialect.Source, event string, attributes ...string) *dialect.Source {
	e := s.Span.Events().AppendEmpty()
	e.SetName(event)
	for i := 0; i+1 < len(attributes); i += 2 {
		e.Attributes().PutStr(attributes[i], attributes[i+1])
	}
	return s
}

func TestSpansOfLlamaIndexAreRead(t *testing.T) {
	asked := []string{"messages", `[{"role":"user","blocks":[{"block_type":"text","text":"hi"}]}]`, "model_dict.model_name", "gpt-4o", "additional_kwargs.tools", `[{"type":"function","function":{"name":"f","parameters":{}}}]`}
	outcome := "StopEvent(result=AgentOutput(response=ChatMessage(role=<MessageRole.ASSISTANT: 'assistant'>, additional_kwargs={}, blocks=[TextBlock(block_type='text', text='"
	for name, c := range map[string]struct {
		source *dialect.Source
		want   string
	}{
		"a streamed call tells its request": {with(genaitest.Span(scope, "OpenAI.astream_chat"), "LLMChatStartEvent", asked...),
			"class: model\ndialect: llamaindex\nmodel: gpt-4o\nrequest: user | text \"hi\"\noffers: f\n"},
		"a call": {with(with(genaitest.Span(scope, "OpenAI.achat"), "LLMChatStartEvent", asked...), "LLMChatEndEvent", "response.message.role", "assistant",
			"response.message.blocks", `[{"block_type":"tool_call","tool_call_id":"c1","tool_name":"f","tool_kwargs":"{\"a\":1}"}]`, "response.raw.model", "gpt-4o-x", "response.raw.choices", `[{"finish_reason":"tool_calls"}]`),
			"class: model\ndialect: llamaindex\nmodel: gpt-4o\nrequest: user | text \"hi\"\nresponse: assistant | call f c1 {\"a\":1}\noffers: f\nfinish: tool_calls\nresponse model: gpt-4o-x\n"},
		"what prepares a call is none": {genaitest.Span(scope, "OpenAI._prepare_chat_with_tools"), "class: structure\ndialect: llamaindex\n"},
		"a tool": {genaitest.Span(scope, "FunctionTool.acall", "llamaindex.step.input_event", "ToolCall", "llamaindex.step.input_summary", "ToolCall(tool_name='f', tool_kwargs={'a': 1}, tool_id='c1')"),
			"class: tool\ndialect: llamaindex\nname: f\ncall: c1\nkind: function\nargs: {\"a\":1}\n"},
		"a tool whose arguments were cut": {genaitest.Span(scope, "FunctionTool.acall", "llamaindex.step.input_event", "ToolCall", "llamaindex.step.input_summary", "ToolCall(tool_name='f', tool_kwargs={'a': 'x..."),
			"class: tool\ndialect: llamaindex\nname: f\nkind: function\n"},
		"a run": {with(genaitest.Span(scope, "FunctionAgent.run"), "workflow.output", "output", outcome+`it\'s so')], struc...`),
			"class: agent\ndialect: llamaindex\nrun span: yes\nagent: FunctionAgent\noutput: assistant | text \"it's so\"\n"},
		"a run whose answer was cut": {with(genaitest.Span(scope, "FunctionAgent.run"), "workflow.output", "output", outcome+"it is ..."),
			"class: agent\ndialect: llamaindex\nrun span: yes\nagent: FunctionAgent\noutput: assistant | text \"\" [truncated]\n"},
		"a run of something else": {with(genaitest.Span(scope, "Flow.run"), "workflow.output", "output", "StopEvent(result=<object object at 0x7f>)"), "class: agent\ndialect: llamaindex\nrun span: yes\nagent: Flow\n"},
	} {
		if got := genaitest.Said(genai.Read(c.source)); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
}
