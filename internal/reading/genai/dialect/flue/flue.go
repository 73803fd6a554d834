// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package flue reads Flue.
package flue

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads Flue: workflows and tasks that run agents, turns that call a model, tools.
var Dialect = &dialect.Dialect{
	ID:       "flue",
	Name:     "Flue",
	Scopes:   []string{"@flue/opentelemetry"},
	Marks:    []string{"flue."},
	Root:     "the outermost workflow or task",
	Switch:   "`captureContent` of the OpenTelemetry integration",
	Classify: classifyFlue,
	Read:     readFlue,
}

func classifyFlue(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	switch {
	case a.Has("flue.tool.name"), a.Has("flue.tool.call_id"):
		return dialect.Tool, false
	case a.Has("flue.turn.input"), a.Has("flue.turn.output"), a.Has("flue.turn.id"):
		return dialect.Model, false
	case a.Has("flue.task.prompt"), a.Has("flue.task.agent"), a.Has("flue.workflow.payload"), a.Has("flue.workflow.name"):
		return dialect.Agent, true
	}
	return dialect.Unclassified, false
}

func readFlue(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	o.ConversationID = a.Text("flue.session.id", "flue.conversation.id")
	switch o.Class {
	case dialect.Agent:
		o.Agent.Name = a.Text("flue.task.agent", "flue.agent.name", "flue.workflow.name")
		o.InputData = decode.Content{Value: a.JSON("flue.task.prompt", "flue.workflow.payload")}
		o.OutputData = decode.Content{Value: a.JSON("flue.task.result", "flue.workflow.result")}
		if prompt := a.Text("flue.task.prompt"); prompt != "" {
			o.Input, _ = decode.Messages(exactjson.StringValue(prompt), tape.RoleUser)
		}
		if result := a.Text("flue.task.result"); result != "" {
			o.Output, _ = decode.Messages(exactjson.StringValue(result), tape.RoleAssistant)
		}
	case dialect.Model:
		o.Operation = "chat"
		o.Model, o.Provider = a.Text("flue.turn.model", "flue.model"), decode.Provider(a.Text("flue.turn.provider", "flue.provider"))
		input, _ := decode.Structure(a.JSON("flue.turn.input"))
		o.System = decode.System(input.First("systemPrompt", "system"))
		o.Tools = decode.ToolDefinitions(input.Get("tools"))
		o.Request, _ = decode.Messages(a.JSON("flue.turn.input"), tape.RoleUser)
		o.Response, _ = decode.Messages(a.JSON("flue.turn.output"), tape.RoleAssistant)
		o.Response = decode.OneTurn(o.Response)
	case dialect.Tool:
		o.Name = a.Text("flue.tool.name")
		o.CallID = decode.UsableID(a.Text("flue.tool.call_id"))
		o.ToolKind = tape.ToolFunction
		if v := a.JSON("flue.tool.arguments"); !v.IsAbsent() {
			o.Args = decode.Args(v)
		}
		if v := a.JSON("flue.tool.result"); !v.IsAbsent() {
			u := decode.UnwrapResult(decode.StructuredResult(v))
			o.Result, o.Failed = u.Content, u.IsError
		}
	}
}
