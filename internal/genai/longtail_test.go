// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// The spans of this file are written by hand after the producers' sources: there is no recording of them that may be copied here.

func TestHaystackAgentsArePipelinesOfSteps(t *testing.T) {
	for _, c := range []struct {
		name   string
		source *Source
		want   string
	}{
		{"the run", spanSource("haystack", "haystack.agent.run",
			"haystack.agent.input", `{"messages":[{"role":"user","meta":{},"name":null,"content":[{"text":"hi"}]}],"system_prompt":"be brief"}`,
			"haystack.agent.output", `{"messages":[],"last_message":{"role":"assistant","content":[{"text":"ho"}]}}`),
			"class: agent\ndialect: haystack\nrun span: yes\nsystem: | text \"be brief\"\ninput: user | text \"hi\"\noutput: assistant | text \"ho\"\n"},
		{"a model call", spanSource("haystack", "haystack.agent.step.llm",
			"haystack.agent.step.llm.input", `{"messages":[{"role":"user","content":[{"text":"hi"}]}],"tools":[{"type":"haystack.tools.tool.Tool","data":{"name":"f","description":"d","parameters":{"type":"object"}}}],"generation_kwargs":{"temperature":0}}`,
			"haystack.agent.step.llm.output", `{"replies":[{"role":"assistant","content":[{"tool_call":{"tool_name":"f","arguments":{"a":1},"id":"call_1"}}],"meta":{"model":"gpt-4o","finish_reason":"tool_calls","usage":{"prompt_tokens":3,"completion_tokens":4}}}]}`),
			"class: model\ndialect: haystack\nparam temperature: 0\nrequest: user | text \"hi\"\nresponse: assistant | call f call_1 {\"a\":1}\noffers: f\nfinish: tool_calls\nresponse model: gpt-4o\ninput tokens: 3\noutput tokens: 4\n"},
		{"a result in the next request, old field names", spanSource("haystack", "haystack.component.run", "haystack.component.type", "OpenAIChatGenerator",
			"haystack.component.input", `{"messages":[{"_role":"tool","_content":[{"tool_call_result":{"result":"42","origin":{"tool_name":"f","arguments":{"a":1},"id":"call_1"},"error":false}}]}]}`),
			"class: model\ndialect: haystack\nrequest: tool | result  call_1 \"42\"\n"},
		{"a tool", spanSource("haystack", "haystack.agent.step.tool", "haystack.tool.name", "f",
			"haystack.agent.step.tool.input", `{"a":1}`, "haystack.agent.step.tool.output", `{"result":"42"}`),
			"class: tool\ndialect: haystack\nname: f\nkind: function\nargs: {\"a\":1}\nresult: \"42\" [haystack.result]\n"},
		{"a tool that failed", spanSource("haystack", "haystack.agent.step.tool", "haystack.tool.name", "f",
			"haystack.agent.step.tool.input", `{"a":1}`, "haystack.agent.step.tool.output", `{"error":"boom"}`),
			"class: tool\ndialect: haystack\nname: f\nkind: function\nargs: {\"a\":1}\nfailed: yes\nerror: boom\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := said(Read(c.source)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestSpringAIToolsAreExactAndMessagesAreLossy(t *testing.T) {
	tool := spanSource("org.springframework.boot", "tool_call weather", "spring.ai.kind", "tool_call", "spring.ai.tool.definition.name", "weather",
		"spring.ai.tool.call.arguments", `{"city":"Oslo"}`, "spring.ai.tool.call.result", `"rain"`)
	want := "class: tool\ndialect: spring-ai\nname: weather\nkind: function\nargs: {\"city\":\"Oslo\"}\nresult: \"rain\"\n"
	if got := said(Read(tool)); got != want {
		t.Errorf("tool: got\n%s\nwant\n%s", got, want)
	}
	model := spanSource("org.springframework.boot", "chat gpt-5", "gen_ai.operation.name", "chat", "gen_ai.request.model", "gpt-5", "spring.ai.model.request.tool.names", "weather")
	for name, body := range map[string]string{
		"spring_ai.prompt_content": "Chat Model Prompt Content:\n[\"be brief\", \"hi \"you\"\"]",
		"spring_ai.completion":     "Chat Model Completion:\n[\"ho\"]",
	} {
		l := ptrace.NewSpan()
		l.SetName(name)
		l.Attributes().PutStr(LogBody, body)
		model.Logs = append(model.Logs, l)
	}
	want = "class: model\ndialect: spring-ai\nmodel: gpt-5\nrequest label: lossy\nrequest: user | text \"be brief\" [lossy]\nrequest: user | text \"hi \\\"you\\\"\" [lossy]\nresponse: assistant | text \"ho\"\n"
	if got := said(Read(model)); got != want {
		t.Errorf("model: got\n%s\nwant\n%s", got, want)
	}
	if got := EventName("org.springframework.ai.chat.observation.ChatModelPromptContentObservationHandler", "", model.Resource); got != "spring_ai.prompt_content" {
		t.Errorf("a prompt record is called %q", got)
	}
}

func TestLiveKitTurnsAreRuns(t *testing.T) {
	for _, c := range []struct {
		name   string
		source *Source
		want   string
	}{
		{"a turn", spanSource("livekit-agents", "agent_turn", "lk.agent_name", "host", "lk.instructions", "be kind", "lk.user_input", "hi"),
			"class: agent\ndialect: livekit\nrun span: yes\nagent: host\nsystem: | text \"be kind\"\ninput: user | text \"hi\"\n"},
		{"a model call", spanSource("livekit-agents", "llm_node",
			"lk.chat_ctx", `{"items":[{"id":"i1","type":"message","role":"user","content":["hi"]},{"id":"i2","type":"function_call","call_id":"c0","name":"f","arguments":"{}"},{"id":"i3","type":"function_call_output","call_id":"c0","name":"f","output":"ok","is_error":false}]}`,
			"lk.response.function_calls", `[{"call_id":"c1","name":"f","arguments":"{\"a\":1}"}]`),
			"class: model\ndialect: livekit\nrequest: user | text \"hi\"\nrequest: assistant | call f c0 {}\nrequest: tool | result f c0 \"ok\"\nresponse: assistant | call f c1 {\"a\":1}\n"},
		{"a tool", spanSource("livekit-agents", "function_tool", "lk.function_tool.id", "c1", "lk.function_tool.name", "f", "lk.function_tool.args", `{"a":1}`,
			"lk.function_tool.output", "ok", "lk.function_tool.is_error", "false"),
			"class: tool\ndialect: livekit\nname: f\ncall: c1\nkind: function\nargs: {\"a\":1}\nresult: \"ok\"\n"},
		{"speech", spanSource("livekit-agents", "tts_node", "lk.job_id", "j"), "class: noise\ndialect: livekit\nnoise: speech\nconversation: j\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := said(Read(c.source)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestFlueTurnsToolsAndTasksAreRead(t *testing.T) {
	for _, c := range []struct {
		name   string
		source *Source
		want   string
	}{
		{"a task", spanSource("@flue/opentelemetry", "task", "flue.task.agent", "helper", "flue.task.prompt", "hi", "flue.task.result", "ho"),
			"class: agent\ndialect: flue\nrun span: yes\nagent: helper\ninput: user | text \"hi\"\noutput: assistant | text \"ho\"\n"},
		{"a turn", spanSource("@flue/opentelemetry", "turn", "flue.turn.input", `{"systemPrompt":"s","messages":[{"role":"user","content":"hi"}]}`,
			"flue.turn.output", `{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"f","arguments":{"a":1}}]}`),
			"class: model\ndialect: flue\nsystem: | text \"s\"\nrequest: user | text \"hi\"\nresponse: assistant | call f c1 {\"a\":1}\n"},
		{"a tool", spanSource("@flue/opentelemetry", "tool", "flue.tool.name", "f", "flue.tool.call_id", "c1", "flue.tool.arguments", `{"a":1}`, "flue.tool.result", `{"ok":true}`),
			"class: tool\ndialect: flue\nname: f\ncall: c1\nkind: function\nargs: {\"a\":1}\nresult: {\"ok\":true}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := said(Read(c.source)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}
