// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// What a team writes by the book of a vendor instead of the conventions.

func byVendor() bool { return age == "openinference" || age == "langfuse" || age == "traceloop" }

var kinds = map[string]map[string]string{
	"openinference": {"key": "openinference.span.kind", "agent": "AGENT", "model": "LLM", "tool": "TOOL", "in": "input.value", "out": "output.value"},
	"langfuse":      {"key": "langfuse.observation.type", "agent": "agent", "model": "generation", "tool": "tool", "in": "langfuse.observation.input", "out": "langfuse.observation.output"},
	"traceloop":     {"key": "traceloop.span.kind", "agent": "workflow", "tool": "tool", "in": "traceloop.entity.input", "out": "traceloop.entity.output"},
}

// vendorKind says what a span is.
func vendorKind(span trace.Span, kind, name string) {
	words := kinds[age]
	if words[kind] != "" {
		span.SetAttributes(attribute.String(words["key"], words[kind]))
	}
	switch {
	case age == "openinference" && kind == "tool":
		span.SetAttributes(attribute.String("tool.name", name))
	case age == "traceloop" && kind != "model":
		span.SetAttributes(attribute.String("traceloop.entity.name", name))
	}
}

// vendorIO is what went into an agent or a tool or came out of it, as text.
func vendorIO(span trace.Span, way, text string) {
	span.SetAttributes(attribute.String(kinds[age][way], text))
	if _, isText := value(text).(string); age == "openinference" && !isText {
		span.SetAttributes(attribute.String(map[string]string{"in": "input.mime_type", "out": "output.mime_type"}[way], "application/json"))
	}
}

func flattened(span trace.Span, prefix string, said []message) {
	n := 0
	for _, m := range said {
		for _, group := range groups(m) {
			at := fmt.Sprintf("%s.%d.message.", prefix, n)
			n++
			span.SetAttributes(attribute.String(at+"role", m.role))
			calls := 0
			for _, p := range group {
				switch p.kind {
				case "text":
					span.SetAttributes(attribute.String(at+"content", p.text))
				case "call":
					call := fmt.Sprintf("%stool_calls.%d.tool_call.", at, calls)
					calls++
					span.SetAttributes(attribute.String(call+"id", p.id), attribute.String(call+"function.name", p.name), attribute.String(call+"function.arguments", p.text))
				case "result":
					span.SetAttributes(attribute.String(at+"content", p.text), attribute.String(at+"tool_call_id", p.id), attribute.String(at+"name", p.name))
				}
			}
		}
	}
}

// groups has each result for itself.
func groups(m message) (list [][]part) {
	if m.role != "tool" {
		return [][]part{m.parts}
	}
	for _, p := range m.parts {
		list = append(list, []part{p})
	}
	return list
}

func vendorInput(span trace.Span, said []message) {
	switch age {
	case "openinference":
		flattened(span, "llm.input_messages", said)
		vendorIO(span, "in", compact(object{"messages": chats(said)}))
	case "langfuse":
		vendorIO(span, "in", compact(chats(said)))
	case "traceloop":
		indexed(span, "gen_ai.prompt", said)
	}
}

func vendorOutput(span trace.Span, a answer) {
	switch age {
	case "openinference":
		flattened(span, "llm.output_messages", []message{a.message})
		vendorIO(span, "out", compact(chat(a.message)))
	case "langfuse":
		vendorIO(span, "out", compact(chat(a.message)))
	case "traceloop":
		indexed(span, "gen_ai.completion", []message{a.message})
		span.SetAttributes(attribute.String("gen_ai.completion.0.finish_reason", a.finish))
	}
}

// vendorModel is what is said of a model call.
func vendorModel(span trace.Span, model string, a *answer) {
	switch {
	case age == "openinference" && a == nil:
		span.SetAttributes(attribute.String("llm.model_name", model), attribute.String("llm.provider", provider()))
	case age == "openinference":
		span.SetAttributes(attribute.Int("llm.token_count.prompt", a.in), attribute.Int("llm.token_count.completion", a.out))
	case age == "langfuse" && a == nil:
		span.SetAttributes(attribute.String("langfuse.observation.model.name", model))
	case age == "langfuse":
		span.SetAttributes(attribute.String("langfuse.observation.usage_details", compact(object{"input": a.in, "output": a.out})))
	case age == "traceloop" && a == nil:
		span.SetAttributes(attribute.String("gen_ai.system", provider()), attribute.String("gen_ai.request.model", model), attribute.String("llm.request.type", "chat"))
	case age == "traceloop":
		span.SetAttributes(attribute.String("gen_ai.response.model", a.model), attribute.String("gen_ai.response.id", a.id), attribute.Int("gen_ai.usage.prompt_tokens", a.in), attribute.Int("gen_ai.usage.completion_tokens", a.out))
	}
}
