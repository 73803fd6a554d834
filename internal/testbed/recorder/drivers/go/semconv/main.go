// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Command semconv runs a loop over a provider's HTTP API whose spans an engineer wrote from the GenAI semantic conventions, as they were at one age:
// semconv AGE-ROOT-TOOLS-API [SCENARIO ...], of AGES, full|bare|server, full|named|none, and chat|messages. GROUP in the environment names what is recorded.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"drivers/recorder"
)

type part struct{ kind, text, id, name string }

type message struct {
	role  string
	parts []part
}

func text(role, content string) message { return message{role, []part{{kind: "text", text: content}}} }

type answer struct {
	message
	finish, id, model string
	in, out           int
}

type object = map[string]any

var (
	tracer           = otel.Tracer("github.com/example/support-agent", trace.WithInstrumentationVersion("1.4.2"))
	age, root, tools string
	api              string
)

func value(doc string) any {
	var v any
	decoder := json.NewDecoder(strings.NewReader(doc))
	decoder.UseNumber()
	if decoder.Decode(&v) != nil || decoder.More() {
		return doc
	}
	return v
}

func compact(v any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(v)
	return strings.TrimSuffix(out.String(), "\n")
}

func post(path string, body any, into any) error {
	response, err := http.Post(recorder.URL+path, "application/json", strings.NewReader(compact(body)))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("POST %s: %s", path, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(into)
}

// --- The providers ---

// chat is a message as the chat API has it.
func chat(m message) (out object) {
	out = object{"role": m.role}
	var calls []any
	for _, p := range m.parts {
		switch p.kind {
		case "text":
			out["content"] = p.text
		case "call":
			calls = append(calls, object{"id": p.id, "type": "function", "function": object{"name": p.name, "arguments": p.text}})
		case "result":
			out["content"], out["tool_call_id"] = p.text, p.id
		}
	}
	if calls != nil {
		out["tool_calls"] = calls
	}
	return out
}

func askChat(model string, said []message, offered []recorder.Tool) (answer, error) {
	body := object{"model": model}
	var messages, list []any
	for _, m := range said {
		for _, p := range m.parts {
			if p.kind == "result" {
				messages = append(messages, chat(message{"tool", []part{p}}))
			}
		}
		if m.role != "tool" {
			messages = append(messages, chat(m))
		}
	}
	for _, t := range offered {
		list = append(list, object{"type": "function", "function": object{"name": t.Name, "description": t.Description, "parameters": t.Parameters}})
	}
	body["messages"] = messages
	if list != nil {
		body["tools"] = list
	}
	var r struct {
		ID, Model string
		Choices   []struct {
			FinishReason string `json:"finish_reason"`
			Message      struct {
				Content   *string
				ToolCalls []struct {
					ID       string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
		}
		Usage struct {
			In  int `json:"prompt_tokens"`
			Out int `json:"completion_tokens"`
		}
	}
	if err := post("/v1/chat/completions", body, &r); err != nil {
		return answer{}, err
	}
	a := answer{message{role: "assistant"}, r.Choices[0].FinishReason, r.ID, r.Model, r.Usage.In, r.Usage.Out}
	if c := r.Choices[0].Message.Content; c != nil && *c != "" {
		a.parts = append(a.parts, part{kind: "text", text: *c})
	}
	for _, c := range r.Choices[0].Message.ToolCalls {
		a.parts = append(a.parts, part{"call", c.Function.Arguments, c.ID, c.Function.Name})
	}
	return a, nil
}

func askMessages(model string, said []message, offered []recorder.Tool) (answer, error) {
	body := object{"model": model, "max_tokens": 2000}
	var messages, list []any
	for _, m := range said {
		if m.role == "system" {
			body["system"] = m.parts[0].text
			continue
		}
		var content []any
		for _, p := range m.parts {
			switch p.kind {
			case "text":
				content = append(content, object{"type": "text", "text": p.text})
			case "call":
				content = append(content, object{"type": "tool_use", "id": p.id, "name": p.name, "input": value(p.text)})
			case "result":
				content = append(content, object{"type": "tool_result", "tool_use_id": p.id, "content": p.text})
			}
		}
		role := m.role
		if role == "tool" {
			role = "user"
		}
		messages = append(messages, object{"role": role, "content": content})
	}
	for _, t := range offered {
		list = append(list, object{"name": t.Name, "description": t.Description, "input_schema": t.Parameters})
	}
	body["messages"] = messages
	if list != nil {
		body["tools"] = list
	}
	var r struct {
		ID, Model  string
		StopReason string `json:"stop_reason"`
		Content    []struct {
			Type, Text, ID, Name string
			Input                json.RawMessage
		}
		Usage struct {
			In  int `json:"input_tokens"`
			Out int `json:"output_tokens"`
		}
	}
	if err := post("/v1/messages", body, &r); err != nil {
		return answer{}, err
	}
	a := answer{message{role: "assistant"}, r.StopReason, r.ID, r.Model, r.Usage.In, r.Usage.Out}
	for _, c := range r.Content {
		switch c.Type {
		case "text":
			a.parts = append(a.parts, part{kind: "text", text: c.Text})
		case "tool_use":
			a.parts = append(a.parts, part{"call", string(c.Input), c.ID, c.Name})
		}
	}
	return a, nil
}

// --- The loop ---

func schema(t string) json.RawMessage { return json.RawMessage(t) }

func loop(ctx context.Context, task recorder.Task, name, system string, mine []recorder.Tool, sub bool, history []recorder.Message, user string) (string, error) {
	said := []message{text("system", system)}
	for _, m := range history {
		said = append(said, text(m.Role, m.Content))
	}
	said = append(said, text("user", user))
	offered := append([]recorder.Tool(nil), mine...)
	if sub && task.Sub != nil {
		offered = append(offered, recorder.Tool{Name: task.Sub.Name, Description: task.Sub.Description,
			Parameters: schema(`{"type":"object","properties":{"question":{"type":"string"}},"required":["question"]}`)})
	}
	return agentSpan(ctx, name, said, func(ctx context.Context) (string, error) {
		for step := 1; ; step++ {
			if task.MaxSteps > 0 && step > task.MaxSteps {
				return "", errors.New("no more steps")
			}
			a, err := modelSpan(ctx, task.Model, said, offered)
			if err != nil {
				return "", err
			}
			said = append(said, a.message)
			results := message{role: "tool"}
			for _, p := range a.parts {
				if p.kind != "call" {
					continue
				}
				told := toolSpan(ctx, p, func(ctx context.Context) (string, error) {
					if sub && task.Sub != nil && p.name == task.Sub.Name {
						var input struct{ Question string }
						if err := json.Unmarshal([]byte(p.text), &input); err != nil {
							return "", err
						}
						return loop(ctx, task, p.name, task.Sub.System, task.Sub.Tools, false, nil, input.Question)
					}
					for _, t := range mine {
						if t.Name == p.name {
							return t.Text(ctx, []byte(p.text))
						}
					}
					return "", fmt.Errorf("unknown tool %q", p.name)
				})
				results.parts = append(results.parts, part{kind: "result", text: told, id: p.id, name: p.name})
			}
			if len(results.parts) == 0 {
				out := ""
				for _, p := range a.parts {
					out += p.text
				}
				return out, nil
			}
			if api == "chat" { // a message for each result
				for _, p := range results.parts {
					said = append(said, message{"tool", []part{p}})
				}
			} else {
				said = append(said, results)
			}
		}
	})
}

// --- The spans ---

func fail(span trace.Span, err error) {
	span.RecordError(err)
	span.SetStatus(codes.Error, err.Error())
	span.SetAttributes(attribute.String("error.type", fmt.Sprintf("%T", err)))
}

func agentSpan(ctx context.Context, name string, said []message, body func(context.Context) (string, error)) (string, error) {
	var span trace.Span
	switch {
	case root == "server" && name == "assistant":
		ctx, span = tracer.Start(ctx, "POST /v1/ask", trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
			attribute.String("http.request.method", "POST"), attribute.String("http.route", "/v1/ask"), attribute.String("url.path", "/v1/ask")))
	case root == "server":
		return body(ctx)
	case byVendor():
		ctx, span = tracer.Start(ctx, name)
		vendorKind(span, "agent", name)
	default:
		ctx, span = tracer.Start(ctx, "invoke_agent "+name, trace.WithAttributes(attribute.String("gen_ai.operation.name", "invoke_agent"), attribute.String("gen_ai.agent.name", name), attribute.String(providerKey(), provider())))
	}
	defer span.End()
	switch {
	case byVendor() && root == "full":
		vendorIO(span, "in", said[len(said)-1].parts[0].text)
	case root == "full":
		wholeInput(span, said)
	}
	out, err := body(ctx)
	if err != nil {
		fail(span, err)
		return "", err
	}
	switch {
	case byVendor() && root == "full":
		vendorIO(span, "out", out)
	case root == "full":
		wholeOutput(span, answer{message: text("assistant", out), finish: "stop"})
	}
	return out, nil
}

func modelSpan(ctx context.Context, model string, said []message, offered []recorder.Tool) (answer, error) {
	var span trace.Span
	if byVendor() {
		ctx, span = tracer.Start(ctx, provider()+".chat", trace.WithSpanKind(trace.SpanKindClient))
		vendorKind(span, "model", "")
		vendorModel(span, model, nil)
	} else {
		ctx, span = tracer.Start(ctx, "chat "+model, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
			attribute.String("gen_ai.operation.name", "chat"), attribute.String(providerKey(), provider()), attribute.String("gen_ai.request.model", model)))
	}
	defer span.End()
	if modern() {
		definitions := []any{}
		for _, t := range offered {
			definitions = append(definitions, object{"type": "function", "name": t.Name, "description": t.Description, "parameters": t.Parameters})
		}
		span.SetAttributes(attribute.String("gen_ai.tool.definitions", compact(definitions)))
	}
	recordInput(ctx, span, said)
	ask := askChat
	if api == "messages" {
		ask = askMessages
	}
	a, err := ask(model, said, offered)
	if err != nil {
		fail(span, err)
		recordDetails(ctx, model, said, nil)
		return a, err
	}
	if byVendor() {
		vendorModel(span, model, &a)
		recordOutput(ctx, span, a)
		return a, nil
	}
	span.SetAttributes(attribute.String("gen_ai.response.id", a.id), attribute.String("gen_ai.response.model", a.model), attribute.StringSlice("gen_ai.response.finish_reasons", []string{a.finish}),
		attribute.Int("gen_ai.usage.input_tokens", a.in), attribute.Int("gen_ai.usage.output_tokens", a.out))
	recordOutput(ctx, span, a)
	recordDetails(ctx, model, said, &a)
	return a, nil
}

// toolSpan gives what the model is told, also of a tool that failed.
func toolSpan(ctx context.Context, p part, body func(context.Context) (string, error)) string {
	var span trace.Span
	switch {
	case tools == "none":
		span = trace.SpanFromContext(context.Background())
	case byVendor():
		ctx, span = tracer.Start(ctx, p.name)
		defer span.End()
		vendorKind(span, "tool", p.name)
		if tools == "full" {
			vendorIO(span, "in", p.text)
		}
	default:
		ctx, span = tracer.Start(ctx, "execute_tool "+p.name, trace.WithAttributes(attribute.String("gen_ai.operation.name", "execute_tool"),
			attribute.String("gen_ai.tool.name", p.name), attribute.String("gen_ai.tool.call.id", p.id), attribute.String("gen_ai.tool.type", "function")))
		defer span.End()
		if tools == "full" {
			span.SetAttributes(attribute.String("gen_ai.tool.call.arguments", p.text))
		}
	}
	result, err := body(ctx)
	if err != nil {
		fail(span, err)
		return "Error: " + err.Error()
	}
	switch {
	case tools == "full" && byVendor():
		vendorIO(span, "out", result)
	case tools == "full":
		span.SetAttributes(attribute.String("gen_ai.tool.call.result", result))
	}
	return result
}

func main() {
	choice := strings.Split(os.Args[1], "-")
	age, root, tools, api = choice[0], choice[1], choice[2], choice[3]
	group := os.Getenv("GROUP")
	if group == "" {
		group = "go-semconv-" + os.Args[1]
	}
	model := "gpt-4o-mini"
	if api == "messages" {
		model = "claude-sonnet-4-5"
	}
	provider := recorder.Provider("support-agent")
	recorder.Main(group, model, func(ctx context.Context, task recorder.Task) (string, error) {
		return loop(ctx, task, "assistant", task.System, task.Tools, true, task.History, task.User)
	}, func() { _ = provider.ForceFlush(context.Background()) })
}
