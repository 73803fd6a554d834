// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package monocle reads Monocle (monocle-apptrace).
package monocle

import (
	"regexp"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads Monocle. The type of a span says what it is. Numbered entities say what it speaks of, events
// what went in and came out. The span of type workflow at the top of a trace, around a whole program or one
// call, holds the tree together and is no run.
var Dialect = &dialect.Dialect{
	ID:       "monocle",
	Name:     "Monocle",
	Scopes:   []string{"monocle_apptrace"},
	Marks:    []string{"monocle_apptrace."},
	Root:     "the outermost `agentic.turn` or `agentic.invocation`",
	Switch:   "on by default",
	Member:   isMember,
	Classify: classify,
	Read:     read,
}

// classes are the classes of the types of spans. Routes and requests of HTTP (`http.process`, `http.send`),
// and spans of other types, are no evidence.
var classes = map[string]dialect.Class{
	"agentic.turn": dialect.Agent, "agentic.request": dialect.Agent, "agentic.invocation": dialect.Agent, "agentic.tool.invocation": dialect.Tool, "agentic.mcp.invocation": dialect.Tool,
	"agentic.delegation": dialect.Structure, "inference": dialect.Model, "inference.framework": dialect.Model, "inference.modelapi": dialect.Model, "retrieval": dialect.Retrieval,
	"embedding": dialect.Noise, "embedding.modelapi": dialect.Noise, "workflow": dialect.Structure, "custom": dialect.Structure,
}

// isMember reports a span of one of these types. A function of the program has to say what it was called
// with.
func isMember(span ptrace.Span) bool {
	kind := kindOf(span)
	if kind == "custom" {
		for _, e := range span.Events().All() {
			if said, ok := e.Attributes().Get("input"); ok && e.Name() == "data.input" && strings.Contains(said.AsString(), `"kwargs"`) {
				return true
			}
		}
		return false
	}
	return classes[kind] != dialect.Unclassified
}

func kindOf(span ptrace.Span) string { return decode.Attributes(span.Attributes()).Text("span.type") }

func classify(s *dialect.Source) (dialect.Class, bool) {
	class := classes[kindOf(s.Span)]
	return class, class == dialect.Agent
}

// entity returns a member of the first entity whose type begins so.
func entity(a decode.Attributes, kind, member string) string {
	for i := 1; i <= 4; i++ {
		prefix := "entity." + strconv.Itoa(i) + "."
		if strings.HasPrefix(a.Text(prefix+"type"), kind) {
			return a.Text(prefix + member)
		}
	}
	return ""
}

func read(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	o.ConversationID = a.Text("scope.agentic.session")
	var in, out exactjson.Value
	metadata := decode.Attributes(pcommon.NewMap())
	for _, e := range s.Span.Events().All() {
		said := decode.Attributes(e.Attributes())
		switch e.Name() {
		case "data.input":
			in = said.JSON("input")
		case "data.output":
			out = said.JSON("response")
			if code := said.Text("error_code"); code != "" && code != "success" {
				o.Failed, o.Error = true, &tape.Error{Message: out.Str()}
				out = exactjson.Value{}
			}
		case "metadata":
			metadata = said
		}
	}
	switch o.Class {
	case dialect.Agent:
		o.Agent.Name = entity(a, "agent.", "name")
		if text := entity(a, "agent.", "instructions"); text != "" && text != "Dynamic instructions (function)" {
			o.System = []decode.Part{decode.TextPart(text)}
		}
		if in.Kind() == exactjson.Array && in.Len() == 1 {
			in = in.At(0)
		}
		if out.Str() == "" {
			out = exactjson.Value{} // what is not known is an empty text
		}
		dialect.ReadWholeAgent(o, in, out)
	case dialect.Model:
		readModel(a, o, in, out, metadata)
	case dialect.Tool:
		o.Name = entity(a, "tool.", "name")
		if kindOf(s.Span) == "agentic.mcp.invocation" || entity(a, "tool.mcp", "type") != "" {
			o.ToolKind = tape.ToolMCP
		}
		if in.Kind() == exactjson.Array && in.Len() == 1 {
			in = in.At(0)
		}
		dialect.ReadWholeTool(o, in, out, false)
	case dialect.Retrieval:
		o.Name = s.Span.Name()
		o.Query = decode.Content{Value: in}
		o.Documents = decode.Documents(out)
	case dialect.Noise:
		o.NoiseReason = kindOf(s.Span)
	case dialect.Structure:
		if kindOf(s.Span) == "custom" {
			readFunction(s.Span.Name(), o, in, out)
		}
	}
}

// readFunction reads a function of the program as the decorator records it: {"args": [], "kwargs": {"x": 1}}
// went in, {"result": …} came out, in which numbers are texts.
func readFunction(name string, o *dialect.Draft, in, out exactjson.Value) {
	in, _ = decode.Structure(in)
	if in.Get("args").Kind() != exactjson.Array || in.Get("kwargs").Kind() != exactjson.Object {
		return
	}
	if result, ok := decode.Structure(out); ok && result.Len() == 1 && !result.Get("result").IsAbsent() {
		out = result.Get("result")
	}
	o.InputData, o.OutputData = decode.Content{Value: in}, decode.Content{Value: out}
	if in.Get("args").Len() == 0 {
		in = in.Get("kwargs")
	}
	o.Called = &dialect.Called{Name: name, In: in, Out: out, Texts: true}
}

func readModel(a decode.Attributes, o *dialect.Draft, in, out exactjson.Value, metadata decode.Attributes) {
	o.Operation = "chat"
	o.Provider = decode.Provider(strings.TrimPrefix(entity(a, "inference.", "type"), "inference."))
	o.Model = entity(a, "model.", "name")
	o.Usage = tape.Usage{InputTokens: metadata.Count("prompt_tokens"), OutputTokens: metadata.Count("completion_tokens")}
	if reason := metadata.Text("finish_reason"); reason != "" {
		o.FinishReasons = []string{reason}
	}
	list := in
	if in.Kind() == exactjson.String {
		list = exactjson.ArrayValue(in)
	}
	for _, m := range list.Members() {
		o.Request = append(o.Request, messages(m.Value, tape.RoleUser)...)
	}
	if len(o.Request) == 0 {
		o.AddNote(tape.CodeContentAbsent, "request.messages", "the producer does not record messages that are objects of the provider's package")
	}
	if !out.IsEmpty() {
		o.Response = decode.OneTurn(messages(out, tape.RoleAssistant))
	}
	if called := metadata.Text("finish_type") == "tool_call"; called && len(o.Response) <= 1 && (len(o.Response) == 0 || !decode.HasCalls(o.Response[0])) {
		o.AddNote(tape.CodeContentAbsent, "response.message.tool_calls", "the producer writes that tools were called, and not which")
		if len(o.Response) == 0 {
			o.Response = []decode.Message{{Role: tape.RoleAssistant}}
		}
		o.FinishReasons = []string{"tool_calls"}
	}
	for i := range o.Response {
		for j := range o.Response[i].Parts {
			if p := &o.Response[i].Parts[j]; p.Type == tape.PartToolCall && p.Args.Kind() == exactjson.String {
				p.Args, p.ArgsText, p.Label = exactjson.Value{}, "", ""
				o.AddNote(tape.CodeContentAbsent, "response.message", "of the arguments of a streamed call the producer records the first chunk")
			}
		}
	}
}

// messages reads one message: an object of its role and what was said, as JSON or as str() of Python where
// JSON is not possible. Any other text is what the role said.
func messages(v exactjson.Value, role tape.Role) []decode.Message {
	object := v
	if v.Kind() == exactjson.String {
		var ok bool
		if object, ok = decode.ParseStructure(v.Str()); !ok {
			object, ok = decode.Representation(v.Str())
		}
		if !ok || object.Kind() != exactjson.Object {
			return []decode.Message{{Role: role, Parts: []decode.Part{decode.TextPart(v.Str())}}}
		}
	}
	if name := object.Get("tool_function").Str(); name != "" { // an item of the Responses API
		return []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{call(object)}}}
	}
	if id := object.Get("call_id").Str(); id != "" && object.Len() == 2 {
		return []decode.Message{{Role: tape.RoleTool, Parts: []decode.Part{decode.ResultPart(id, "", object.Get("output"), false)}}}
	}
	if object.Len() != 1 {
		return []decode.Message{{Role: role, Parts: []decode.Part{decode.TextPart(v.Str())}}}
	}
	said := object.Members()[0]
	if said.Name == "tools" {
		return []decode.Message{{Role: tape.RoleAssistant, Parts: calls(said.Value)}}
	}
	speaker, known := decode.KnownRole(said.Name)
	if !known {
		return []decode.Message{{Role: role, Parts: []decode.Part{decode.TextPart(v.Str())}}}
	}
	if speaker == tape.RoleAssistant {
		if made := calls(said.Value); len(made) > 0 {
			return []decode.Message{{Role: speaker, Parts: made}}
		}
	}
	if said.Value.Kind() == exactjson.Null {
		return []decode.Message{{Role: speaker}}
	}
	return []decode.Message{decode.RoleMessage(exactjson.ObjectValue(exactjson.Member{Name: "role", Value: exactjson.StringValue(said.Name)},
		exactjson.Member{Name: "content", Value: said.Value}), speaker)}
}

// geminiCall is how a call of Gemini's is written.
var geminiCall = regexp.MustCompile(`(?s)^"model": (\S+), "args": (\{.*\})$`)

// calls reads the calls that an assistant asks for: objects, or their JSON, one or a list. It returns none if
// one of them is no call.
func calls(v exactjson.Value) []decode.Part {
	if m := geminiCall.FindStringSubmatch(v.Str()); m != nil {
		return []decode.Part{decode.CallPart("", m[1], exactjson.StringValue(m[2]))}
	}
	list, ok := decode.Structure(v)
	if !ok {
		return nil
	}
	if list.Kind() == exactjson.Object {
		list = exactjson.ArrayValue(list)
	}
	var parts []decode.Part
	for _, m := range list.Members() {
		object, ok := decode.Structure(m.Value)
		if !ok {
			return nil
		}
		part := call(object)
		if part.Name == "" {
			return nil
		}
		parts = append(parts, part)
	}
	return parts
}

// call reads one call. It has no name if the object is no call.
func call(v exactjson.Value) decode.Part {
	name, args := v.First("tool_name", "tool_function").Str(), v.Get("tool_arguments")
	if name == "" && v.Get("type").Str() == "tool_call" { // LangChain
		name, args = v.Get("name").Str(), v.Get("args")
	}
	return decode.CallPart(decode.TextOfID(v.First("tool_id", "call_id", "id")), name, args)
}
