// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package monocle_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

const scope = "monocle_apptrace"

// span is a span of Monocle with its events: what went in, what came out, and the metadata as alternating keys and values.
func span(kind string, in any, out string, metadata ...string) *dialect.Source {
	s := genaitest.Span(scope, "openai.resources.chat.completions.Completions.create", "span.type", kind, "monocle_apptrace.version", "0.7.6", "entity.1.type", "inference.openai",
		"entity.2.name", "gpt-4o-mini", "entity.2.type", "model.llm.gpt-4o-mini")
	event := func(name string) pcommon.Map {
		e := s.Span.Events().AppendEmpty()
		e.SetName(name)
		return e.Attributes()
	}
	_ = event("data.input").FromRaw(map[string]any{"input": in})
	event("data.output").PutStr("response", out)
	said := event("metadata")
	for i := 0; i+1 < len(metadata); i += 2 {
		said.PutStr(metadata[i], metadata[i+1])
	}
	return s
}

func TestMessagesOfMonocleAreObjectsOfTheirRole(t *testing.T) {
	s := span("inference", []any{
		`{"system": "You store records."}`, `{"user": "Store it."}`,
		`{'assistant': [TextBlock(citations=None, text='Now.', type='text'), ToolUseBlock(id='toolu_1', caller=None, input={'tags': []}, name='put_record', type='tool_use')]}`,
		`{"user": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "stored"}]}`,
	}, `{"tools": [{"tool_id": "toolu_2", "tool_name": "get_record", "tool_arguments": {"id": 7}}]}`, "finish_reason", "tool_use", "finish_type", "tool_call", "prompt_tokens", "40")
	genaitest.Says(t, genai.Read(s), `class: model
dialect: monocle
model: gpt-4o-mini
provider: openai
request: system | text "You store records."
request: user | text "Store it."
request: assistant | text "Now." | call put_record toolu_1 {"tags":[]}
request: tool | result  toolu_1 "stored"
response: assistant | call get_record toolu_2 {"id":7}
finish: tool_use
input tokens: 40
`)
}

func TestMonoclesSpansOfOtherWorkAreNoEvidence(t *testing.T) {
	for kind, want := range map[string]bool{"http.process": false, "http.send": false, "generic": false, "custom": false, "": false, "workflow": true, "agentic.turn": true} {
		s := genaitest.Span(scope, "POST /pay", "span.type", kind, "monocle_apptrace.version", "0.7.6", "entity.1.method", "POST")
		if got := genai.IsEvidence(scope, s.Span); got != want {
			t.Errorf("%q: evidence %v, want %v", kind, got, want)
		}
	}
}

func TestWhatMonocleLeavesOutIsNoted(t *testing.T) {
	for name, s := range map[string]*dialect.Source{
		"calls without names":          span("inference", []any{`{"user": "Hi"}`}, `{"assistant": null}`, "finish_reason", "tool_calls", "finish_type", "tool_call"),
		"messages that are objects":    span("inference", nil, `{"assistant": "Hi"}`, "finish_type", "success"),
		"arguments of a streamed call": span("inference", []any{`{"user": "Hi"}`}, `{"tools": [{"tool_id": "call_1", "tool_name": "get_job", "tool_arguments": ""}]}`, "finish_type", "tool_call"),
	} {
		if o := genai.Read(s); len(o.Notes) != 1 {
			t.Errorf("%s: notes %v", name, o.Notes)
		}
	}
	whole := span("inference", []any{`{"user": "Hi"}`}, `{"assistant": "Hello"}`, "finish_type", "success")
	if o := genai.Read(whole); len(o.Notes) != 0 || len(o.Response) != 1 {
		t.Errorf("a whole call: notes %v, response %v", o.Notes, o.Response)
	}
}

func TestAgentsAndToolsOfMonocle(t *testing.T) {
	turn := span("agentic.turn", []any{"What is due?"}, "Nothing.")
	turn.Span.Attributes().PutStr("entity.1.type", "agent.openai_agents")
	turn.Span.Attributes().PutStr("entity.1.name", "assistant")
	if o := genai.Read(turn); o.Agent.Name != "assistant" || o.InputData.Value.Str() != "What is due?" || o.OutputData.Value.Str() != "Nothing." || !o.RunSpan {
		t.Errorf("turn: %+v", o)
	}
	tool := span("agentic.tool.invocation", `{"id": 7}`, "paid")
	tool.Span.Attributes().PutStr("entity.1.type", "tool.openai_agents")
	tool.Span.Attributes().PutStr("entity.1.name", "get_invoice")
	if o := genai.Read(tool); o.Name != "get_invoice" || o.Args.Value.JSON() != `{"id":7}` || o.Result.Value.Str() != "paid" {
		t.Errorf("tool: %+v", o)
	}
	failed := span("inference", []any{`{"user": "Hi"}`}, "Error code: 400")
	failed.Span.Events().At(1).Attributes().PutStr("error_code", "error")
	failed.Span.Status().SetCode(ptrace.StatusCodeError)
	if o := genai.Read(failed); !o.Failed || o.Error == nil || o.Error.Message != "Error code: 400" || len(o.Response) != 0 {
		t.Errorf("failure: %+v", o)
	}
}
