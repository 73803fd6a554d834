// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// strands reads AWS Strands Agents in Python and TypeScript: invoke_agent → event loop cycles → chat and execute_tool. All content
// is in span events: Bedrock Converse blocks as JSON (the default), or operation.details events of the newer conventions. What is
// written in attributes the GenAI conventions read.
var strands = &Dialect{
	ID:            "strands",
	Name:          "AWS Strands Agents",
	Scopes:        []string{"strands", "strands-agents", "opentelemetry.instrumentation.strands"},
	ScopePrefixes: []string{"strands."},
	Root:          "the outermost `invoke_agent`, `invoke_swarm` or `invoke_graph`",
	Rooted:        true,
	Switch:        "always on",
	classify:      classifyStrands,
	read:          readStrands,
}

func classifyStrands(s *Source) (Class, bool) {
	name := s.Span.Name()
	first, _, _ := strings.Cut(name, " ")
	switch op := attributes(s.Span.Attributes()).str("gen_ai.operation.name"); {
	case op == "chat", first == "chat", name == "Model invoke":
		return Model, false
	case op == "execute_tool", first == "execute_tool", strings.HasPrefix(name, "Tool: "):
		return Tool, false
	case strings.HasPrefix(op, "invoke_"), strings.HasPrefix(first, "invoke_"):
		return Agent, true
	}
	return Structure, false // event loop cycles repeat what chat and tool spans say
}

func readStrands(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	var asked, answered []Message
	var args, result Content
	for _, e := range eventsOf(s) {
		switch e.name {
		case "gen_ai.system.message":
			list(&o.System, strandsParts(e.fields.Get("content")))
		case "gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.tool.message":
			if o.Class == Tool {
				args = argsContent(e.fields.Get("content"))
				str(&o.CallID, textOfID(e.fields.Get("id")))
				continue
			}
			role := tape.RoleUser
			if e.name == "gen_ai.assistant.message" {
				role = tape.RoleAssistant
			}
			asked = append(asked, messageWith(role, "", strandsParts(e.fields.Get("content"))))
		case "gen_ai.choice":
			if o.Class == Tool {
				result = strandsResult(e.fields.First("message", "content"))
				str(&o.CallID, textOfID(e.fields.Get("id")))
				continue
			}
			answered = append(answered, Message{Role: tape.RoleAssistant, Parts: strandsParts(e.fields.First("message", "content")), FinishReason: e.fields.Get("finish_reason").Str()})
		case "gen_ai.client.inference.operation.details":
			list(&o.System, systemOf(e.fields.Get("gen_ai.system_instructions")))
			if o.Class == Tool {
				strandsToolMessages(e.fields.Get("gen_ai.input.messages"), &args, &result, o)
				strandsToolMessages(e.fields.Get("gen_ai.output.messages"), &args, &result, o)
				continue
			}
			input, _ := messagesOf(e.fields.Get("gen_ai.input.messages"), tape.RoleUser)
			output, _ := messagesOf(e.fields.Get("gen_ai.output.messages"), tape.RoleAssistant)
			asked, answered = append(asked, input...), append(answered, output...)
		}
	}
	strandsResults(asked)
	switch o.Class {
	case Agent:
		o.Agent = tape.Agent{Name: a.str("gen_ai.agent.name", "agent.name"), ID: a.str("gen_ai.agent.id")}
		str(&o.Agent.Name, nameAfter(s.Span.Name(), "invoke_agent ", "invoke_swarm ", "invoke_graph "))
		if system := a.str("system_prompt"); system != "" && len(o.System) == 0 {
			if v, err := exactjson.Parse(system); err == nil && v.Kind() == exactjson.String {
				system = v.Str() // the TypeScript SDK writes it JSON-encoded
			}
			o.System = strandsParts(exactjson.StringValue(system))
		}
		o.Input, o.Output = asked, oneTurn(answered)
	case Model:
		o.Operation = "chat"
		o.Request, o.Response = asked, oneTurn(answered)
		for _, m := range o.Response {
			if m.FinishReason != "" && !a.has("gen_ai.response.finish_reasons") {
				o.FinishReasons = []string{m.FinishReason}
			}
		}
		if len(o.Request) == 0 { // before 0.1.7 messages were flattened attributes
			o.Request, _ = messagesOf(a.unflatten("gen_ai.prompt."), tape.RoleUser)
			o.Response = oneTurn(strandsCompletion(a))
		}
	case Tool:
		o.Name = a.str("gen_ai.tool.name", "tool.name")
		str(&o.Name, nameAfter(s.Span.Name(), "execute_tool ", "Tool: "))
		str(&o.CallID, usableID(a.str("gen_ai.tool.call.id", "tool.id")))
		o.ToolKind = tape.ToolFunction
		o.Args, o.Result = args, result
		if v := a.json("tool.parameters"); !o.Args.Present() && !v.IsAbsent() {
			o.Args = argsContent(v)
		}
		if v := a.json("tool.result"); !o.Result.Present() && !v.IsAbsent() {
			o.Result = strandsResult(v)
		}
		o.Failed = a.str("gen_ai.tool.status", "tool.status") == "error"
	}
}

// strandsParts reads content blocks; a text that is no list of blocks is what was said.
func strandsParts(v exactjson.Value) []Part {
	if blocks, ok := structureOf(v); ok && blocks.Kind() == exactjson.Array && allObjects(blocks) {
		return partsOf(blocks)
	}
	if v.Kind() == exactjson.String && v.Str() != "" {
		p := textPart(v.Str())
		p.Label = labelOf(v.Str())
		return []Part{p}
	}
	return partsOf(v)
}

func allObjects(v exactjson.Value) bool {
	for _, m := range v.Members() {
		if m.Value.Kind() != exactjson.Object {
			return false
		}
	}
	return v.Len() > 0
}

func strandsResult(v exactjson.Value) Content {
	return strandsValue(unwrapResult(resultContent(v, false)).content)
}

// strandsValue takes off what the TypeScript SDK puts around a result that is no object: {"$value": X}.
func strandsValue(c Content) Content {
	if inner := c.Value.Get("$value"); c.Value.Len() == 1 && !inner.IsAbsent() {
		c.Value, c.Envelope = inner, append(c.Envelope, "strands.value")
	}
	return c
}

// strandsResults does the same in a message list.
func strandsResults(messages []Message) {
	for _, m := range messages {
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Type == tape.PartToolResult {
				c := strandsValue(Content{Value: p.Result, Envelope: p.Envelope})
				p.Result, p.Envelope = c.Value, c.Envelope
			}
		}
	}
}

// strandsToolMessages reads the messages of a tool span: role tool, with a call in the input and a result in the output.
func strandsToolMessages(v exactjson.Value, args, result *Content, o *Observation) {
	messages, _ := structureOf(v)
	for _, m := range messages.Members() {
		for _, p := range partsOf(m.Value.Get("parts")) {
			switch p.Type {
			case tape.PartToolCall:
				*args = Content{Value: p.Args, Text: p.ArgsText, Label: p.Label}
				str(&o.CallID, p.ID)
			case tape.PartToolResult:
				*result = strandsValue(Content{Value: p.Result, Label: p.Label, Envelope: p.Envelope})
				str(&o.CallID, p.ID)
			}
		}
	}
}

func strandsCompletion(a attributes) []Message {
	completion := a.unflatten("gen_ai.completion.")
	if completion.IsAbsent() {
		return nil
	}
	if completion.Kind() == exactjson.Array && completion.At(0).Get("role").IsAbsent() && completion.At(0).Get("content").IsAbsent() {
		return []Message{{Role: tape.RoleAssistant, Parts: strandsParts(completion)}}
	}
	messages, _ := messagesOf(completion, tape.RoleAssistant)
	return messages
}
