// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// pydanticAI reads Pydantic AI of every instrumentation version: 1 writes message events as JSON in one attribute, 2 and later the
// messages of the conventions, 3 and later also their span names.
var pydanticAI = &Dialect{
	ID:       "pydantic-ai",
	Name:     "Pydantic AI",
	Scopes:   []string{"pydantic-ai"},
	Marks:    []string{"pydantic_ai."},
	Root:     "`agent run` or `invoke_agent`",
	Switch:   "on by default; `InstrumentationSettings(include_content=True)`",
	classify: classifyPydanticAI,
	read:     readPydanticAI,
}

func isPydanticAI(s *Source) bool {
	a := attributes(s.Span.Attributes())
	return s.ScopeName == "pydantic-ai" || a.has("model_request_parameters") || a.has("pydantic_ai.all_messages") || a.has("all_messages_events")
}

func classifyPydanticAI(s *Source) (Class, bool) {
	if !isPydanticAI(s) {
		return Unclassified, false
	}
	a := attributes(s.Span.Attributes())
	name := s.Span.Name()
	switch op := a.str("gen_ai.operation.name"); {
	case strings.HasPrefix(name, "running output function"):
		return Structure, false // the answer in its structured form, which no oracle is asked for
	case op != "":
		class := operationClasses[op]
		return class, class == Agent
	case a.has("model_request_parameters"):
		return Model, false
	case strings.HasPrefix(name, "running tool:"), name == "running tool", strings.HasPrefix(name, "execute_tool "), a.has("tool_arguments"):
		return Tool, false
	case strings.HasPrefix(name, "running "):
		return Structure, false
	case strings.HasPrefix(name, "invoke_agent"), name == "agent run", strings.HasSuffix(name, " run"), a.has("final_result"), a.has("agent_name"):
		return Agent, true
	default:
		return Structure, false
	}
}

func readPydanticAI(s *Source, o *Observation) {
	if !isPydanticAI(s) {
		o.Class = Unclassified // nothing of its own here
		return
	}
	a := attributes(s.Span.Attributes())
	o.InvocationID = a.str("gen_ai.agent.call.id")
	switch o.Class {
	case Agent:
		readPydanticRun(a, o)
	case Model:
		readPydanticModel(a, o)
	case Tool:
		o.Name, o.CallID = a.str("gen_ai.tool.name"), a.str("gen_ai.tool.call.id")
		o.ToolKind = tape.ToolFunction
		if v := a.json("gen_ai.tool.call.arguments", "tool_arguments"); !v.IsAbsent() {
			o.Args = argsContent(v)
		}
		if v := a.json("gen_ai.tool.call.result", "tool_response"); !v.IsAbsent() {
			u := unwrapResult(resultContent(v, false))
			o.Result, o.Failed = u.content, u.isError
		}
		if a.str("pydantic_ai.tool.failure_stage") != "" {
			o.Failed = true
		}
	}
}

func readPydanticRun(a attributes, o *Observation) {
	o.Agent.Name = a.str("gen_ai.agent.name", "agent_name")
	o.Model = a.str("model_name")
	o.System = systemParts(a, o)
	messages, ok := messagesOf(a.json("pydantic_ai.all_messages", "gen_ai.input.messages"), tape.RoleUser)
	if !ok {
		messages = eventMessages(a.json("all_messages_events"))
	}
	// what was given to this run: the history and the new messages up to the first answer
	start := 0
	if n := a.count("pydantic_ai.new_message_index"); n != nil && *n < int64(len(messages)) {
		start = int(*n)
	}
	end := start
	for end < len(messages) && messages[end].Role != tape.RoleAssistant {
		end++
	}
	o.Input, o.Output = messages[:end], messages[end:]
	if final := a.json("final_result"); !final.IsEmpty() {
		text := final.Str()
		if final.Kind() != exactjson.String {
			text = final.JSON()
		}
		p := textPart(text)
		p.Label = labelOf(text)
		if n := len(o.Output); n == 0 || len(o.Output[n-1].Parts) != 1 || o.Output[n-1].Parts[0].Text != text {
			o.Output = append(slices.Clone(o.Output), Message{Role: tape.RoleAssistant, Parts: []Part{p}})
		}
	}
}

func readPydanticModel(a attributes, o *Observation) {
	if all := eventMessages(a.json("events")); len(all) > 0 && !a.has("gen_ai.input.messages") {
		o.Request, o.Response = splitAnswer(all)
	}
	parameters, ok := structureOf(a.json("model_request_parameters"))
	if !ok {
		return
	}
	o.Tools = append(toolDefinitions(parameters.Get("function_tools")), toolDefinitions(parameters.Get("output_tools"))...)
	for _, m := range parameters.Get("output_tools").Members() {
		if name := m.Value.Get("name").Str(); name != "" {
			o.OutputTools = append(o.OutputTools, name)
		}
	}
	if mode := parameters.Get("output_mode"); mode.Kind() == exactjson.String && mode.Str() != "text" {
		o.param("output_mode", mode)
	}
}

// eventMessages reads a list of message events that stands in one attribute. Events of one message bear its index; neighbours of the
// assistant are items of one turn.
func eventMessages(v exactjson.Value) []Message {
	list, ok := structureOf(v)
	if !ok || list.Kind() != exactjson.Array {
		return nil
	}
	var out []Message
	for _, m := range list.Members() {
		e := m.Value
		var next Message
		role := tape.RoleUser
		switch e.Get("event.name").Str() {
		case "gen_ai.choice":
			next = choiceMessage(e)
		case "gen_ai.system.message", "gen_ai.developer.message":
			role = tape.RoleSystem
			next = eventMessage(e, role)
		case "gen_ai.assistant.message":
			role = tape.RoleAssistant
			next = eventMessage(e, role)
		case "gen_ai.tool.message":
			next = eventMessage(e, tape.RoleTool)
		case "gen_ai.unknown":
			next = Message{Role: tape.RoleAssistant, Parts: []Part{dataPart(e.Get("data"))}}
			if r := e.Get("role").Str(); r != "" && r != "unknown" {
				next.Role = roleOf(r)
			}
			if e.Get("data").IsAbsent() {
				next.Parts = []Part{dataPart(e)}
			}
		case "gen_ai.user.message":
			next = eventMessage(e, role)
		default:
			continue
		}
		if n := len(out); n > 0 && next.Role == tape.RoleAssistant && out[n-1].Role == tape.RoleAssistant {
			out[n-1].Parts = append(out[n-1].Parts, next.Parts...)
			str(&out[n-1].FinishReason, next.FinishReason)
			continue
		}
		out = append(out, next)
	}
	return out
}

// splitAnswer takes the last message for the answer when it is the assistant's.
func splitAnswer(all []Message) (request, response []Message) {
	if n := len(all); n > 0 && all[n-1].Role == tape.RoleAssistant {
		return all[:n-1], all[n-1:]
	}
	return all, nil
}
