// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Command trpc runs tRPC-Agent-Go: trpc otel|langfuse [SCENARIO ...].
package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"

	"go.opentelemetry.io/otel"
	"trpc.group/trpc-go/trpc-agent-go/agent"
	"trpc.group/trpc-go/trpc-agent-go/agent/llmagent"
	"trpc.group/trpc-go/trpc-agent-go/model"
	"trpc.group/trpc-go/trpc-agent-go/model/openai"
	"trpc.group/trpc-go/trpc-agent-go/runner"
	"trpc.group/trpc-go/trpc-agent-go/telemetry/langfuse"
	"trpc.group/trpc-go/trpc-agent-go/telemetry/trace"
	"trpc.group/trpc-go/trpc-agent-go/tool"
	agenttool "trpc.group/trpc-go/trpc-agent-go/tool/agent"

	"drivers/recorder"
)

type scripted struct{ recorder.Tool }

func (s scripted) Declaration() *tool.Declaration {
	var schema tool.Schema
	_ = json.Unmarshal(s.Parameters, &schema)
	return &tool.Declaration{Name: s.Name, Description: s.Description, InputSchema: &schema}
}

func (s scripted) Call(ctx context.Context, arguments []byte) (any, error) {
	return s.Value(ctx, arguments)
}

func tools(of []recorder.Tool) (all []tool.Tool) {
	for _, t := range of {
		all = append(all, scripted{t})
	}
	return all
}

func run(ctx context.Context, task recorder.Task) (string, error) {
	options := func(system string, all []tool.Tool) []llmagent.Option {
		m := openai.New(task.Model, openai.WithBaseURL(recorder.URL+"/v1"), openai.WithAPIKey("k"))
		settings := []llmagent.Option{llmagent.WithModel(m), llmagent.WithInstruction(system), llmagent.WithTools(all),
			llmagent.WithGenerationConfig(model.GenerationConfig{Stream: task.Stream}), llmagent.WithEnableParallelTools(true)}
		if task.MaxSteps > 0 {
			settings = append(settings, llmagent.WithMaxLLMCalls(task.MaxSteps))
		}
		return settings
	}
	all := tools(task.Tools)
	if task.Sub != nil {
		all = append(all, agenttool.NewTool(llmagent.New(task.Sub.Name, append(options(task.Sub.System, tools(task.Sub.Tools)), llmagent.WithDescription(task.Sub.Description))...)))
	}
	main := runner.NewRunner("recorded", llmagent.New("assistant", options(task.System, all)...))
	defer main.Close()
	var messages []model.Message
	for _, m := range task.History {
		messages = append(messages, model.Message{Role: model.Role(m.Role), Content: m.Content})
	}
	var more []agent.RunOption
	if len(messages) > 0 {
		more = append(more, agent.WithMessages(append(messages, model.NewUserMessage(task.User))))
	}
	events, err := main.Run(ctx, "user", "session-"+task.User, model.NewUserMessage(task.User), more...)
	if err != nil {
		return "", err
	}
	var said strings.Builder
	for e := range events {
		if e.Error != nil {
			err = errors.New(e.Error.Message)
		}
		if e.Response == nil || len(e.Response.Choices) == 0 || e.Author != "assistant" || e.IsRunnerCompletion() {
			continue
		}
		if choice := e.Response.Choices[0]; !e.Response.IsPartial && choice.Message.Role == model.RoleAssistant {
			said.Reset()
			said.WriteString(choice.Message.Content)
		}
	}
	return said.String(), err
}

func main() {
	ctx, clean := context.Background(), func() {}
	if os.Args[1] == "langfuse" {
		stop, err := langfuse.Start(ctx, langfuse.WithHost(strings.TrimPrefix(recorder.URL, "http://")), langfuse.WithInsecure(), langfuse.WithPublicKey("pk"), langfuse.WithSecretKey("sk"))
		if err != nil {
			panic(err)
		}
		clean = func() { _ = stop(ctx) }
	} else {
		stop, err := trace.Start(ctx, trace.WithProtocol("http"), trace.WithEndpointURL(recorder.URL+"/v1/traces"))
		if err != nil {
			panic(err)
		}
		clean = func() { _ = stop() }
	}
	defer clean()
	recorder.Main("trpc-agent-go-"+os.Args[1]+os.Getenv("SUFFIX"), "gpt-4o-mini", run, func() {
		for _, provider := range []any{otel.GetTracerProvider(), trace.TracerProvider} { // which of the two it fills depends on its version and on how it is started
			if spans, ok := provider.(interface{ ForceFlush(context.Context) error }); ok {
				_ = spans.ForceFlush(ctx)
			}
		}
	})
}
