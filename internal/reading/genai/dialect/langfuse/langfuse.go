// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package langfuse reads the Langfuse SDKs.
package langfuse

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/openinference"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads the Langfuse SDKs for Python and JavaScript from version 3 on. They write one attribute for
// what went in and one for what came out, of any shape. The name of a tool is the name of its span. Call ids
// stand only inside messages.
var Dialect = &dialect.Dialect{
	ID:       "langfuse",
	Name:     "Langfuse SDK",
	Scopes:   []string{"langfuse-sdk"},
	Marks:    []string{"langfuse."},
	Root:     "the outermost `agent`, else the outermost `chain` or `span`",
	Switch:   "on by default; a `mask` function of the client changes content",
	Classify: classifyLangfuse,
	Read:     readLangfuse,
}

var langfuseTypes = map[string]dialect.Class{
	"generation": dialect.Model, "agent": dialect.Agent, "chain": dialect.Agent, "tool": dialect.Tool, "retriever": dialect.Retrieval,
	"embedding": dialect.Noise, "guardrail": dialect.Noise, "evaluator": dialect.Noise, "event": dialect.Noise,
}

func classifyLangfuse(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	kind := strings.ToLower(a.Text("langfuse.observation.type"))
	if class, ok := langfuseTypes[kind]; ok {
		return class, class == dialect.Agent
	}
	if kind == "" && s.ScopeName != "langfuse-sdk" && (a.Has("langfuse.observation.input") || a.Has("langfuse.observation.output")) && (strings.EqualFold(a.Text("openinference.span.kind"), "llm") || openinference.CallsModel(a)) {
		// another instrumentation's span of a call, on which the conversation was put (LiteLLM's callback for
		// Langfuse, beside the keys of OpenInference)
		return dialect.Model, false
	}
	if kind == "" && s.ScopeName != "langfuse-sdk" {
		// another instrumentation's span, on which only the trace's attributes were put
		return dialect.Unclassified, false
	}
	switch {
	case a.Has("langfuse.observation.model.name"), a.Has("langfuse.observation.usage_details"):
		return dialect.Model, false // early versions give generations the type span
	case handsOn(s):
		return dialect.Structure, false
	case isToolReturn(a.JSON("langfuse.observation.output")):
		return dialect.Tool, false // as they do with LangChain's tools
	case isLangfuseRoot(s, a):
		return dialect.Agent, true
	}
	return dialect.Structure, false
}

// isToolReturn reports LangChain's message of the result of one tool.
func isToolReturn(out exactjson.Value) bool {
	if v, ok := decode.Structure(out); ok {
		return decode.IsLangChainTool(v)
	}
	_, _, _, ok := decode.ToolMessageRepr(out.Str())
	return ok
}

// isLangfuseRoot reports a plain span that stands for the whole run.
func isLangfuseRoot(s *dialect.Source, a decode.Attributes) bool {
	return s.Span.ParentSpanID().IsEmpty() || a.Text("langfuse.internal.is_app_root") == "true" || a.Has("langfuse.trace.input")
}

func readLangfuse(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	kind := strings.ToLower(a.Text("langfuse.observation.type"))
	o.ConversationID = a.Text("session.id", "langfuse.session.id", "langfuse.observation.metadata.conversation_id", "langfuse.observation.metadata.thread_id")
	o.UserID = a.Text("user.id", "langfuse.user.id")
	in, out := a.JSON("langfuse.observation.input"), a.JSON("langfuse.observation.output")
	if a.Text("langfuse.observation.level") == "ERROR" {
		o.Failed = true
		if message := a.Text("langfuse.observation.status_message"); message != "" {
			o.Error = &tape.Error{Message: message}
		}
	}
	switch o.Class {
	case dialect.Agent:
		o.WeakAgent = kind != "agent"
		o.Agent.Name = s.Span.Name()
		if in.IsAbsent() {
			in = a.JSON("langfuse.trace.input")
		}
		if out.IsAbsent() {
			out = a.JSON("langfuse.trace.output")
		}
		dialect.ReadWholeAgent(o, in, out)
		o.Waiting = decode.WaitsInLangGraph(out)
	case dialect.Model:
		readLangfuseModel(s, a, in, out, o)
	case dialect.Tool:
		o.Name = s.Span.Name()
		dialect.ReadWholeTool(o, in, out, false)
		langfuseError(o)
		for _, c := range []*decode.Content{&o.Args, &o.Result} {
			if c.Label == "" && writtenInPython(s) && longDigits(c.Value) {
				c.Label = tape.Lossy
			}
		}
	case dialect.Retrieval:
		o.Name = s.Span.Name()
		o.Query = decode.Content{Value: in}
		o.Documents = decode.Documents(out)
	case dialect.Structure:
		if handsOn(s) {
			break
		}
		o.Called = &dialect.Called{Name: s.Span.Name(), In: in, Out: out}
		o.InputData, o.OutputData = decode.Content{Value: in}, decode.Content{Value: out}
	case dialect.Noise:
		o.NoiseReason = kind
	}
}

func readLangfuseModel(s *dialect.Source, a decode.Attributes, in, out exactjson.Value, o *dialect.Draft) {
	if text, ok := dialect.OwnJSON(out); ok && strings.HasPrefix(s.Span.Name(), "OpenAI.") {
		// as the wrapper for JavaScript names them
		out = exactjson.Value{}
		o.Response = []decode.Message{{Role: tape.RoleAssistant, Parts: []decode.Part{decode.TextPart(text)}}}
	}
	dialect.ReadWholeModel(o, in, out)
	o.Unsigned = unsigned(in)
	if text := in.Str(); strings.HasPrefix(text, "system: ") || strings.HasPrefix(text, "user: ") {
		o.Request = decode.PromptLines(text) // OpenLIT's prompts, handed on
	}
	for _, messages := range [][]decode.Message{o.Request, o.Response} {
		for i := range messages {
			langfuseLosses(s, messages[i].Parts)
		}
	}
	name := a.Text("langfuse.observation.model.name")
	streams := strings.HasPrefix(s.Span.Name(), "OpenAI.") && strings.Contains(a.Text("langfuse.observation.model.parameters"), `"stream":true`)
	answered := !out.IsAbsent() || a.Has("langfuse.observation.usage_details")
	if isLangfuseWrapper(s.Span.Name()) && !streams && !o.Failed && answered {
		// the wrappers write the model that answered over the one that was asked for, where they saw an
		// answer
		decode.FillString(&o.ResponseModel, name)
	} else {
		decode.FillString(&o.Model, name)
	}
	if !decode.HasRole(o.Request, tape.RoleSystem) && len(o.System) == 0 {
		o.System = decode.System(a.JSON("langfuse.observation.metadata.instructions"))
		// they are taken from the response: a call that failed has none; in Python its span does not say
		// either which API was called
		o.Quirks.Add(dialect.OmitsSystem, len(o.System) == 0 && (s.Span.Name() == "OpenAI.responses" || s.Span.Name() == "OpenAI-generation" && !answered))
	}
	o.Quirks.Add(dialect.OmitsCalls, s.Span.Name() == "OpenAI.responses" && (out.Str() != "" || out.IsAbsent() && len(o.Response) > 0))
	if params, ok := decode.Structure(a.JSON("langfuse.observation.model.parameters")); ok {
		dialect.ReadParams(o, params)
	}
	decode.FillUsage(&o.Usage, decode.Usage(a.JSON("langfuse.observation.usage_details")))
}

// handsOn reports the step by which LangGraph hands on what a task returned. It tells no call and no state of
// its own.
func handsOn(s *dialect.Source) bool { return strings.HasPrefix(s.Span.Name(), "ChannelWrite<") }

// unsigned reads messages whose authors the record does not tell. Until 4.2 the handler for LangChain writes
// the name of a message for its role where the program has its classes from another copy of the package
// (CommonJS beside ECMAScript modules). Few messages have a name.
func unsigned(in exactjson.Value) (list []decode.Message) {
	v, _ := decode.Structure(in)
	without := false
	for _, m := range v.Members() {
		if v.Kind() != exactjson.Array || m.Value.Get("content").IsAbsent() || slices.ContainsFunc(m.Value.Members(), func(f exactjson.Member) bool {
			return f.Name != "role" && f.Name != "content" && f.Name != "additional_kwargs"
		}) {
			return nil
		}
		without = without || m.Value.Get("role").IsAbsent()
		list = append(list, decode.RoleMessage(m.Value, tape.RoleUser))
	}
	if !without {
		return nil
	}
	return list
}

// isLangfuseWrapper reports the span of a wrapped OpenAI client, by its name.
func isLangfuseWrapper(name string) bool {
	return strings.HasPrefix(name, "OpenAI.") || strings.HasPrefix(name, "OpenAI-")
}

// langfuseLosses labels what the SDK writes for values without a JSON form, and arguments that may have been
// another value.
func langfuseLosses(s *dialect.Source, parts []decode.Part) {
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Type == tape.PartText && strings.Contains(p.Text, "@@@langfuseMedia:"):
			p.Label = tape.External
		case p.Type == tape.PartToolCall && p.Label == "" && p.ArgsText == "" && writtenInPython(s) && longDigits(p.Args):
			p.Label = tape.Lossy
		}
	}
}

// writtenInPython reports a span of the SDK for Python.
func writtenInPython(s *dialect.Source) bool {
	return decode.Attributes(s.Resource).Text("telemetry.sdk.language") == "python"
}

// longDigits reports a text in a value that is an integer beyond what JavaScript holds. The SDK for Python
// writes such integers as texts, so it may have been either.
func longDigits(v exactjson.Value) bool {
	if v.Kind() == exactjson.String {
		text := strings.TrimPrefix(v.Str(), "-")
		n, err := strconv.ParseUint(text, 10, 64)
		return len(text) >= 16 && strings.Trim(text, "0123456789") == "" && text[0] != '0' && (err != nil || n >= 1<<53)
	}
	return v.Kind() >= exactjson.Array && slices.ContainsFunc(v.Members(), func(m exactjson.Member) bool { return longDigits(m.Value) })
}

// langfuseError takes the error that the JavaScript SDK writes for a result, and labels what the SDKs write
// for values that they cannot write.
func langfuseError(o *dialect.Draft) {
	v := o.Result.Value
	if inner, ok := decode.Structure(v); ok {
		v = inner
	}
	if message := v.Get("error"); o.Failed && v.Len() == 1 && message.Kind() == exactjson.String {
		if o.Error == nil {
			o.Error = &tape.Error{Message: message.Str()}
		}
		o.Result = decode.Content{}
	}
	for _, c := range []*decode.Content{&o.Args, &o.Result} {
		if text := c.Value.Str(); strings.HasPrefix(text, "<not serializable") || text == "<failed to serialize>" {
			c.Label = tape.Lossy
		}
	}
}
