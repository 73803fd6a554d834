// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Command langchaingo runs a loop over LangChainGo's model with a handler of its callbacks as users write one, the messages as its types marshal: langchaingo
// semconv|openinference [SCENARIO ...]. Its versions stand in go.sdks.mod.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/tmc/langchaingo/callbacks"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/openai"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"drivers/recorder"
)

var tracer = otel.Tracer("github.com/example/lctrace")

func written(v any) string {
	doc, _ := json.Marshal(v)
	return string(doc)
}

type handler struct {
	callbacks.SimpleHandler
	model string
}

type key struct{}

// span hands the span of a request to the callbacks, which can hand nothing on themselves.
func start(ctx context.Context, model string) (context.Context, trace.Span) {
	title, attributes := "chat "+model, []attribute.KeyValue{attribute.String("gen_ai.operation.name", "chat"), attribute.String("gen_ai.system", "openai"), attribute.String("gen_ai.request.model", model)}
	if os.Args[1] == "openinference" {
		title, attributes = "ChatOpenAI", []attribute.KeyValue{attribute.String("openinference.span.kind", "LLM"), attribute.String("llm.model_name", model)}
	}
	return tracer.Start(ctx, title, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
}

func (handler) HandleLLMGenerateContentStart(ctx context.Context, said []llms.MessageContent) {
	name := "gen_ai.prompt"
	if os.Args[1] == "openinference" {
		name = "input.value"
	}
	trace.SpanFromContext(ctx).SetAttributes(attribute.String(name, written(said)))
}

func (handler) HandleLLMGenerateContentEnd(ctx context.Context, r *llms.ContentResponse) {
	name := "gen_ai.completion"
	if os.Args[1] == "openinference" {
		name = "output.value"
	}
	trace.SpanFromContext(ctx).SetAttributes(attribute.String(name, written(r)))
}

func (handler) HandleLLMError(ctx context.Context, err error) {
	trace.SpanFromContext(ctx).RecordError(err)
	trace.SpanFromContext(ctx).SetStatus(codes.Error, err.Error())
}

func inside(ctx context.Context, kind, name, input string, body func(context.Context) (string, error)) (string, error) {
	title, in, out := "execute_tool "+name, "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"
	attributes := []attribute.KeyValue{attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", name)}
	if kind == "agent" {
		title, in, out, attributes = "invoke_agent "+name, "gen_ai.prompt", "gen_ai.completion", []attribute.KeyValue{attribute.String("gen_ai.operation.name", "invoke_agent"), attribute.String("gen_ai.agent.name", name)}
	}
	if os.Args[1] == "openinference" {
		title, in, out, attributes = name, "input.value", "output.value", []attribute.KeyValue{attribute.String("openinference.span.kind", map[string]string{"agent": "CHAIN", "tool": "TOOL"}[kind])}
	}
	ctx, span := tracer.Start(ctx, title, trace.WithAttributes(append(attributes, attribute.String(in, input))...))
	defer span.End()
	output, err := body(ctx)
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
		return "", err
	}
	span.SetAttributes(attribute.String(out, output))
	return output, nil
}

func loop(ctx context.Context, task recorder.Task, name, system string, mine []recorder.Tool, sub bool, history []recorder.Message, user string) (string, error) {
	return inside(ctx, "agent", name, user, func(ctx context.Context) (string, error) {
		model, err := openai.New(openai.WithBaseURL(recorder.URL+"/v1"), openai.WithToken("k"), openai.WithModel(task.Model), openai.WithCallback(handler{model: task.Model}))
		if err != nil {
			return "", err
		}
		said := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeSystem, system)}
		for _, m := range history {
			role := llms.ChatMessageTypeHuman
			if m.Role == "assistant" {
				role = llms.ChatMessageTypeAI
			}
			said = append(said, llms.TextParts(role, m.Content))
		}
		said = append(said, llms.TextParts(llms.ChatMessageTypeHuman, user))
		var offered []llms.Tool
		for _, t := range mine {
			offered = append(offered, llms.Tool{Type: "function", Function: &llms.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Schema()}})
		}
		if sub && task.Sub != nil {
			question := map[string]any{"type": "object", "properties": map[string]any{"question": map[string]any{"type": "string"}}, "required": []string{"question"}}
			offered = append(offered, llms.Tool{Type: "function", Function: &llms.FunctionDefinition{Name: task.Sub.Name, Description: task.Sub.Description, Parameters: question}})
		}
		for step := 1; ; step++ {
			if task.MaxSteps > 0 && step > task.MaxSteps {
				return "", errors.New("no more steps")
			}
			options := []llms.CallOption{llms.WithModel(task.Model)}
			if len(offered) > 0 {
				options = append(options, llms.WithTools(offered))
			}
			if task.Stream {
				options = append(options, llms.WithStreamingFunc(func(context.Context, []byte) error { return nil }))
			}
			asking, span := start(ctx, task.Model)
			response, err := model.GenerateContent(asking, slices.Clone(said), options...)
			span.End()
			if err != nil {
				return "", err
			}
			choice := response.Choices[0]
			if len(choice.ToolCalls) == 0 {
				return choice.Content, nil
			}
			answer := llms.MessageContent{Role: llms.ChatMessageTypeAI}
			if choice.Content != "" && !task.Stream {
				answer.Parts = append(answer.Parts, llms.TextContent{Text: choice.Content})
			}
			for _, c := range choice.ToolCalls {
				answer.Parts = append(answer.Parts, c)
			}
			said = append(said, answer)
			for _, c := range choice.ToolCalls {
				result, err := inside(ctx, "tool", c.FunctionCall.Name, c.FunctionCall.Arguments, func(ctx context.Context) (string, error) {
					if sub && task.Sub != nil && c.FunctionCall.Name == task.Sub.Name {
						var input struct{ Question string }
						if err := json.Unmarshal([]byte(c.FunctionCall.Arguments), &input); err != nil {
							return "", err
						}
						return loop(ctx, task, task.Sub.Name, task.Sub.System, task.Sub.Tools, false, nil, input.Question)
					}
					for _, t := range mine {
						if t.Name == c.FunctionCall.Name {
							return t.Text(ctx, []byte(c.FunctionCall.Arguments))
						}
					}
					return "", fmt.Errorf("unknown tool %q", c.FunctionCall.Name)
				})
				if err != nil {
					result = "Error: " + err.Error()
				}
				said = append(said, llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{llms.ToolCallResponse{ToolCallID: c.ID, Name: c.FunctionCall.Name, Content: result}}})
			}
		}
	})
}

func main() {
	provider := recorder.Provider("lc-agent")
	recorder.Main("langchaingo-"+os.Args[1], "gpt-4o-mini", func(ctx context.Context, task recorder.Task) (string, error) {
		return loop(ctx, task, "assistant", task.System, task.Tools, true, task.History, task.User)
	}, func() { _ = provider.ForceFlush(context.Background()) })
}
