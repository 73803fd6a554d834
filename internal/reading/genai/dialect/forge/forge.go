// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package forge holds everything of Forge (github.com/initializ/forge): its spans, the records of its audit
// stream, how records join spans, and the headers of inbound requests. Package audit below reads the stream
// itself.
package forge

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads initializ/forge: a2a.<method> → agent.execute → llm.completion and tool.<name>. Every
// attribute is cut at 4 KiB, so message lists lose their newest messages and tool spans are the primary
// source of calls.
var Dialect = &dialect.Dialect{
	ID:       "forge",
	Name:     "Forge",
	Scopes:   []string{Scope},
	Marks:    []string{"forge."},
	Root:     "`agent.execute`",
	Rooted:   true,
	Switch:   "`observability.tracing.enabled: true` and `capture_content: true` in forge.yaml, or `--otel-capture-content`",
	Records:  dialect.Records{Events: []string{AuditPrefix}, Log: forgeAuditRole, Assign: assignForgeAudit},
	Classify: classifyForge,
	Read:     readForge,
}

// Scope is the instrumentation scope of Forge, and the one under which the records of its audit stream
// travel.
const Scope = "github.com/initializ/forge"

func classifyForge(s *dialect.Source) (dialect.Class, bool) {
	name := s.Span.Name()
	switch {
	case name == "agent.execute":
		return dialect.Agent, true
	case name == "llm.completion":
		return dialect.Model, false
	case strings.HasPrefix(name, "tool."):
		return dialect.Tool, false
	case strings.HasPrefix(name, "a2a."), strings.HasPrefix(name, "channel."), name == "schedule.fire":
		return dialect.Entry, false
	case strings.HasPrefix(name, "guardrail."):
		return dialect.Noise, false
	default:
		return dialect.Structure, false
	}
}

func readForge(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	defer readForgeAudit(s, o)
	if s.ScopeName == dialect.LogScope {
		return
	}
	switch o.Class {
	case dialect.Agent:
		o.Agent = tape.Agent{Name: decode.Attributes(s.Resource).Text("service.name"), Version: decode.Attributes(s.Resource).Text("service.version")}
		o.TaskID = a.Text("forge.task.id")
		o.CorrelationID = a.Text("forge.correlation_id")
		o.InvocationID = o.CorrelationID
		switch a.Text("forge.task.final_state") {
		case "failed", "canceled":
			o.Failed = true
		}
		o.Inbound = &dialect.Inbound{}
		o.Extra = decode.Extras(a, "forge", "forge.task.final_state", "forge.loop.iteration")
	case dialect.Model:
		o.Operation = "chat"
		o.Model, o.Provider = a.Text("gen_ai.request.model"), a.Text("gen_ai.system")
		if text := a.Text("gen_ai.input.messages"); text != "" {
			o.Request, o.RequestLabel = forgeMessages(text, tape.RoleUser)
		}
		if text := a.Text("gen_ai.output.messages"); text != "" {
			o.Response, o.ResponseLabel = forgeMessages(text, tape.RoleAssistant)
		}
	case dialect.Tool:
		o.Name = a.Text("forge.tool.name")
		decode.FillString(&o.Name, strings.TrimPrefix(s.Span.Name(), "tool."))
		o.ToolKind = tape.ToolFunction
		if server, tool, ok := strings.Cut(o.Name, "__"); ok && server != "" && tool != "" {
			o.ToolKind, o.Server = tape.ToolMCP, &tape.Server{Name: server, Tool: tool}
		}
		if v := a.JSON("forge.tool.args"); !v.IsAbsent() {
			o.Args = forgeArgs(v)
			o.Args.LabelMasked()
		}
		if v := a.JSON("forge.tool.result"); !v.IsAbsent() {
			o.Result = decode.Result(v, false)
			o.Result.LabelMasked()
		}
		if message := a.Text("forge.tool.error"); message != "" {
			o.Failed, o.Error = true, &tape.Error{Message: message}
		}
	case dialect.Entry:
		o.Inbound = forgeEntry(s)
		o.WorkflowID = a.Text("forge.workflow.execution.id", "forge.workflow.id")
		o.Extra = decode.Extras(a, "forge", "forge.workflow.id", "forge.workflow.stage.id", "forge.workflow.step.id", "forge.workflow.execution.id",
			"forge.channel.adapter", "forge.channel.target", "forge.schedule.id")
		decode.FillString(&o.UserID, a.Text("forge.channel.user_id"))
	case dialect.Noise:
		o.NoiseReason = "guardrail"
		if a.Text("forge.guardrail.gate") == "input" && a.Text("forge.guardrail.decision") == "masked" {
			o.Inbound = &dialect.Inbound{Guarded: true}
		}
	}
}

// forgeArgs decodes arguments, which are the text that the model wrote: JSON, or just text.
func forgeArgs(v exactjson.Value) decode.Content {
	if _, err := exactjson.Parse(strings.TrimSpace(v.Str())); err != nil && v.Kind() == exactjson.String {
		return decode.Content{Value: v, Text: v.Str(), Label: decode.LabelOf(v.Str())}
	}
	return decode.Args(v)
}

// forgeMessages reads a message list that may have been cut in its middle: the complete leading messages are
// kept.
func forgeMessages(text string, role tape.Role) ([]decode.Message, tape.Label) {
	if label := decode.LabelOf(text); label == tape.Truncated {
		messages, _ := decode.Messages(decode.LeadingElements(text), role)
		return scrubbedMessages(messages), label
	}
	messages, ok := decode.Messages(exactjson.StringValue(text), role)
	if !ok {
		return nil, tape.Lossy
	}
	return scrubbedMessages(messages), ""
}

// scrubbedMessages labels the parts in which Forge replaced a secret.
func scrubbedMessages(messages []decode.Message) []decode.Message {
	for _, m := range messages {
		for i := range m.Parts {
			p := &m.Parts[i]
			if p.Label == "" && (strings.Contains(p.Text, "[REDACTED]") || strings.Contains(p.Args.JSON(), "[REDACTED]") || strings.Contains(p.Result.JSON(), "[REDACTED]")) {
				p.Label, p.Masked = tape.Lossy, true
			}
		}
	}
	return messages
}
