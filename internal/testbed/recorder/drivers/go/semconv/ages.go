// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/log/global"
	"go.opentelemetry.io/otel/trace"

	"drivers/recorder"
)

// The ages of the conventions, oldest first:
//
//	indexed   gen_ai.prompt.N.role and so on, as the first instrumentations wrote it
//	content   1.26: events gen_ai.content.prompt and gen_ai.content.completion of the span, the messages as JSON
//	spanevent 1.28 by those who had no logs: an event of the span for each message
//	logevent  1.28: a log record for each message, with a body
//	attrs     1.37: gen_ai.input.messages, gen_ai.output.messages and gen_ai.system_instructions of the span
//	details   1.37: the log record gen_ai.client.inference.operation.details, with structured attributes
//	inline    as attrs, the system prompt as a message of the input
//	slice     as inline, each message a JSON text of a list of texts
//	chatjson  as inline, the messages as the provider's API has them
//	spandetails  as details, the record an event of the span with JSON texts
//
// And what a team writes by the book of a vendor: openinference, langfuse, traceloop.

func modern() bool {
	return slices.Contains([]string{"attrs", "details", "inline", "slice", "chatjson", "spandetails"}, age)
}

func inline() bool { return age == "inline" || age == "slice" || age == "chatjson" }

func providerKey() string {
	if modern() {
		return "gen_ai.provider.name"
	}
	return "gen_ai.system"
}

func provider() string {
	if api == "messages" {
		return "anthropic"
	}
	return "openai"
}

func chats(said []message) (list []any) {
	for _, m := range said {
		if m.role == "tool" {
			for _, p := range m.parts {
				list = append(list, chat(message{"tool", []part{p}}))
			}
			continue
		}
		list = append(list, chat(m))
	}
	return list
}

// parts is a message as the schema of 1.37 has it.
func parts(m message) object {
	var list []any
	for _, p := range m.parts {
		switch p.kind {
		case "text":
			list = append(list, object{"type": "text", "content": p.text})
		case "call":
			list = append(list, object{"type": "tool_call", "id": p.id, "name": p.name, "arguments": value(p.text)})
		case "result":
			list = append(list, object{"type": "tool_call_response", "id": p.id, "response": value(p.text)})
		}
	}
	return object{"role": m.role, "parts": list}
}

func split(said []message) (system, input []any) {
	for _, m := range said {
		if m.role == "system" && !inline() {
			system = append(system, object{"type": "text", "content": m.parts[0].text})
			continue
		}
		input = append(input, parts(m))
	}
	return system, input
}

func output(a answer) []any {
	m := parts(a.message)
	m["finish_reason"] = a.finish
	return []any{m}
}

// wholeInput and wholeOutput are what a span of an agent holds.
func wholeInput(span trace.Span, said []message) {
	switch {
	case age == "slice":
		var list []string
		_, input := split(said)
		for _, m := range input {
			list = append(list, compact(m))
		}
		span.SetAttributes(attribute.StringSlice("gen_ai.input.messages", list))
	case age == "chatjson":
		span.SetAttributes(attribute.String("gen_ai.input.messages", compact(chats(said))))
	case modern():
		system, input := split(said)
		if system != nil {
			span.SetAttributes(attribute.String("gen_ai.system_instructions", compact(system)))
		}
		span.SetAttributes(attribute.String("gen_ai.input.messages", compact(input)))
	case age == "indexed":
		indexed(span, "gen_ai.prompt", said)
	default:
		span.SetAttributes(attribute.String("gen_ai.prompt", compact(chats(said))))
	}
}

func wholeOutput(span trace.Span, a answer) {
	switch {
	case age == "slice":
		span.SetAttributes(attribute.StringSlice("gen_ai.output.messages", []string{compact(output(a)[0])}))
	case age == "chatjson":
		span.SetAttributes(attribute.String("gen_ai.output.messages", compact(chats([]message{a.message}))))
	case modern():
		span.SetAttributes(attribute.String("gen_ai.output.messages", compact(output(a))))
	case age == "indexed":
		indexed(span, "gen_ai.completion", []message{a.message})
	default:
		span.SetAttributes(attribute.String("gen_ai.completion", compact(chats([]message{a.message}))))
	}
}

func indexed(span trace.Span, prefix string, said []message) {
	n := 0
	for _, m := range said {
		at := fmt.Sprintf("%s.%d.", prefix, n)
		span.SetAttributes(attribute.String(at+"role", m.role))
		calls := 0
		for i, p := range m.parts {
			switch p.kind {
			case "text":
				span.SetAttributes(attribute.String(at+"content", p.text))
			case "call":
				call := fmt.Sprintf("%stool_calls.%d.", at, calls)
				calls++
				span.SetAttributes(attribute.String(call+"id", p.id), attribute.String(call+"name", p.name), attribute.String(call+"arguments", p.text))
			case "result":
				if i > 0 {
					n++
					at = fmt.Sprintf("%s.%d.", prefix, n)
					span.SetAttributes(attribute.String(at+"role", m.role))
				}
				span.SetAttributes(attribute.String(at+"tool_call_id", p.id), attribute.String(at+"content", p.text))
			}
		}
		n++
	}
}

func recordInput(ctx context.Context, span trace.Span, said []message) {
	switch age {
	case "indexed":
		indexed(span, "gen_ai.prompt", said)
	case "content":
		span.AddEvent("gen_ai.content.prompt", trace.WithAttributes(attribute.String("gen_ai.prompt", compact(chats(said)))))
	case "spanevent":
		for _, m := range chats(said) {
			m := m.(object)
			attributes := []attribute.KeyValue{attribute.String("gen_ai.system", provider())}
			for _, name := range []string{"role", "content", "tool_call_id"} {
				if v, ok := m[name].(string); ok {
					if name == "tool_call_id" {
						name = "id"
					}
					attributes = append(attributes, attribute.String(name, v))
				}
			}
			if m["tool_calls"] != nil {
				attributes = append(attributes, attribute.String("tool_calls", compact(m["tool_calls"])))
			}
			span.AddEvent(fmt.Sprintf("gen_ai.%s.message", m["role"]), trace.WithAttributes(attributes...))
		}
	case "logevent":
		for _, m := range chats(said) {
			m := m.(object)
			var body []log.KeyValue
			if v, ok := m["content"].(string); ok {
				body = append(body, log.String("content", v))
			}
			if v, ok := m["tool_call_id"].(string); ok {
				body = append(body, log.String("id", v))
			}
			if m["tool_calls"] != nil {
				body = append(body, log.KeyValue{Key: "tool_calls", Value: logged(m["tool_calls"])})
			}
			emit(ctx, fmt.Sprintf("gen_ai.%s.message", m["role"]), log.MapValue(body...), log.String("gen_ai.system", provider()))
		}
	case "attrs", "inline", "slice", "chatjson":
		wholeInput(span, said)
	default:
		vendorInput(span, said)
	}
}

func recordOutput(ctx context.Context, span trace.Span, a answer) {
	said := chat(a.message)
	switch age {
	case "indexed":
		indexed(span, "gen_ai.completion", []message{a.message})
		span.SetAttributes(attribute.String("gen_ai.completion.0.finish_reason", a.finish))
	case "content":
		span.AddEvent("gen_ai.content.completion", trace.WithAttributes(attribute.String("gen_ai.completion", compact([]any{said}))))
	case "spanevent":
		span.AddEvent("gen_ai.choice", trace.WithAttributes(attribute.String("gen_ai.system", provider()), attribute.Int("index", 0), attribute.String("finish_reason", a.finish), attribute.String("message", compact(said))))
	case "logevent":
		body := []log.KeyValue{log.Int("index", 0), log.String("finish_reason", a.finish), {Key: "message", Value: logged(said)}}
		emit(ctx, "gen_ai.choice", log.MapValue(body...), log.String("gen_ai.system", provider()))
	case "attrs", "inline", "slice", "chatjson":
		wholeOutput(span, a)
	default:
		vendorOutput(span, a)
	}
}

func recordDetails(ctx context.Context, model string, said []message, a *answer) {
	system, input := split(said)
	if age == "spandetails" {
		attributes := []attribute.KeyValue{attribute.String("gen_ai.system_instructions", compact(system)), attribute.String("gen_ai.input.messages", compact(input))}
		if a != nil {
			attributes = append(attributes, attribute.String("gen_ai.output.messages", compact(output(*a))))
		}
		trace.SpanFromContext(ctx).AddEvent("gen_ai.client.inference.operation.details", trace.WithAttributes(attributes...))
	}
	if age != "details" {
		return
	}
	attributes := []log.KeyValue{log.String("gen_ai.operation.name", "chat"), log.String("gen_ai.provider.name", provider()), log.String("gen_ai.request.model", model),
		{Key: "gen_ai.system_instructions", Value: logged(system)}, {Key: "gen_ai.input.messages", Value: logged(input)}}
	if a != nil {
		attributes = append(attributes, log.String("gen_ai.response.id", a.id), log.String("gen_ai.response.model", a.model), log.KeyValue{Key: "gen_ai.output.messages", Value: logged(output(*a))})
	}
	emit(ctx, "gen_ai.client.inference.operation.details", log.Value{}, attributes...)
}

func emit(ctx context.Context, name string, body log.Value, attributes ...log.KeyValue) {
	var record log.Record
	record.SetEventName(name)
	record.SetSeverity(log.SeverityInfo)
	record.SetBody(body)
	record.AddAttributes(attributes...)
	global.Logger("github.com/example/support-agent").Emit(ctx, record)
}

// logged is a value as log records hold it.
func logged(v any) log.Value {
	switch v := recorder.Plain(value(compact(v))).(type) {
	case string:
		return log.StringValue(v)
	case bool:
		return log.BoolValue(v)
	case int64:
		return log.Int64Value(v)
	case float64:
		return log.Float64Value(v)
	case []any:
		var list []log.Value
		for _, e := range v {
			list = append(list, logged(e))
		}
		return log.SliceValue(list...)
	case map[string]any:
		var members []log.KeyValue
		for name, e := range v {
			members = append(members, log.KeyValue{Key: name, Value: logged(e)})
		}
		return log.MapValue(members...)
	}
	return log.Value{}
}
