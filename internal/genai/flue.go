// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// flue reads Flue: workflows and tasks that run agents, turns that call a model, tools.
var flue = &Dialect{
	ID:       "flue",
	Name:     "Flue",
	Scopes:   []string{"@flue/opentelemetry"},
	Marks:    []string{"flue."},
	Root:     "the outermost workflow or task",
	Switch:   "`captureContent` of the OpenTelemetry integration",
	classify: classifyFlue,
	read:     readFlue,
}

func classifyFlue(s *Source) (Class, bool) {
	a := attributes(s.Span.Attributes())
	switch {
	case a.has("flue.tool.name"), a.has("flue.tool.call_id"):
		return Tool, false
	case a.has("flue.turn.input"), a.has("flue.turn.output"), a.has("flue.turn.id"):
		return Model, false
	case a.has("flue.task.prompt"), a.has("flue.task.agent"), a.has("flue.workflow.payload"), a.has("flue.workflow.name"):
		return Agent, true
	}
	return Unclassified, false
}

func readFlue(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	o.ConversationID = a.str("flue.session.id", "flue.conversation.id")
	switch o.Class {
	case Agent:
		o.Agent.Name = a.str("flue.task.agent", "flue.agent.name", "flue.workflow.name")
		o.InputData = Content{Value: a.json("flue.task.prompt", "flue.workflow.payload")}
		o.OutputData = Content{Value: a.json("flue.task.result", "flue.workflow.result")}
		if prompt := a.str("flue.task.prompt"); prompt != "" {
			o.Input, _ = messagesOf(exactjson.StringValue(prompt), tape.RoleUser)
		}
		if result := a.str("flue.task.result"); result != "" {
			o.Output, _ = messagesOf(exactjson.StringValue(result), tape.RoleAssistant)
		}
	case Model:
		o.Operation = "chat"
		o.Model, o.Provider = a.str("flue.turn.model", "flue.model"), providerOf(a.str("flue.turn.provider", "flue.provider"))
		input, _ := structureOf(a.json("flue.turn.input"))
		o.System = systemOf(input.First("systemPrompt", "system"))
		o.Tools = toolDefinitions(input.Get("tools"))
		o.Request, _ = messagesOf(a.json("flue.turn.input"), tape.RoleUser)
		o.Response, _ = messagesOf(a.json("flue.turn.output"), tape.RoleAssistant)
		o.Response = oneTurn(o.Response)
	case Tool:
		o.Name = a.str("flue.tool.name")
		o.CallID = usableID(a.str("flue.tool.call_id"))
		o.ToolKind = tape.ToolFunction
		if v := a.json("flue.tool.arguments"); !v.IsAbsent() {
			o.Args = argsContent(v)
		}
		if v := a.json("flue.tool.result"); !v.IsAbsent() {
			u := unwrapResult(structuredResult(v))
			o.Result, o.Failed = u.content, u.isError
		}
	}
}
