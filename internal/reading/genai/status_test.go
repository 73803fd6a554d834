// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
)

// A client may set the status of the span of the program around it, and an SDK does not take back that it is well. An exception at the end of an agent without an answer says more.
func TestAgentThatAnExceptionLeftHasFailed(t *testing.T) {
	const end = 1_000_000_000
	for name, c := range map[string]struct {
		span   []string
		status ptrace.StatusCode
		before pcommon.Timestamp // of the exception
		want   bool
	}{
		"at its end":     {[]string{"gen_ai.operation.name", "invoke_agent"}, ptrace.StatusCodeOk, 1_000_000, true},
		"long before":    {[]string{"gen_ai.operation.name", "invoke_agent"}, ptrace.StatusCodeOk, 100_000_000, false},
		"with an answer": {[]string{"gen_ai.operation.name", "invoke_agent", "gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"yes"}]}]`}, ptrace.StatusCodeOk, 1_000_000, false},
		"a model call that tells what it was sent, and no answer": {[]string{"gen_ai.operation.name", "chat", "gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"q"}]}]`}, ptrace.StatusCodeOk, 1_000_000, true},
		"a model call that was answered":                          {[]string{"gen_ai.operation.name", "chat", "gen_ai.input.messages", `[{"role":"user","parts":[{"type":"text","content":"q"}]}]`, "gen_ai.response.finish_reasons", `["stop"]`}, ptrace.StatusCodeOk, 1_000_000, false},
		"a model call says itself":                                {[]string{"gen_ai.operation.name", "chat"}, ptrace.StatusCodeOk, 1_000_000, false},
		"long before, no status":                                  {[]string{"gen_ai.operation.name", "invoke_agent"}, ptrace.StatusCodeUnset, 100_000_000, true},
	} {
		s := genaitest.Span("app", "invoke_agent a", c.span...)
		s.Span.SetEndTimestamp(end)
		s.Span.Status().SetCode(c.status)
		e := s.Span.Events().AppendEmpty()
		e.SetName("exception")
		e.SetTimestamp(end - c.before)
		if o := genai.Read(s); o.StatusError != c.want {
			t.Errorf("%s: failed %v", name, o.StatusError)
		}
	}
}

// A processor gives every span that ends after a failure the status of that: the AI SDK writes what a span came to only where nothing left it, and the exception where one did.
func TestStatusOfAnotherSpanOfTheAISDKIsNotItsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		scope     string
		span      []string
		message   string
		exception bool
		want      bool
	}{
		"a tool with a result":      {"ai", []string{"ai.operationId", "ai.toolCall", "ai.toolCall.name", "f", "ai.toolCall.result", "{}"}, "timeout", false, false},
		"a tool without one":        {"ai", []string{"ai.operationId", "ai.toolCall", "ai.toolCall.name", "f"}, "timeout", false, true},
		"it threw":                  {"ai", []string{"ai.operationId", "ai.toolCall", "ai.toolCall.name", "f", "ai.toolCall.result", "{}"}, "timeout", true, true},
		"it threw what is no error": {"ai", []string{"ai.operationId", "ai.toolCall", "ai.toolCall.name", "f", "ai.toolCall.result", "{}"}, "", false, true},
		"a step that ended":         {"ai", []string{"ai.operationId", "ai.streamText", "ai.response.finishReason", "tool-calls"}, "timeout", false, false},
		"a step that failed":        {"ai", []string{"ai.operationId", "ai.streamText", "ai.response.finishReason", "error"}, "timeout", false, true},
		"of another program":        {"app", []string{"ai.operationId", "ai.toolCall", "ai.toolCall.name", "f", "ai.toolCall.result", "{}"}, "timeout", false, true},
	} {
		s := genaitest.Span(c.scope, c.span[1], c.span...)
		s.Span.Status().SetCode(ptrace.StatusCodeError)
		s.Span.Status().SetMessage(c.message)
		if c.exception {
			s.Span.Events().AppendEmpty().SetName("exception")
		}
		if o := genai.Read(s); o.StatusError != c.want {
			t.Errorf("%s: failed %v", name, o.StatusError)
		}
	}
}
