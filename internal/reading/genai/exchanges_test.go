// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/genaitest"
	"github.com/tapedeck/tapedeck/tape"
)

// tell adds an event to a span, of pairs of keys and texts.
func tell(span ptrace.Span, at pcommon.Timestamp, name string, pairs ...string) {
	e := span.Events().AppendEmpty()
	e.SetName(name)
	e.SetTimestamp(at)
	for i := 0; i < len(pairs); i += 2 {
		e.Attributes().PutStr(pairs[i], pairs[i+1])
	}
}

func loop() (*genai.Source, ptrace.Span) {
	s := genaitest.Span("agent", "Model.shop.generate", "gen_ai.agent.name", "shop", "gen_ai.request.model", "m1", "request_params.systemPrompt", "be brief")
	return s, s.Span
}

func TestPairsOfEventsAreTheModelCallsOfALoop(t *testing.T) {
	s, span := loop()
	// the order of the events does not count, their times do
	tell(span, 30, "gen_ai.tool.message", "model", "m1", "messages.0.role", "user", "messages.0.content", "hi", "messages.1.role", "assistant", "messages.1.tool_calls.0.gen_ai.tool.call.id", "call_1",
		"messages.1.tool_calls.0.function.name", "look", "messages.1.tool_calls.0.function.arguments", `{"x":1}`, "messages.2.role", "tool", "messages.2.gen_ai.tool.call.id", "call_1",
		"messages.2.content.0.type", "text", "messages.2.content.0.text", "sunny")
	tell(span, 10, "gen_ai.user.message", "model", "m1", "messages.0.role", "user", "messages.0.content", "hi")
	tell(span, 20, "gen_ai.assistant.message", "id", "r1", "model", "m1-2024", "choices.0.finish_reason", "tool_calls", "choices.0.message.role", "assistant",
		"choices.0.message.tool_calls.0.gen_ai.tool.call.id", "call_1", "choices.0.message.tool_calls.0.function.name", "look", "choices.0.message.tool_calls.0.function.arguments", `{"x":1}`)
	tell(span, 40, "gen_ai.assistant.message", "id", "r2", "model", "m1-2024", "content.0.type", "text", "content.0.text", "It is sunny.", "role", "assistant")
	o := genai.Read(s)
	if o.Class != genai.Agent || len(o.Exchanges) != 2 || len(o.Input)+len(o.Output) > 0 {
		t.Fatalf("%v with %d calls, asked %v, answered %v", o.Class, len(o.Exchanges), o.Input, o.Output)
	}
	first, second := o.Exchanges[0].Said, o.Exchanges[1].Said
	if len(first.Request) != 1 || len(first.Response) != 1 || first.Response[0].Parts[0].ID != "call_1" || first.Response[0].Parts[0].Name != "look" || first.Model != "m1" || first.ResponseModel != "m1-2024" {
		t.Errorf("first: %s", genaitest.Said(first))
	}
	if len(second.Request) != 3 || second.Request[2].Parts[0].Type != tape.PartToolResult || second.Request[2].Parts[0].ID != "call_1" || second.Response[0].Parts[0].Text != "It is sunny." {
		t.Errorf("second: %s", genaitest.Said(second))
	}
	if at := o.Exchanges[1].Span; at.StartTimestamp() != 30 || at.EndTimestamp() != 40 {
		t.Errorf("second: from %d to %d", at.StartTimestamp(), at.EndTimestamp())
	}

	// a call that threw has no answer
	s, span = loop()
	tell(span, 10, "gen_ai.user.message", "model", "m1", "messages.0.role", "user", "messages.0.content", "hi")
	tell(span, 20, "exception", "exception.type", "Refused", "exception.message", "no")
	if o := genai.Read(s); len(o.Exchanges) != 1 || !o.Exchanges[0].Said.StatusError || o.Exchanges[0].Said.Error.Message != "no" {
		t.Errorf("%d calls", len(o.Exchanges))
	}
}

// An answer without a request, two answers to one request, an operation that the span names, messages of which each has an event: nothing tells that these are whole exchanges.
func TestEventsThatAreNoWholeExchangesAreNone(t *testing.T) {
	ask := []string{"model", "m1", "messages.0.role", "user", "messages.0.content", "hi"}
	say := []string{"model", "m1", "choices.0.message.role", "assistant", "choices.0.message.content", "hello"}
	for name, build := range map[string]func(ptrace.Span){
		"an answer alone": func(span ptrace.Span) { tell(span, 10, "gen_ai.assistant.message", say...) },
		"two answers": func(span ptrace.Span) {
			tell(span, 10, "gen_ai.user.message", ask...)
			tell(span, 20, "gen_ai.assistant.message", say...)
			tell(span, 30, "gen_ai.assistant.message", say...)
		},
		"an operation": func(span ptrace.Span) {
			span.Attributes().PutStr("gen_ai.operation.name", "chat")
			tell(span, 10, "gen_ai.user.message", ask...)
			tell(span, 20, "gen_ai.assistant.message", say...)
		},
		"messages": func(span ptrace.Span) { tell(span, 10, "gen_ai.user.message", "content", "hi", "role", "user") },
		"an answer of no model": func(span ptrace.Span) {
			tell(span, 10, "gen_ai.user.message", ask...)
			tell(span, 20, "x", say[2:]...)
			tell(span, 30, "y", say...)
			tell(span, 40, "z", say...)
		},
	} {
		s, span := loop()
		build(span)
		if o := genai.Read(s); len(o.Exchanges) > 0 {
			t.Errorf("%s: %d calls", name, len(o.Exchanges))
		}
	}
}

func TestFlagOfMCPAloneIsNoResult(t *testing.T) {
	read := func(pairs ...string) *genai.Report {
		s := genaitest.Span("agent", "call", append([]string{"gen_ai.tool.name", "f"}, pairs...)...)
		s.Span.Attributes().PutBool("result.isError", true)
		return genai.Read(s)
	}
	if o := read(); o.Class != genai.Tool || o.Result.Present() || !o.Failed {
		t.Errorf("%v: result %s, failed %t", o.Class, o.Result.Value.JSON(), o.Failed)
	}
	if o := read("result.content.0.type", "text", "result.content.0.text", "no rows"); o.Result.Value.Str() != "no rows" || !o.Failed {
		t.Errorf("result %s, failed %t", o.Result.Value.JSON(), o.Failed)
	}
	o := genai.Read(genaitest.Span("agent", "call", "gen_ai.tool.name", "f", "gen_ai.tool.call.result", `{"isError":true}`))
	if !o.Result.Present() {
		t.Error("what a tool returned itself is gone")
	}
}

// Attributes written key by key have no null, no empty list and no empty object: nobody knows which of these a call was handed.
func TestArgumentsKeyByKeyAreLossy(t *testing.T) {
	o := genai.Read(genaitest.Span("agent", "call_tool", "gen_ai.tool.name", "f", "gen_ai.tool.call.id", "c1", "request.method", "tools/call", "request.params.name", "f", "request.params.arguments.x", "1"))
	if o.Args.Label != tape.Lossy || o.Args.Value.JSON() != `{"x":"1"}` {
		t.Errorf("%s, %q", o.Args.Value.JSON(), o.Args.Label)
	}
	if o := genai.Read(genaitest.Span("agent", "execute", "gen_ai.tool.name", "f", "tool_args", `{"x":1}`, "result", "rows")); o.Args.Label != "" {
		t.Errorf("as a whole: %q", o.Args.Label)
	}
}
