// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// voltAgent reads VoltAgent: an agent span with tool, llm and memory spans below. One llm span stands for a whole loop of model
// calls; what the model asked for in between is only in the tool spans.
var voltAgent = &Dialect{
	ID:            "voltagent",
	Name:          "VoltAgent",
	ScopePrefixes: []string{"@voltagent/"},
	Marks:         []string{"voltagent."},
	Root:          "the agent's span (`entity.type` = `agent`, no `span.type`)",
	Rooted:        true,
	Switch:        "on by default",
	classify:      classifyVoltAgent,
	read:          readVoltAgent,
}

func classifyVoltAgent(s *Source) (Class, bool) {
	a := attributes(s.Span.Attributes())
	name := s.Span.Name()
	switch a.str("span.type") {
	case "llm":
		return Model, false
	case "tool":
		return Tool, false
	case "agent", "workflow":
		return Agent, true
	case "retriever":
		return Retrieval, false
	case "memory", "embedding", "vector", "guardrail", "summary":
		return Noise, false
	case "":
		switch {
		case strings.HasPrefix(name, "tool.execution:"):
			return Tool, false
		case strings.HasPrefix(name, "llm:"):
			return Model, false
		}
		switch a.str("entity.type") {
		case "agent", "workflow":
			return Agent, true
		}
		return Unclassified, false
	default:
		return Structure, false
	}
}

func readVoltAgent(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	o.ConversationID = a.str("voltagent.conversation_id", "conversation.id")
	o.InvocationID = a.str("voltagent.operation_id", "operation.id")
	o.UserID = a.str("user.id")
	switch o.Class {
	case Agent:
		o.Agent = tape.Agent{Name: a.str("subagent.name", "entity.name"), ID: a.str("subagent.id", "entity.id")}
		if name := nameAfter(s.Span.Name(), "subagent:"); name != "" {
			o.Agent.Name = name
		}
		if system := a.str("agent.instructions"); system != "" {
			o.System = []Part{textPart(system)}
		}
		o.InputData, o.OutputData = Content{Value: a.json("input")}, Content{Value: a.json("output")}
		if o.Input, _ = messagesOf(o.InputData.Value, tape.RoleUser); len(o.Input) == 0 {
			o.Input, _ = messagesOf(a.json("agent.messages"), tape.RoleUser)
		}
		if text := o.OutputData.Value; text.Kind() == exactjson.String && text.Str() != "" {
			o.Output = []Message{{Role: tape.RoleAssistant, Parts: []Part{textPart(text.Str())}}}
		}
		switch a.str("agent.state") {
		case "failed", "error", "cancelled":
			o.Failed = true
		}
	case Model:
		readVoltAgentModel(a, o)
	case Tool:
		o.Name = a.str("tool.name")
		str(&o.Name, nameAfter(s.Span.Name(), "tool.execution:"))
		o.CallID = usableID(a.str("tool.call.id"))
		o.ToolKind = tape.ToolFunction
		if v := a.json("input"); !v.IsAbsent() {
			o.Args = argsContent(v)
		}
		if v := a.json("output"); !v.IsAbsent() {
			u := unwrapResult(structuredResult(v))
			o.Result, o.Failed = u.content, u.isError
		}
		if a.has("error.message") {
			o.Failed = true
		}
	case Retrieval:
		o.Name = a.str("retriever.name", "entity.name")
		o.Query = Content{Value: a.json("input")}
	case Noise:
		o.NoiseReason = a.str("span.type")
	}
}

func readVoltAgentModel(a attributes, o *Observation) {
	o.Operation = "chat"
	o.Model = a.str("llm.model", "ai.model.name")
	o.Provider = providerOf(a.str("llm.provider", "ai.model.provider"))
	o.Streaming = a.str("llm.stream") == "true"
	o.Request, _ = messagesOf(a.json("llm.messages"), tape.RoleUser)
	if output := a.json("output", "llm.output"); !output.IsEmpty() {
		o.Response, _ = messagesOf(output, tape.RoleAssistant)
	}
	for _, name := range a.strings("llm.tools") {
		o.Tools = append(o.Tools, tape.Tool{Name: name})
	}
	if reason := a.str("llm.finish_reason"); reason != "" {
		o.FinishReasons = []string{reason}
	}
	for key, v := range a.all() {
		if name, ok := strings.CutPrefix(key, "llm."); ok {
			if canonical, ok := paramNames[name]; ok {
				o.param(canonical, jsonOf(v))
			}
		}
	}
	o.Usage = tape.Usage{
		InputTokens:     a.count("llm.usage.prompt_tokens", "usage.prompt_tokens"),
		OutputTokens:    a.count("llm.usage.completion_tokens", "usage.completion_tokens"),
		CacheReadTokens: a.count("llm.usage.cached_tokens", "usage.cached_tokens"),
		ReasoningTokens: a.count("llm.usage.reasoning_tokens", "usage.reasoning_tokens"),
	}
	if len(o.Tools) > 0 {
		o.note(tape.CodeModelCallHidden, "response", "one span stands for every model call of the loop; only the first request is recorded")
	}
}
