// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Command adk runs Google's Agent Development Kit for Go beside Gemini: adk otel [SCENARIO ...].
package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/google/jsonschema-go/jsonschema"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/model/gemini"
	"google.golang.org/adk/runner"
	"google.golang.org/adk/session"
	"google.golang.org/adk/telemetry"
	"google.golang.org/adk/tool"
	"google.golang.org/adk/tool/agenttool"
	"google.golang.org/adk/tool/functiontool"
	"google.golang.org/genai"

	"drivers/recorder"
)

func tools(of []recorder.Tool) (all []tool.Tool) {
	for _, t := range of {
		var schema jsonschema.Schema
		_ = json.Unmarshal(t.Parameters, &schema)
		made, err := functiontool.New(functiontool.Config{Name: t.Name, Description: t.Description, InputSchema: &schema},
			func(ctx tool.Context, arguments map[string]any) (any, error) {
				doc, err := json.Marshal(arguments)
				if err != nil {
					return nil, err
				}
				return t.Value(ctx, doc)
			})
		if err != nil {
			panic(err)
		}
		all = append(all, made)
	}
	return all
}

func run(ctx context.Context, task recorder.Task) (string, error) {
	make := func(input *genai.Schema, name, description, system string, all []tool.Tool) agent.Agent {
		m, err := gemini.NewModel(ctx, task.Model, &genai.ClientConfig{APIKey: "k", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: recorder.URL}})
		if err != nil {
			panic(err)
		}
		made, err := llmagent.New(llmagent.Config{Name: name, Description: description, Model: m, Instruction: system, Tools: all, InputSchema: input})
		if err != nil {
			panic(err)
		}
		return made
	}
	question := &genai.Schema{Type: genai.TypeObject, Properties: map[string]*genai.Schema{"question": {Type: genai.TypeString}}, Required: []string{"question"}}
	all := tools(task.Tools)
	if task.Sub != nil {
		all = append(all, agenttool.New(make(question, task.Sub.Name, task.Sub.Description, task.Sub.System, tools(task.Sub.Tools)), nil))
	}
	sessions := session.InMemoryService()
	r, err := runner.New(runner.Config{AppName: "recorded", Agent: make(nil, "assistant", "", task.System, all), SessionService: sessions})
	if err != nil {
		return "", err
	}
	made, err := sessions.Create(ctx, &session.CreateRequest{AppName: "recorded", UserID: "user"})
	if err != nil {
		return "", err
	}
	for _, m := range task.History {
		role, author := genai.RoleUser, "user"
		if m.Role == "assistant" {
			role, author = genai.RoleModel, "assistant"
		}
		event := session.NewEvent("history")
		event.Author, event.Content = author, genai.NewContentFromText(m.Content, genai.Role(role))
		if err := sessions.AppendEvent(ctx, made.Session, event); err != nil {
			return "", err
		}
	}
	var config agent.RunConfig
	if task.Stream {
		config.StreamingMode = agent.StreamingModeSSE
	}
	said, steps := "", 0
	for event, err := range r.Run(ctx, "user", made.Session.ID(), genai.NewContentFromText(task.User, genai.RoleUser), config) {
		if err != nil {
			return "", err
		}
		if event.ErrorMessage != "" {
			return "", errors.New(event.ErrorMessage)
		}
		if event.Content != nil && !event.Partial && event.Content.Role == genai.RoleModel {
			if steps++; task.MaxSteps > 0 && steps >= task.MaxSteps {
				return "", errors.New("no more steps")
			}
		}
		if event.IsFinalResponse() && event.Content != nil {
			said = ""
			for _, part := range event.Content.Parts {
				said += part.Text
			}
		}
	}
	return said, nil
}

func main() {
	ctx := context.Background()
	spans, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(recorder.URL+"/v1/traces"))
	if err != nil {
		panic(err)
	}
	records, err := otlploghttp.New(ctx, otlploghttp.WithEndpointURL(recorder.URL+"/v1/logs"))
	if err != nil {
		panic(err)
	}
	providers, err := telemetry.New(ctx, telemetry.WithSpanProcessors(sdktrace.NewSimpleSpanProcessor(spans)),
		telemetry.WithLogRecordProcessors(sdklog.NewSimpleProcessor(records)), telemetry.WithGenAICaptureMessageContent(true))
	if err != nil {
		panic(err)
	}
	providers.SetGlobalOtelProviders()
	recorder.Main("adk-go-"+os.Args[1], "gemini-2.5-flash", run, func() {})
}
