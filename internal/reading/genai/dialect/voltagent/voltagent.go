// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package voltagent reads VoltAgent.
package voltagent

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads VoltAgent: an agent span with tool, llm and memory spans below. One llm span stands for a
// whole loop of model calls; what the model asked for in between is in the tool spans, and in the messages
// that memory spans saved.
var Dialect = &dialect.Dialect{
	ID:            "voltagent",
	Name:          "VoltAgent",
	ScopePrefixes: []string{"@voltagent/"},
	Marks:         []string{"voltagent."},
	Root:          "the agent's span (`entity.type` = `agent`, no `span.type`)",
	Rooted:        true,
	Switch:        "on by default",
	Classify:      classifyVoltAgent,
	Read:          readVoltAgent,
}

func classifyVoltAgent(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	name := s.Span.Name()
	switch a.Text("span.type") {
	case "llm":
		return dialect.Model, false
	case "tool":
		return dialect.Tool, false
	case "agent", "workflow":
		return dialect.Agent, true
	case "retriever":
		return dialect.Retrieval, false
	case "memory":
		if written(a).IsAbsent() {
			return dialect.Noise, false
		}
		return dialect.Structure, false // the conversation as it was saved
	case "embedding", "vector", "guardrail", "summary":
		return dialect.Noise, false
	case "":
		switch {
		case strings.HasPrefix(name, "tool.execution:"):
			return dialect.Tool, false
		case strings.HasPrefix(name, "llm:"):
			return dialect.Model, false
		}
		switch a.Text("entity.type") {
		case "agent", "workflow":
			return dialect.Agent, true
		}
		return dialect.Unclassified, false
	default:
		return dialect.Structure, false
	}
}

// written returns the message that a memory span saved, absent where it saved none of the assistant.
func written(a decode.Attributes) exactjson.Value {
	if a.Text("memory.operation") != "write" {
		return exactjson.Value{}
	}
	input, _ := decode.Structure(a.JSON("input"))
	if message := input.Get("message"); message.Get("role").Str() == string(tape.RoleAssistant) {
		return message
	}
	return exactjson.Value{}
}

func readVoltAgent(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	o.ConversationID = a.Text("voltagent.conversation_id", "conversation.id")
	o.InvocationID = a.Text("voltagent.operation_id", "operation.id")
	o.UserID = a.Text("user.id")
	switch o.Class {
	case dialect.Agent:
		o.Agent = tape.Agent{Name: a.Text("subagent.name", "entity.name"), ID: a.Text("subagent.id", "entity.id")}
		if name := decode.NameAfter(s.Span.Name(), "subagent:"); name != "" {
			o.Agent.Name = name
		}
		if system := a.Text("agent.instructions"); system != "" {
			o.System = []decode.Part{decode.TextPart(system)}
		}
		o.InputData, o.OutputData = decode.Content{Value: a.JSON("input")}, decode.Content{Value: a.JSON("output")}
		if o.Input, _ = decode.Messages(o.InputData.Value, tape.RoleUser); len(o.Input) == 0 {
			o.Input, _ = decode.Messages(a.JSON("agent.messages"), tape.RoleUser)
		}
		if text := o.OutputData.Value; text.Kind() == exactjson.String && text.Str() != "" {
			o.Output = []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart(text.Str())}}}
		}
		switch a.Text("agent.state") {
		case "failed", "error", "cancelled":
			o.Failed = true
		}
	case dialect.Model:
		readVoltAgentModel(a, o)
	case dialect.Tool:
		o.Name = a.Text("tool.name")
		decode.FillString(&o.Name, decode.NameAfter(s.Span.Name(), "tool.execution:"))
		o.CallID = decode.UsableID(a.Text("tool.call.id"))
		o.ToolKind = tape.ToolFunction
		if v := a.JSON("input"); !v.IsAbsent() {
			o.Args = decode.Args(v)
		}
		if v := a.JSON("output"); !v.IsAbsent() {
			u := decode.UnwrapResult(decode.StructuredResult(v))
			o.Result, o.Failed = u.Content, u.IsError
		}
		if a.Has("error.message") {
			o.Failed = true
		}
	case dialect.Retrieval:
		o.Name = a.Text("retriever.name", "entity.name")
		o.Query = decode.Content{Value: a.JSON("input")}
	case dialect.Structure:
		if message := written(a); !message.IsAbsent() {
			o.OutputData = decode.Content{Value: exactjson.ArrayValue(message)}
		}
	case dialect.Noise:
		o.NoiseReason = a.Text("span.type")
	}
}

func readVoltAgentModel(a decode.Attributes, o *dialect.Draft) {
	o.Operation = "chat"
	o.Model = a.Text("llm.model", "ai.model.name")
	o.Provider = decode.Provider(a.Text("llm.provider", "ai.model.provider"))
	o.Streaming = a.Text("llm.stream") == "true"
	o.Request, _ = decode.Messages(a.JSON("llm.messages"), tape.RoleUser)
	if output := a.JSON("output", "llm.output"); !output.IsEmpty() {
		o.Response, _ = decode.Messages(output, tape.RoleAssistant)
	}
	for _, name := range a.Texts("llm.tools") {
		o.Tools = append(o.Tools, tape.Tool{Name: name})
	}
	if reason := a.Text("llm.finish_reason"); reason != "" {
		o.FinishReasons = []string{reason}
	}
	for key, v := range a.All() {
		if name, ok := strings.CutPrefix(key, "llm."); ok {
			if canonical, ok := decode.ParamNames[name]; ok {
				o.AddParam(canonical, decode.JSONOf(v))
			}
		}
	}
	o.Usage = tape.Usage{
		InputTokens:     a.Count("llm.usage.prompt_tokens", "usage.prompt_tokens"),
		OutputTokens:    a.Count("llm.usage.completion_tokens", "usage.completion_tokens"),
		CacheReadTokens: a.Count("llm.usage.cached_tokens", "usage.cached_tokens"),
		ReasoningTokens: a.Count("llm.usage.reasoning_tokens", "usage.reasoning_tokens"),
	}
	if len(o.Tools) > 0 {
		o.AddNote(tape.CodeModelCallHidden, "response", "one span stands for every model call of the loop; only the first request is recorded")
	}
}
