// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package google_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

func TestGeminiCLISpansAreReadAsRecorded(t *testing.T) {
	genaitest.SaysAsRecorded(t, genai.Read, "geminicli/spans")
}

func TestGeminiCLILogRecordsTellARunWithoutSpans(t *testing.T) {
	for _, c := range []struct {
		name   string
		source *dialect.Source
		want   string
	}{
		{"the prompt", genaitest.Span(dialect.LogScope, "gemini_cli.user_prompt", "session.id", "s", "prompt_id", "s########1", "prompt", "hi"),
			"class: agent\ndialect: gemini-cli\nrun span: yes\nagent: gemini-cli\nconversation: s\ninvocation: s########1\ninput: user | text \"hi\"\n"},
		{"a request", genaitest.Span(dialect.LogScope, "gemini_cli.api_request", "session.id", "s", "prompt_id", "p", "model", "gemini-2.5-flash", "request_text", `[{"role":"user","parts":[{"text":"hi"}]}]`),
			"class: model\ndialect: gemini-cli\nconversation: s\ninvocation: p\nmodel: gemini-2.5-flash\nrequest: user | text \"hi\"\n"},
		{"a tool call", genaitest.Span(dialect.LogScope, "gemini_cli.tool_call", "session.id", "s", "prompt_id", "p", "function_name", "mcp_h_f", "mcp_server_name", "h", "function_args", "{\n  \"a\": 1\n}", "success", "false", "error", "boom"),
			"class: tool\ndialect: gemini-cli\nconversation: s\ninvocation: p\nname: mcp_h_f\nkind: mcp\nserver: h / f\nargs: {\"a\":1}\nfailed: yes\nerror: boom\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := genaitest.Said(genai.Read(c.source)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// Qwen Code writes the same records under its own name, and of an answer its text alone.
func TestQwenCodeLogRecordsTellARun(t *testing.T) {
	for _, c := range []struct {
		name   string
		source *dialect.Source
		want   string
	}{
		{"the prompt", genaitest.Span(dialect.LogScope, "qwen-code.user_prompt", "session.id", "s", "prompt_id", "p", "prompt", "hi"),
			"class: agent\ndialect: qwen-code\nrun span: yes\nagent: qwen-code\nconversation: s\ninvocation: p\ninput: user | text \"hi\"\n"},
		{"a request", genaitest.Span(dialect.LogScope, "qwen-code.api_request", "session.id", "s", "prompt_id", "p", "model", "gpt-4o", "request_text", `[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"id":"call_1","name":"f","args":{"a":1}}}]},{"role":"user","parts":[{"functionResponse":{"id":"call_1","name":"f","response":{"output":"one"}}}]}]`),
			"class: model\ndialect: qwen-code\nconversation: s\ninvocation: p\nmodel: gpt-4o\nrequest: user | text \"hi\"\nrequest: assistant | call f call_1 {\"a\":1}\nrequest: tool | result f call_1 \"one\" [gemini_cli.output]\n"},
		{"a tool call", genaitest.Span(dialect.LogScope, "qwen-code.tool_call", "session.id", "s", "prompt_id", "p", "function_name", "edit", "function_args", "{\n  \"a\": 1\n}", "success", "false", "error", "boom"),
			"class: tool\ndialect: qwen-code\nconversation: s\ninvocation: p\nname: edit\nkind: builtin\nargs: {\"a\":1}\nfailed: yes\nerror: boom\n"},
		{"an answer", genaitest.Span("", "x"), ""},
	} {
		if c.name == "an answer" {
			c.source = genaitest.Span(dialect.LogScope, "qwen-code.api_request", "session.id", "s", "model", "gpt-4o")
			c.source.Logs = append(c.source.Logs, genaitest.Span(dialect.LogScope, "qwen-code.api_response", "session.id", "s", "response_text", "Done.", "input_token_count", "3").Span)
			c.want = "class: model\ndialect: qwen-code\nconversation: s\nmodel: gpt-4o\nresponse: assistant | text \"Done.\"\ninput tokens: 3\n"
		}
		t.Run(c.name, func(t *testing.T) {
			if got := genaitest.Said(genai.Read(c.source)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestGeminiCLIMarksWhatWasCut(t *testing.T) {
	cut := "...[TRUNCATED: original length 24118]"
	model := genaitest.Span("gemini-cli", "llm_call", "gen_ai.operation.name", "llm_call",
		"gen_ai.input.messages", `[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"te`+cut)
	want := "class: model\ndialect: gemini-cli\nrequest label: truncated\nrequest: user | text \"hi\"\n"
	if got := genaitest.Said(genai.Read(model)); got != want {
		t.Errorf("model: got\n%s\nwant\n%s", got, want)
	}
	tool := genaitest.Span("gemini-cli", "tool_call", "gen_ai.operation.name", "tool_call", "gen_ai.tool.name", "f",
		"gen_ai.input.messages", `{"callId":"f__1","name":"f","args":{"a":1},"prompt_id":"p"}`, "gen_ai.output.messages", `{"status":"success","resp`+cut)
	o := genai.Read(tool)
	if o.CallID != "1" || o.InvocationID != "p" || o.Args.Value.JSON() != `{"a":1}` || o.Result.Label != "truncated" {
		t.Errorf("tool: got\n%s", genaitest.Said(o))
	}
}
