// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// forge reads initializ/forge: a2a.<method> → agent.execute → llm.completion and tool.<name>. Every attribute is cut at 4 KiB, so
// message lists lose their newest messages and tool spans are the primary source of calls.
var forge = &Dialect{
	ID:       "forge",
	Name:     "Forge",
	Scopes:   []string{ForgeScope},
	Marks:    []string{"forge."},
	Root:     "`agent.execute`",
	Rooted:   true,
	Switch:   "`observability.tracing.enabled: true` and `capture_content: true` in forge.yaml, or `--otel-capture-content`",
	Events:   []string{ForgeAuditPrefix},
	log:      forgeAuditRole,
	assign:   assignForgeAudit,
	classify: classifyForge,
	read:     readForge,
}

// ForgeScope is the instrumentation scope of Forge, and the one under which the records of its audit stream travel.
const ForgeScope = "github.com/initializ/forge"

func classifyForge(s *Source) (Class, bool) {
	name := s.Span.Name()
	switch {
	case name == "agent.execute":
		return Agent, true
	case name == "llm.completion":
		return Model, false
	case strings.HasPrefix(name, "tool."):
		return Tool, false
	case strings.HasPrefix(name, "a2a."), strings.HasPrefix(name, "channel."), name == "schedule.fire":
		return Entry, false
	case strings.HasPrefix(name, "guardrail."):
		return Noise, false
	default:
		return Structure, false
	}
}

func readForge(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	defer readForgeAudit(s, o)
	if s.ScopeName == LogScope {
		return
	}
	switch o.Class {
	case Agent:
		o.Agent = tape.Agent{Name: attributes(s.Resource).str("service.name"), Version: attributes(s.Resource).str("service.version")}
		o.TaskID = a.str("forge.task.id")
		o.CorrelationID = a.str("forge.correlation_id")
		o.InvocationID = o.CorrelationID
		switch a.str("forge.task.final_state") {
		case "failed", "canceled":
			o.Failed = true
		}
		o.Inbound = &Inbound{}
		o.Extra = extras(a, "forge", "forge.task.final_state", "forge.loop.iteration")
	case Model:
		o.Operation = "chat"
		o.Model, o.Provider = a.str("gen_ai.request.model"), a.str("gen_ai.system")
		if text := a.str("gen_ai.input.messages"); text != "" {
			o.Request, o.RequestLabel = forgeMessages(text, tape.RoleUser)
		}
		if text := a.str("gen_ai.output.messages"); text != "" {
			o.Response, o.ResponseLabel = forgeMessages(text, tape.RoleAssistant)
		}
	case Tool:
		o.Name = a.str("forge.tool.name")
		str(&o.Name, strings.TrimPrefix(s.Span.Name(), "tool."))
		o.ToolKind = tape.ToolFunction
		if server, tool, ok := strings.Cut(o.Name, "__"); ok && server != "" && tool != "" {
			o.ToolKind, o.Server = tape.ToolMCP, &tape.Server{Name: server, Tool: tool}
		}
		if v := a.json("forge.tool.args"); !v.IsAbsent() {
			o.Args = forgeArgs(v)
			o.Args.scrubbed()
		}
		if v := a.json("forge.tool.result"); !v.IsAbsent() {
			o.Result = resultContent(v, false)
			o.Result.scrubbed()
		}
		if message := a.str("forge.tool.error"); message != "" {
			o.Failed, o.Error = true, &tape.Error{Message: message}
		}
	case Entry:
		o.Inbound = forgeEntry(s)
		o.WorkflowID = a.str("forge.workflow.execution.id", "forge.workflow.id")
		o.Extra = extras(a, "forge", "forge.workflow.id", "forge.workflow.stage.id", "forge.workflow.step.id", "forge.workflow.execution.id",
			"forge.channel.adapter", "forge.channel.target", "forge.schedule.id")
		str(&o.UserID, a.str("forge.channel.user_id"))
	case Noise:
		o.NoiseReason = "guardrail"
		if a.str("forge.guardrail.gate") == "input" && a.str("forge.guardrail.decision") == "masked" {
			o.Inbound = &Inbound{Guarded: true}
		}
	}
}

// forgeArgs decodes arguments, which are the text that the model wrote: JSON, or just text.
func forgeArgs(v exactjson.Value) Content {
	if _, err := exactjson.Parse(strings.TrimSpace(v.Str())); err != nil && v.Kind() == exactjson.String {
		return Content{Value: v, Text: v.Str(), Label: labelOf(v.Str())}
	}
	return argsContent(v)
}

// scrubbed labels content in which Forge replaced a secret.
func (c *Content) scrubbed() {
	if text := c.Value.Str() + c.Text; c.Label == "" && strings.Contains(text, "[REDACTED]") {
		c.Label, c.Masked = tape.Lossy, true
	}
}

// forgeMessages reads a message list that may have been cut in its middle: the complete leading messages are kept.
func forgeMessages(text string, role tape.Role) ([]Message, tape.Label) {
	if label := labelOf(text); label == tape.Truncated {
		messages, _ := messagesOf(leadingElements(text), role)
		return scrubbedMessages(messages), label
	}
	messages, ok := messagesOf(exactjson.StringValue(text), role)
	if !ok {
		return nil, tape.Lossy
	}
	return scrubbedMessages(messages), ""
}

// scrubbedMessages labels the parts in which Forge replaced a secret.
func scrubbedMessages(messages []Message) []Message {
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

// leadingElements returns the complete elements of a JSON array that was cut somewhere.
func leadingElements(text string) exactjson.Value {
	end := 0
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString:
			if c == '\\' {
				i++
			} else if c == '"' {
				inString = false
			}
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 1 && c == '}' {
				end = i + 1
			}
		}
	}
	if end == 0 || text[0] != '[' {
		return exactjson.ArrayValue()
	}
	v, err := exactjson.Parse(text[:end] + "]")
	if err != nil {
		return exactjson.ArrayValue()
	}
	return v
}

// extras copies attributes under a namespace of the tape's extensions, without the namespace in their names.
func extras(a attributes, namespace string, keys ...string) map[string][]exactjson.Member {
	var members []exactjson.Member
	for _, key := range keys {
		if v := a.json(key); !v.IsEmpty() {
			members = append(members, exactjson.Member{Name: strings.TrimPrefix(key, namespace+"."), Value: v})
		}
	}
	if members == nil {
		return nil
	}
	return map[string][]exactjson.Member{namespace: members}
}
