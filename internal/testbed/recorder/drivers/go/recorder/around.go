// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"context"
	"encoding/json"
	"os"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// What an application writes itself around its agent and in its tools, whatever the framework writes. AROUND names one of these; without it there is nothing:
//
//	bare      names alone
//	http      the span of a web server, a handler in it, and a query of a database in each tool
//	io        input and output
//	own       words of the application's own
//	semconv   OpenTelemetry's conventions, by hand
//	nocontent the same without content, as most programs have them
//	inference OpenInference's conventions, by hand
var around = os.Getenv("AROUND")

type filled struct {
	title   string
	options []trace.SpanStartOption
	before  []attribute.KeyValue
	after   func(result string) []attribute.KeyValue
}

func said(role, text string) string {
	doc, _ := json.Marshal([]any{map[string]any{"role": role, "parts": []any{map[string]any{"type": "text", "content": text}}}})
	return string(doc)
}

func texts(pairs ...string) (list []attribute.KeyValue) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, attribute.String(pairs[i], pairs[i+1]))
	}
	return list
}

func fill(tool bool, name, input string) filled {
	f := filled{title: name, after: func(string) []attribute.KeyValue { return nil }}
	switch around {
	case "http":
		if !tool {
			f.title, f.options = "POST /api/chat", []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)}
			f.before = texts("http.request.method", "POST", "http.route", "/api/chat", "url.path", "/api/chat", "url.scheme", "https", "server.address", "agents.example.test")
			f.after = func(string) []attribute.KeyValue {
				return []attribute.KeyValue{attribute.Int("http.response.status_code", 200)}
			}
			break
		}
		f.title, f.options = "SELECT entries", []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient)}
		f.before = texts("db.system.name", "postgresql", "db.query.text", "SELECT body FROM entries WHERE key = $1", "db.operation.name", "SELECT")
	case "io":
		f.before = texts("input", input)
		f.after = func(result string) []attribute.KeyValue { return texts("output", result) }
	case "own":
		if tool {
			f.title, f.before = "tool."+name, texts("tool.name", name, "tool.args", input)
			f.after = func(result string) []attribute.KeyValue {
				return append(texts("tool.result", result), attribute.Bool("tool.success", true))
			}
			break
		}
		f.title, f.before = "agent.run", texts("app.question", input, "user.id", "u-17", "session.id", "s-4")
		f.after = func(result string) []attribute.KeyValue { return texts("app.answer", result) }
	case "semconv", "nocontent":
		content := around == "semconv"
		if tool {
			f.title, f.before = "execute_tool "+name, texts("gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", name, "gen_ai.tool.type", "function")
			if content {
				f.before = append(f.before, texts("gen_ai.tool.call.arguments", input)...)
				f.after = func(result string) []attribute.KeyValue { return texts("gen_ai.tool.call.result", result) }
			}
			break
		}
		f.title, f.before = "invoke_agent "+name, texts("gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", name)
		if content {
			f.before = append(f.before, texts("gen_ai.input.messages", said("user", input))...)
			f.after = func(result string) []attribute.KeyValue {
				return texts("gen_ai.output.messages", said("assistant", result))
			}
		}
	case "inference":
		kind := "AGENT"
		if tool {
			kind = "TOOL"
			f.before = texts("tool.name", name)
		}
		f.before = append(f.before, texts("openinference.span.kind", kind, "input.value", input)...)
		f.after = func(result string) []attribute.KeyValue { return texts("output.value", result) }
	}
	return f
}

// inside runs the body in the span of the application.
func inside[T any](ctx context.Context, tool bool, name, input string, written func(T) string, body func(context.Context) (T, error)) (T, error) {
	if around == "" {
		return body(ctx)
	}
	f := fill(tool, name, input)
	tracer := otel.Tracer("example.com/office-assistant", trace.WithInstrumentationVersion("1.4.0"))
	ctx, span := tracer.Start(ctx, f.title, append(f.options, trace.WithAttributes(f.before...))...)
	defer span.End()
	if around == "http" && !tool {
		var handler trace.Span
		ctx, handler = tracer.Start(ctx, "handleChat", trace.WithAttributes(texts("code.function.name", "main.handleChat")...))
		defer handler.End()
	}
	result, err := body(ctx)
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
		return result, err
	}
	span.SetAttributes(f.after(written(result))...)
	return result, nil
}
