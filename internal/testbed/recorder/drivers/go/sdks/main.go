// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Command sdks runs a loop over a provider's SDK whose requests pass a middleware that writes a span each, with the bodies as they went over the wire under keys of
// a team's own choice: sdks openai|anthropic raw|body|openinference|langfuse [SCENARIO ...]. Its versions stand in go.sdks.mod.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	claude "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	gpt "github.com/openai/openai-go/v3/option"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"drivers/recorder"
)

var style string

// names are those of a style: the span's name, what is always there, and where input and output go.
func names(kind, name string) (title string, fixed []attribute.KeyValue, in, out string) {
	switch style {
	case "openinference":
		kinds := map[string]string{"agent": "AGENT", "model": "LLM", "tool": "TOOL"}
		fixed = append(fixed, attribute.String("openinference.span.kind", kinds[kind]))
		switch kind {
		case "model":
			fixed = append(fixed, attribute.String("llm.model_name", name))
		case "tool":
			fixed = append(fixed, attribute.String("tool.name", name))
		}
		return name, fixed, "input.value", "output.value"
	case "langfuse":
		kinds := map[string]string{"agent": "agent", "model": "generation", "tool": "tool"}
		fixed = append(fixed, attribute.String("langfuse.observation.type", kinds[kind]))
		if kind == "model" {
			fixed = append(fixed, attribute.String("langfuse.observation.model.name", name))
		}
		return name, fixed, "langfuse.observation.input", "langfuse.observation.output"
	case "body":
		switch kind {
		case "model":
			return "chat " + name, []attribute.KeyValue{attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.request.model", name)}, "http.request.body", "http.response.body"
		case "tool":
			return "execute_tool " + name, []attribute.KeyValue{attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", name)}, "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"
		}
		return "invoke_agent " + name, []attribute.KeyValue{attribute.String("gen_ai.operation.name", "invoke_agent")}, "question", "answer"
	}
	switch kind {
	case "model":
		return "llm.request", []attribute.KeyValue{attribute.String("llm.model", name)}, "llm.request.body", "llm.response.body"
	case "tool":
		return "tool " + name, []attribute.KeyValue{attribute.String("tool", name)}, "tool.input", "tool.output"
	}
	return name, nil, "question", "answer"
}

func span(ctx context.Context, kind, name, input string, body func(context.Context) (string, error)) (string, error) {
	title, fixed, in, out := names(kind, name)
	ctx, s := otel.Tracer("github.com/example/assistant/internal/llm").Start(ctx, title, trace.WithAttributes(append(fixed, attribute.String(in, input))...))
	defer s.End()
	output, err := body(ctx)
	if err != nil {
		s.RecordError(err)
		s.SetStatus(codes.Error, err.Error())
		return output, err
	}
	s.SetAttributes(attribute.String(out, output))
	return output, nil
}

func middleware(request *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	sent, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(sent))
	var asked struct{ Model string }
	_ = json.Unmarshal(sent, &asked)
	var response *http.Response
	_, err = span(request.Context(), "model", asked.Model, string(sent), func(context.Context) (string, error) {
		var err error
		if response, err = next(request); err != nil {
			return "", err
		}
		whole, err := io.ReadAll(response.Body) // the stream of a streaming request too: teams that log bodies wait for them
		response.Body.Close()
		response.Body = io.NopCloser(bytes.NewReader(whole))
		if err == nil && response.StatusCode >= http.StatusBadRequest {
			err = errors.New(response.Status)
		}
		return string(whole), err
	})
	if response != nil {
		return response, nil // the SDK makes its own error of the status
	}
	return response, err
}

type asked struct{ id, name, arguments string }

// conversation is what the loop needs of an SDK.
type conversation interface {
	history(m recorder.Message)
	ask(ctx context.Context, stream bool) (text string, calls []asked, err error)
	told(c asked, result string, failed bool)
}

// --- openai-go ---

type completions struct {
	client openai.Client
	params openai.ChatCompletionNewParams
}

func overOpenAI(model, system string, tools []recorder.Tool) conversation {
	c := &completions{client: openai.NewClient(gpt.WithBaseURL(recorder.URL+"/v1"), gpt.WithAPIKey("k"), gpt.WithMaxRetries(0), gpt.WithMiddleware(middleware))}
	c.params.Model, c.params.Messages = model, []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(system)}
	for _, t := range tools {
		c.params.Tools = append(c.params.Tools, openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: t.Name, Description: openai.String(t.Description), Parameters: t.Schema()}))
	}
	return c
}

func (c *completions) history(m recorder.Message) {
	if m.Role == "assistant" {
		c.params.Messages = append(c.params.Messages, openai.AssistantMessage(m.Content))
	} else {
		c.params.Messages = append(c.params.Messages, openai.UserMessage(m.Content))
	}
}

func (c *completions) ask(ctx context.Context, stream bool) (string, []asked, error) {
	var message openai.ChatCompletionMessage
	if stream {
		events, whole := c.client.Chat.Completions.NewStreaming(ctx, c.params), openai.ChatCompletionAccumulator{}
		for events.Next() {
			whole.AddChunk(events.Current())
		}
		if err := events.Err(); err != nil {
			return "", nil, err
		}
		message = whole.Choices[0].Message
	} else {
		completion, err := c.client.Chat.Completions.New(ctx, c.params)
		if err != nil {
			return "", nil, err
		}
		message = completion.Choices[0].Message
	}
	var calls []asked
	for _, t := range message.ToolCalls {
		calls = append(calls, asked{t.ID, t.Function.Name, t.Function.Arguments})
	}
	c.params.Messages = append(c.params.Messages, message.ToParam())
	return message.Content, calls, nil
}

func (c *completions) told(call asked, result string, _ bool) {
	c.params.Messages = append(c.params.Messages, openai.ToolMessage(result, call.id))
}

// --- anthropic-sdk-go ---

type messages struct {
	client  anthropic.Client
	params  anthropic.MessageNewParams
	results []anthropic.ContentBlockParamUnion
}

func overAnthropic(model, system string, tools []recorder.Tool) conversation {
	c := &messages{client: anthropic.NewClient(claude.WithBaseURL(recorder.URL), claude.WithAPIKey("k"), claude.WithMaxRetries(0), claude.WithMiddleware(middleware))}
	c.params.Model, c.params.MaxTokens, c.params.System = anthropic.Model(model), 1024, []anthropic.TextBlockParam{{Text: system}}
	for _, t := range tools {
		schema := t.Schema()
		required, _ := schema["required"].([]any)
		input := anthropic.ToolInputSchemaParam{Properties: schema["properties"]}
		for _, r := range required {
			input.Required = append(input.Required, r.(string))
		}
		c.params.Tools = append(c.params.Tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{Name: t.Name, Description: anthropic.String(t.Description), InputSchema: input}})
	}
	return c
}

func (c *messages) history(m recorder.Message) {
	block := anthropic.NewTextBlock(m.Content)
	if m.Role == "assistant" {
		c.params.Messages = append(c.params.Messages, anthropic.NewAssistantMessage(block))
	} else {
		c.params.Messages = append(c.params.Messages, anthropic.NewUserMessage(block))
	}
}

func (c *messages) ask(ctx context.Context, stream bool) (string, []asked, error) {
	if c.results != nil {
		c.params.Messages, c.results = append(c.params.Messages, anthropic.NewUserMessage(c.results...)), nil
	}
	var message anthropic.Message
	if stream {
		events := c.client.Messages.NewStreaming(ctx, c.params)
		for events.Next() {
			if err := message.Accumulate(events.Current()); err != nil {
				return "", nil, err
			}
		}
		if err := events.Err(); err != nil {
			return "", nil, err
		}
	} else {
		whole, err := c.client.Messages.New(ctx, c.params)
		if err != nil {
			return "", nil, err
		}
		message = *whole
	}
	var said strings.Builder
	var calls []asked
	for _, block := range message.Content {
		switch block.Type {
		case "text":
			said.WriteString(block.Text)
		case "tool_use":
			calls = append(calls, asked{block.ID, block.Name, string(block.Input)})
		}
	}
	c.params.Messages = append(c.params.Messages, message.ToParam())
	return said.String(), calls, nil
}

func (c *messages) told(call asked, result string, failed bool) {
	c.results = append(c.results, anthropic.NewToolResultBlock(call.id, result, failed))
}

// --- The loop ---

var sdk = map[string]func(model, system string, tools []recorder.Tool) conversation{"openai": overOpenAI, "anthropic": overAnthropic}

func loop(ctx context.Context, task recorder.Task, name, system string, mine []recorder.Tool, sub bool, history []recorder.Message, user string) (string, error) {
	return span(ctx, "agent", name, user, func(ctx context.Context) (string, error) {
		offered := slices.Clone(mine)
		if sub && task.Sub != nil {
			offered = append(offered, recorder.Tool{Name: task.Sub.Name, Description: task.Sub.Description,
				Parameters: json.RawMessage(`{"type":"object","properties":{"question":{"type":"string"}},"required":["question"]}`)})
		}
		c := sdk[os.Args[1]](task.Model, system, offered)
		for _, m := range history {
			c.history(m)
		}
		c.history(recorder.Message{Role: "user", Content: user})
		for step := 1; ; step++ {
			if task.MaxSteps > 0 && step > task.MaxSteps {
				return "", errors.New("no more steps")
			}
			text, calls, err := c.ask(ctx, task.Stream)
			if err != nil || len(calls) == 0 {
				return text, err
			}
			for _, call := range calls {
				result, err := span(ctx, "tool", call.name, call.arguments, func(ctx context.Context) (string, error) {
					if sub && task.Sub != nil && call.name == task.Sub.Name {
						var input struct{ Question string }
						if err := json.Unmarshal([]byte(call.arguments), &input); err != nil {
							return "", err
						}
						return loop(ctx, task, call.name, task.Sub.System, task.Sub.Tools, false, nil, input.Question)
					}
					for _, t := range mine {
						if t.Name == call.name {
							return t.Text(ctx, []byte(call.arguments))
						}
					}
					return "", fmt.Errorf("unknown tool %q", call.name)
				})
				if err != nil {
					result = "Error: " + err.Error()
				}
				c.told(call, result, err != nil)
			}
		}
	})
}

func main() {
	style = os.Args[2]
	os.Args = append(os.Args[:2], os.Args[3:]...)
	model := map[string]string{"openai": "gpt-4o-mini", "anthropic": "claude-sonnet-4-5"}[os.Args[1]]
	provider := recorder.Provider("assistant")
	recorder.Main("go-"+os.Args[1]+"-sdk-"+style, model, func(ctx context.Context, task recorder.Task) (string, error) {
		return loop(ctx, task, "assistant", task.System, task.Tools, true, task.History, task.User)
	}, func() { _ = provider.ForceFlush(context.Background()) })
}
