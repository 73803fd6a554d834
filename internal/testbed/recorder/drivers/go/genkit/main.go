// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Command genkit runs Genkit for Go with its own spans: genkit openai|anthropic|googleai [SCENARIO ...].
package main

import (
	"context"
	"encoding/json"
	"os"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/core/api"
	"github.com/firebase/genkit/go/genkit"
	"github.com/firebase/genkit/go/plugins/anthropic"
	"github.com/firebase/genkit/go/plugins/compat_oai/openai"
	"github.com/firebase/genkit/go/plugins/googlegenai"
	"github.com/openai/openai-go/option"

	"drivers/recorder"
)

var provider = map[string]struct {
	model  string
	plugin func() api.Plugin
}{
	"openai": {"gpt-4o-mini", func() api.Plugin {
		return &openai.OpenAI{APIKey: "k", Opts: []option.RequestOption{option.WithBaseURL(recorder.URL + "/v1"), option.WithMaxRetries(0)}}
	}},
	"anthropic": {"claude-sonnet-4-5", func() api.Plugin { return &anthropic.Anthropic{APIKey: "k", BaseURL: recorder.URL} }},
	"googleai":  {"gemini-2.5-flash", func() api.Plugin { return &googlegenai.GoogleAI{APIKey: "k"} }}, // GOOGLE_GEMINI_BASE_URL says where
}

func generate(ctx context.Context, g *genkit.Genkit, task recorder.Task, system, user string, history []recorder.Message, tools []ai.ToolRef, onChunk ai.ModelStreamCallback) (string, error) {
	options := []ai.GenerateOption{ai.WithModelName(os.Args[1] + "/" + task.Model), ai.WithSystem("%s", system), ai.WithPrompt("%s", user), ai.WithMaxTurns(12)}
	if task.MaxSteps > 0 {
		options[len(options)-1] = ai.WithMaxTurns(task.MaxSteps - 1)
	}
	if os.Args[1] == "anthropic" {
		options = append(options, ai.WithConfig(&sdk.MessageNewParams{MaxTokens: 1024}))
	}
	var said []*ai.Message
	for _, m := range history {
		if m.Role == "assistant" {
			said = append(said, ai.NewModelTextMessage(m.Content))
		} else {
			said = append(said, ai.NewUserTextMessage(m.Content))
		}
	}
	if len(said) > 0 {
		options = append(options, ai.WithMessages(said...))
	}
	if len(tools) > 0 {
		options = append(options, ai.WithTools(tools...))
	}
	if onChunk != nil {
		options = append(options, ai.WithStreaming(onChunk))
	}
	response, err := genkit.Generate(ctx, g, options...)
	if err != nil {
		return "", err
	}
	return response.Text(), nil
}

func define(g *genkit.Genkit, of []recorder.Tool) (all []ai.ToolRef) {
	for _, t := range of {
		all = append(all, genkit.DefineToolWithInputSchema(g, t.Name, t.Description, t.Schema(), func(ctx *ai.ToolContext, input any) (any, error) {
			doc, err := json.Marshal(input)
			if err != nil {
				return nil, err
			}
			return t.Value(ctx, doc)
		}))
	}
	return all
}

func run(ctx context.Context, task recorder.Task) (string, error) {
	g := genkit.Init(ctx, genkit.WithPlugins(provider[os.Args[1]].plugin()))
	tools := define(g, task.Tools)
	if sub := task.Sub; sub != nil {
		schema := map[string]any{"type": "object", "properties": map[string]any{"question": map[string]any{"type": "string"}}, "required": []string{"question"}}
		theirs := define(g, sub.Tools)
		tools = append(tools, genkit.DefineToolWithInputSchema(g, sub.Name, sub.Description, schema, func(c *ai.ToolContext, input any) (any, error) {
			question, _ := input.(map[string]any)["question"].(string)
			return generate(c, g, task, sub.System, question, nil, theirs, nil)
		}))
	}
	if task.Stream {
		flow := genkit.DefineStreamingFlow(g, "assistant", func(ctx context.Context, user string, send func(context.Context, string) error) (string, error) {
			return generate(ctx, g, task, task.System, user, task.History, tools, func(ctx context.Context, c *ai.ModelResponseChunk) error { return send(ctx, c.Text()) })
		})
		said := ""
		for chunk, err := range flow.Stream(ctx, task.User) {
			if err != nil {
				return "", err
			}
			if chunk.Done {
				said = chunk.Output
			}
		}
		return said, nil
	}
	return genkit.DefineFlow(g, "assistant", func(ctx context.Context, user string) (string, error) {
		return generate(ctx, g, task, task.System, user, task.History, tools, nil)
	}).Run(ctx, task.User)
}

func main() {
	spans := recorder.Provider("genkit-agent")
	recorder.Main("genkit-go14-"+os.Args[1], provider[os.Args[1]].model, run, func() { _ = spans.ForceFlush(context.Background()) })
}
