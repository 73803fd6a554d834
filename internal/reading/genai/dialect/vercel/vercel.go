// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package vercel reads the Vercel AI SDK: its own spans and its GenAI mode.
package vercel

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/tape"
)

// AI reads the Vercel AI SDK's own spans (v3 to v6, and v7 in legacy mode): an operation span, its
// .doGenerate or .doStream steps, and ai.toolCall.
var AI = &dialect.Dialect{
	ID:       "vercel-ai",
	Name:     "Vercel AI SDK (ai.*)",
	Scopes:   []string{"ai"},
	Marks:    []string{"ai.operationId", "ai.toolCall.", "ai.prompt", "ai.response.", "ai.result.", "ai.model.", "ai.settings.", "ai.telemetry.", "ai.usage.", "ai.stream."},
	Root:     "the operation span (`ai.generateText`, `ai.streamText`, `ai.generateObject`, `ai.streamObject`)",
	Rooted:   true,
	Encoded:  true,
	Switch:   "`experimental_telemetry: { isEnabled: true, recordInputs: true, recordOutputs: true }`",
	Classify: classifyVercel,
	Read:     readVercel,
}

func vercelOperation(s *dialect.Source) string {
	if op := decode.Attributes(s.Span.Attributes()).Text("ai.operationId"); op != "" {
		return op
	}
	name, _, _ := strings.Cut(s.Span.Name(), " ")
	if strings.HasPrefix(name, "ai.") {
		return name
	}
	return ""
}

func classifyVercel(s *dialect.Source) (dialect.Class, bool) {
	switch op := vercelOperation(s); {
	case op == "ai.toolCall":
		return dialect.Tool, false
	case strings.HasSuffix(op, ".doGenerate"), strings.HasSuffix(op, ".doStream"):
		return dialect.Model, false
	case strings.HasPrefix(op, "ai.embed"), strings.HasPrefix(op, "ai.rerank"):
		return dialect.Noise, false
	case strings.HasPrefix(op, "ai.generate"), strings.HasPrefix(op, "ai.stream"):
		return dialect.Agent, true
	default:
		return dialect.Unclassified, false
	}
}

func readVercel(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	decode.FillString(&o.ConversationID, a.Text("ai.settings.context.sessionId", "ai.settings.context.session_id"))
	o.Quirks.Add(dialect.LendsStatus, lentStatus(s, a))
	switch o.Class {
	case dialect.Agent:
		o.Agent.Name = a.Text("ai.telemetry.functionId", "resource.name")
		if prompt, ok := decode.Structure(a.JSON("ai.prompt")); ok {
			if system := prompt.First("system", "instructions"); !system.IsEmpty() {
				o.System = decode.Parts(system)
			}
			for _, key := range []string{"messages", "prompt"} {
				if messages, ok := decode.Messages(prompt.Get(key), tape.RoleUser); ok {
					o.Input = messages
					break
				}
			}
		}
		if response, ok := vercelResponse(a); ok {
			o.Output = []decode.Message{response}
		}
	case dialect.Model:
		readVercelModel(a, o)
	case dialect.Tool:
		o.Name = a.Text("ai.toolCall.name")
		o.CallID = decode.UsableID(a.Text("ai.toolCall.id"))
		o.ToolKind = tape.ToolFunction
		if v := a.JSON("ai.toolCall.args", "ai.toolCall.input"); !v.IsAbsent() {
			o.Args = decode.Args(v)
		}
		if v := a.JSON("ai.toolCall.result", "ai.toolCall.output"); !v.IsAbsent() {
			o.Result = decode.Result(v, true)
		}
	case dialect.Noise:
		o.NoiseReason = "embedding"
	}
}

// lentStatus reports a span whose status tells the failure of another span. The SDK records the exception
// that leaves a span beside the status, and writes the outcome of a span only where none left it.
// OpenInference's processor gives every span that ends after the first failure of its trace the status of
// that failure, under line 2 of OpenTelemetry's SDK.
func lentStatus(s *dialect.Source, a decode.Attributes) bool {
	status := s.Span.Status()
	if s.ScopeName != "ai" || status.Code() != ptrace.StatusCodeError || status.Message() == "" || s.Span.DroppedEventsCount() > 0 {
		return false
	}
	for _, e := range s.Span.Events().All() {
		if e.Name() == "exception" {
			return false
		}
	}
	reason := a.Text("ai.response.finishReason")
	return reason != "" && reason != "error" || a.Text("ai.toolCall.result") != ""
}

func readVercelModel(a decode.Attributes, o *dialect.Draft) {
	o.Operation = "chat"
	o.Streaming = strings.HasSuffix(a.Text("ai.operationId"), ".doStream")
	o.Model = a.Text("ai.model.id")
	o.Provider, _, _ = strings.Cut(a.Text("ai.model.provider"), ".")
	o.Request, _ = decode.Messages(a.JSON("ai.prompt.messages"), tape.RoleUser)
	if len(o.Request) == 0 {
		if prompt, ok := decode.Structure(a.JSON("ai.prompt")); ok {
			o.Request, _ = decode.Messages(prompt.First("messages", "prompt"), tape.RoleUser)
		}
	}
	if response, ok := vercelResponse(a); ok {
		o.Response = []decode.Message{response}
	}
	o.Tools = decode.ToolDefinitions(a.JSON("ai.prompt.tools"))
	o.ResponseID, o.ResponseModel = a.Text("ai.response.id"), a.Text("ai.response.model")
	if reason := a.Text("ai.response.finishReason"); reason != "" {
		o.FinishReasons = []string{reason}
	}
	for key, v := range a.All() {
		if name, ok := strings.CutPrefix(key, "ai.settings."); ok {
			if canonical, ok := decode.ParamNames[name]; ok {
				o.AddParam(canonical, decode.JSONOf(v))
			}
		}
	}
	if v, ok := decode.Structure(a.JSON("ai.prompt.toolChoice")); ok {
		o.AddParam("tool_choice", v)
	}
	o.Usage = tape.Usage{
		InputTokens:      a.Count("ai.usage.inputTokens", "ai.usage.promptTokens"),
		OutputTokens:     a.Count("ai.usage.outputTokens", "ai.usage.completionTokens"),
		CacheReadTokens:  a.Count("ai.usage.inputTokenDetails.cacheReadTokens", "ai.usage.cachedInputTokens"),
		CacheWriteTokens: a.Count("ai.usage.inputTokenDetails.cacheWriteTokens"),
		ReasoningTokens:  a.Count("ai.usage.outputTokenDetails.reasoningTokens", "ai.usage.reasoningTokens"),
	}
	if o.Usage.CacheReadTokens != nil {
		inclusive := true
		o.Usage.InputIncludesCache = &inclusive
	}
}

// vercelResponse builds the message that an operation or step answered with.
func vercelResponse(a decode.Attributes) (decode.Message, bool) {
	m := decode.Message{Role: tape.RoleAssistant}
	if reasoning := a.Text("ai.response.reasoning", "ai.result.reasoning"); reasoning != "" {
		text := reasoning
		if parts, ok := decode.ParseStructure(reasoning); ok {
			text = ""
			for _, p := range parts.Members() {
				text += p.Value.First("text", "reasoning").Str()
			}
		}
		m.Parts = append(m.Parts, decode.Part{Part: tape.Part{Type: tape.PartReasoning, Text: text}})
	}
	if text := a.Text("ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object"); text != "" {
		p := decode.TextPart(text)
		p.Label = decode.LabelOf(text)
		m.Parts = append(m.Parts, p)
	}
	if calls, ok := decode.Structure(a.JSON("ai.response.toolCalls", "ai.result.toolCalls")); ok {
		for _, call := range calls.Members() {
			m.Parts = append(m.Parts, decode.ToolCallPart(call.Value))
		}
	}
	return m, len(m.Parts) > 0
}

// GenAI is the AI SDK v7 in its GenAI mode: the conventions, with every tool result JSON-encoded.
var GenAI = &dialect.Dialect{
	ID:       "vercel-ai-genai",
	Name:     "Vercel AI SDK v7 (gen_ai)",
	Scopes:   []string{"gen_ai"},
	Rooted:   true,
	Root:     "`invoke_agent`",
	Encoded:  true,
	Switch:   "`recordInputs` and `recordOutputs` of the telemetry integration",
	Classify: semconv.Classify,
	Read:     func(s *dialect.Source, o *dialect.Draft) { semconv.Read(s, o, true) },
}
