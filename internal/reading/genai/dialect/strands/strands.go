// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package strands reads AWS Strands Agents.
package strands

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads AWS Strands Agents in Python and TypeScript: invoke_agent → event loop cycles → chat and
// execute_tool. All content is in span events: Bedrock Converse blocks as JSON (the default), or
// operation.details events of the newer conventions. The GenAI conventions read what is written in
// attributes.
var Dialect = &dialect.Dialect{
	ID:            "strands",
	Name:          "AWS Strands Agents",
	Scopes:        []string{"strands", "strands-agents", "opentelemetry.instrumentation.strands"},
	ScopePrefixes: []string{"strands."},
	Root:          "the outermost `invoke_agent`, `invoke_swarm` or `invoke_graph`",
	Rooted:        true,
	Switch:        "always on",
	Classify:      classifyStrands,
	Read:          readStrands,
}

func classifyStrands(s *dialect.Source) (dialect.Class, bool) {
	name := s.Span.Name()
	first, _, _ := strings.Cut(name, " ")
	switch op := decode.Attributes(s.Span.Attributes()).Text("gen_ai.operation.name"); {
	case op == "chat", first == "chat", name == "Model invoke":
		return dialect.Model, false
	case op == "execute_tool", first == "execute_tool", strings.HasPrefix(name, "Tool: "):
		return dialect.Tool, false
	case strings.HasPrefix(op, "invoke_"), strings.HasPrefix(first, "invoke_"):
		return dialect.Agent, true
	}
	return dialect.Structure, false // event loop cycles repeat what chat and tool spans say
}

func readStrands(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	var asked, answered, wholeInput, wholeOutput []decode.Message
	var args, result decode.Content
	for _, e := range semconv.Events(s) {
		switch e.Name {
		case "gen_ai.system.message":
			decode.FillList(&o.System, strandsParts(e.Fields.Get("content")))
		case "gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.tool.message":
			if o.Class == dialect.Tool {
				args = decode.Args(e.Fields.Get("content"))
				decode.FillString(&o.CallID, decode.TextOfID(e.Fields.Get("id")))
				continue
			}
			role := tape.RoleUser
			if e.Name == "gen_ai.assistant.message" {
				role = tape.RoleAssistant
			}
			asked = append(asked, decode.MessageWith(role, "", strandsParts(e.Fields.Get("content"))))
		case "gen_ai.choice":
			if o.Class == dialect.Tool {
				result = strandsResult(e.Fields.First("message", "content"))
				decode.FillString(&o.CallID, decode.TextOfID(e.Fields.Get("id")))
				continue
			}
			answered = append(answered, decode.Message{Role: tape.RoleAssistant, Parts: strandsParts(e.Fields.First("message", "content")), FinishReason: e.Fields.Get("finish_reason").Str()})
		case "gen_ai.client.inference.operation.details":
			decode.FillList(&o.System, decode.System(e.Fields.Get("gen_ai.system_instructions")))
			if o.Class == dialect.Tool {
				strandsToolMessages(e.Fields.Get("gen_ai.input.messages"), &args, &result, o)
				strandsToolMessages(e.Fields.Get("gen_ai.output.messages"), &args, &result, o)
				continue
			}
			input, _ := decode.Messages(e.Fields.Get("gen_ai.input.messages"), tape.RoleUser)
			output, _ := decode.Messages(e.Fields.Get("gen_ai.output.messages"), tape.RoleAssistant)
			wholeInput, wholeOutput = append(wholeInput, input...), append(wholeOutput, output...)
		}
	}
	// a record of another package names the same span, and says it all again (OpenLIT)
	decode.FillList(&asked, wholeInput)
	decode.FillList(&answered, wholeOutput)
	strandsResults(asked)
	switch o.Class {
	case dialect.Agent:
		o.Agent = tape.Agent{Name: a.Text("gen_ai.agent.name", "agent.name"), ID: a.Text("gen_ai.agent.id")}
		decode.FillString(&o.Agent.Name, decode.NameAfter(s.Span.Name(), "invoke_agent ", "invoke_swarm ", "invoke_graph "))
		if system := a.Text("system_prompt"); system != "" && len(o.System) == 0 {
			if v, err := exactjson.Parse(system); err == nil && v.Kind() == exactjson.String {
				system = v.Str() // the TypeScript SDK writes it JSON-encoded
			}
			o.System = strandsParts(exactjson.StringValue(system))
		}
		o.Input, o.Output = asked, decode.OneTurn(answered)
	case dialect.Model:
		o.Operation = "chat"
		o.Request, o.Response = asked, decode.OneTurn(answered)
		for _, m := range o.Response {
			if m.FinishReason != "" && !a.Has("gen_ai.response.finish_reasons") {
				o.FinishReasons = []string{m.FinishReason}
			}
		}
		if len(o.Request) == 0 { // before 0.1.7 messages were flattened attributes
			o.Request, _ = decode.Messages(a.Unflatten("gen_ai.prompt."), tape.RoleUser)
			o.Response = decode.OneTurn(strandsCompletion(a))
		}
	case dialect.Tool:
		o.Name = a.Text("gen_ai.tool.name", "tool.name")
		decode.FillString(&o.Name, decode.NameAfter(s.Span.Name(), "execute_tool ", "Tool: "))
		decode.FillString(&o.CallID, decode.UsableID(a.Text("gen_ai.tool.call.id", "tool.id")))
		o.ToolKind = tape.ToolFunction
		o.Args, o.Result = args, result
		if v := a.JSON("tool.parameters"); !o.Args.Present() && !v.IsAbsent() {
			o.Args = decode.Args(v)
		}
		if v := a.JSON("tool.result"); !o.Result.Present() && !v.IsAbsent() {
			o.Result = strandsResult(v)
		}
		o.Failed = a.Text("gen_ai.tool.status", "tool.status") == "error"
	}
}

// strandsParts reads content blocks. A text that is no list of blocks is what was said.
func strandsParts(v exactjson.Value) []decode.Part {
	if blocks, ok := decode.Structure(v); ok && blocks.Kind() == exactjson.Array && allObjects(blocks) {
		return decode.Parts(blocks)
	}
	if v.Kind() == exactjson.String && v.Str() != "" {
		p := decode.TextPart(v.Str())
		p.Label = decode.LabelOf(v.Str())
		return []decode.Part{p}
	}
	return decode.Parts(v)
}

func allObjects(v exactjson.Value) bool {
	for _, m := range v.Members() {
		if m.Value.Kind() != exactjson.Object {
			return false
		}
	}
	return v.Len() > 0
}

func strandsResult(v exactjson.Value) decode.Content {
	return strandsValue(decode.UnwrapResult(decode.Result(v, false)).Content)
}

// strandsValue takes off what the TypeScript SDK puts around a result that is no object: {"$value": X}.
func strandsValue(c decode.Content) decode.Content {
	if inner := c.Value.Get("$value"); c.Value.Len() == 1 && !inner.IsAbsent() {
		c.Value, c.Envelope = inner, append(c.Envelope, "strands.value")
	}
	return c
}

// strandsResults does the same in a message list.
func strandsResults(messages []decode.Message) {
	for _, m := range messages {
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Type == tape.PartToolResult {
				c := strandsValue(decode.Content{Value: p.Result, Envelope: p.Envelope})
				p.Result, p.Envelope = c.Value, c.Envelope
			}
		}
	}
}

// strandsToolMessages reads the messages of a tool span: role tool, with a call in the input and a result in
// the output.
func strandsToolMessages(v exactjson.Value, args, result *decode.Content, o *dialect.Draft) {
	messages, _ := decode.Structure(v)
	for _, m := range messages.Members() {
		for _, p := range decode.Parts(m.Value.Get("parts")) {
			switch p.Type {
			case tape.PartToolCall:
				*args = decode.Content{Value: p.Args, Text: p.ArgsText, Label: p.Label}
				decode.FillString(&o.CallID, p.ID)
			case tape.PartToolResult:
				*result = strandsValue(decode.Content{Value: p.Result, Label: p.Label, Envelope: p.Envelope})
				decode.FillString(&o.CallID, p.ID)
			}
		}
	}
}

func strandsCompletion(a decode.Attributes) []decode.Message {
	completion := a.Unflatten("gen_ai.completion.")
	if completion.IsAbsent() {
		return nil
	}
	if completion.Kind() == exactjson.Array && completion.At(0).Get("role").IsAbsent() && completion.At(0).Get("content").IsAbsent() {
		return []decode.Message{{Role: tape.RoleAssistant, Parts: strandsParts(completion)}}
	}
	messages, _ := decode.Messages(completion, tape.RoleAssistant)
	return messages
}
