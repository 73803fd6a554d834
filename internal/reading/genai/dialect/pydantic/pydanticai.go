// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package pydantic reads Pydantic AI and Logfire.
package pydantic

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// AI reads Pydantic AI of every instrumentation version. Version 1 writes message events as JSON in one
// attribute. Versions 2 and later write the messages of the conventions, 3 and later also their span names.
var AI = &dialect.Dialect{
	ID:       "pydantic-ai",
	Name:     "Pydantic AI",
	Scopes:   []string{"pydantic-ai"},
	Marks:    []string{"pydantic_ai."},
	Root:     "`agent run` or `invoke_agent`",
	Switch:   "on by default; `InstrumentationSettings(include_content=True)`",
	Classify: classifyPydanticAI,
	Read:     readPydanticAI,
}

func isPydanticAI(s *dialect.Source) bool {
	a := decode.Attributes(s.Span.Attributes())
	return s.ScopeName == "pydantic-ai" || a.Has("model_request_parameters") || a.Has("pydantic_ai.all_messages") || a.Has("all_messages_events")
}

func classifyPydanticAI(s *dialect.Source) (dialect.Class, bool) {
	if !isPydanticAI(s) {
		return dialect.Unclassified, false
	}
	a := decode.Attributes(s.Span.Attributes())
	name := s.Span.Name()
	switch op := a.Text("gen_ai.operation.name"); {
	case strings.HasPrefix(name, "running output function"):
		return dialect.Structure, false // the answer in its structured form, which no oracle is asked for
	case op != "":
		class := semconv.OperationClasses[op]
		return class, class == dialect.Agent
	case a.Has("model_request_parameters"):
		return dialect.Model, false
	case strings.HasPrefix(name, "running tool:"), name == "running tool", strings.HasPrefix(name, "execute_tool "), a.Has("tool_arguments"):
		return dialect.Tool, false
	case strings.HasPrefix(name, "running "):
		return dialect.Structure, false
	case strings.HasPrefix(name, "invoke_agent"), name == "agent run", strings.HasSuffix(name, " run"), a.Has("final_result"), a.Has("agent_name"):
		return dialect.Agent, true
	case a.Has("gen_ai.request.model"):
		// a package that writes names of its own left the operation out (Respan)
		return dialect.Model, false
	default:
		return dialect.Structure, false
	}
}

func readPydanticAI(s *dialect.Source, o *dialect.Draft) {
	if !isPydanticAI(s) {
		o.Class = dialect.Unclassified // nothing of its own here
		return
	}
	a := decode.Attributes(s.Span.Attributes())
	o.InvocationID = a.Text("gen_ai.agent.call.id")
	switch o.Class {
	case dialect.Agent:
		readPydanticRun(a, o)
	case dialect.Model:
		readPydanticModel(a, o)
	case dialect.Tool:
		o.Name, o.CallID = a.Text("gen_ai.tool.name"), a.Text("gen_ai.tool.call.id")
		o.ToolKind = tape.ToolFunction
		if v := a.JSON("gen_ai.tool.call.arguments", "tool_arguments"); !v.IsAbsent() {
			o.Args = decode.Args(v)
		}
		if v := a.JSON("gen_ai.tool.call.result", "tool_response"); !v.IsAbsent() {
			u := decode.UnwrapResult(decode.Result(v, false))
			o.Result, o.Failed = u.Content, u.IsError
		}
		if a.Text("pydantic_ai.tool.failure_stage") != "" {
			o.Failed = true
		}
		o.Waiting = decode.PauseBy(a.Text("pydantic_ai.tool.deferral.name"))
	}
}

func readPydanticRun(a decode.Attributes, o *dialect.Draft) {
	o.Agent.Name = a.Text("gen_ai.agent.name", "agent_name")
	o.Model = a.Text("model_name")
	o.System = semconv.System(a, o)
	messages, ok := decode.Messages(a.JSON("pydantic_ai.all_messages", "gen_ai.input.messages"), tape.RoleUser)
	if !ok {
		messages = eventMessages(a.JSON("all_messages_events"))
	}
	// what was given to this run: the history and the new messages up to the first answer
	start := 0
	if n := a.Count("pydantic_ai.new_message_index"); n != nil && *n < int64(len(messages)) {
		start = int(*n)
	}
	end := start
	for end < len(messages) && messages[end].Role != tape.RoleAssistant {
		end++
	}
	o.Input, o.Output = messages[:end], messages[end:]
	final := a.JSON("final_result")
	if o.Waiting = deferred(final); o.Waiting == "" && !final.IsEmpty() {
		text := final.Str()
		if final.Kind() != exactjson.String {
			text = final.JSON()
		}
		p := decode.TextPart(text)
		p.Label = decode.LabelOf(text)
		if n := len(o.Output); n == 0 || len(o.Output[n-1].Parts) != 1 || o.Output[n-1].Parts[0].Text != text {
			o.Output = append(slices.Clone(o.Output), decode.Message{Role: tape.RoleAssistant, Parts: []decode.Part{p}})
		}
	}
}

// deferred is what a run waits for whose result is a DeferredToolRequests: the calls that somebody has to
// allow, or that run elsewhere.
func deferred(result exactjson.Value) tape.Waiting {
	approvals, calls := result.Get("approvals"), result.Get("calls")
	switch {
	case approvals.Kind() != exactjson.Array || calls.Kind() != exactjson.Array:
		return ""
	case approvals.At(0).Get("tool_call_id").Str() != "":
		return tape.WaitingApproval
	case calls.At(0).Get("tool_call_id").Str() != "":
		return tape.WaitingResult
	}
	return ""
}

func readPydanticModel(a decode.Attributes, o *dialect.Draft) {
	if all := eventMessages(a.JSON("events")); len(all) > 0 && !a.Has("gen_ai.input.messages") {
		o.Request, o.Response = splitAnswer(all)
	}
	parameters, ok := decode.Structure(a.JSON("model_request_parameters"))
	if !ok {
		return
	}
	o.Tools = append(decode.ToolDefinitions(parameters.Get("function_tools")), decode.ToolDefinitions(parameters.Get("output_tools"))...)
	whole := parameters.Get("output_tools").Len() > 0
	for _, m := range parameters.Get("output_tools").Members() {
		if name := m.Value.Get("name").Str(); name != "" {
			o.OutputTools = append(o.OutputTools, name)
		}
		// the member in which an answer is put that is no object; null: the answer is one
		whole = whole && m.Value.Get("outer_typed_dict_key").Kind() == exactjson.Null
	}
	o.Quirks.Add(dialect.AnswersWhole, whole)
	if mode := parameters.Get("output_mode"); mode.Kind() == exactjson.String && mode.Str() != "text" {
		o.AddParam("output_mode", mode)
	}
}

// eventMessages reads a list of message events in one attribute. Events of one message bear its index.
// Neighbours of the assistant are items of one turn.
func eventMessages(v exactjson.Value) []decode.Message {
	list, ok := decode.Structure(v)
	if !ok || list.Kind() != exactjson.Array {
		return nil
	}
	var out []decode.Message
	for _, m := range list.Members() {
		e := m.Value
		var next decode.Message
		role := tape.RoleUser
		switch e.Get("event.name").Str() {
		case "gen_ai.choice":
			next = semconv.ChoiceMessage(e)
		case "gen_ai.system.message", "gen_ai.developer.message":
			role = tape.RoleSystem
			next = semconv.EventMessage(e, role)
		case "gen_ai.assistant.message":
			role = tape.RoleAssistant
			next = semconv.EventMessage(e, role)
		case "gen_ai.tool.message":
			next = semconv.EventMessage(e, tape.RoleTool)
		case "gen_ai.unknown":
			next = decode.Message{Role: tape.RoleAssistant, Parts: []decode.Part{decode.DataPart(e.Get("data"))}}
			if r := e.Get("role").Str(); r != "" && r != "unknown" {
				next.Role = decode.RoleOf(r)
			}
			if e.Get("data").IsAbsent() {
				next.Parts = []decode.Part{decode.DataPart(e)}
			}
		case "gen_ai.user.message":
			next = semconv.EventMessage(e, role)
		default:
			continue
		}
		if n := len(out); n > 0 && next.Role == tape.RoleAssistant && out[n-1].Role == tape.RoleAssistant {
			out[n-1].Parts = append(out[n-1].Parts, next.Parts...)
			decode.FillString(&out[n-1].FinishReason, next.FinishReason)
			continue
		}
		out = append(out, next)
	}
	return out
}

// splitAnswer takes the last message for the answer when it is the assistant's.
func splitAnswer(all []decode.Message) (request, response []decode.Message) {
	if n := len(all); n > 0 && all[n-1].Role == tape.RoleAssistant {
		return all[:n-1], all[n-1:]
	}
	return all, nil
}
