// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// langfuse reads the Langfuse SDKs for Python and JavaScript from version 3 on: one attribute for what went in and one for what
// came out, of any shape. The name of a tool is the name of its span; call ids stand only inside messages.
var langfuse = &Dialect{
	ID:       "langfuse",
	Name:     "Langfuse SDK",
	Scopes:   []string{"langfuse-sdk"},
	Marks:    []string{"langfuse."},
	Root:     "the outermost `agent`, else the outermost `chain` or `span`",
	Switch:   "on by default; a `mask` function of the client changes content",
	classify: classifyLangfuse,
	read:     readLangfuse,
}

var langfuseTypes = map[string]Class{
	"generation": Model, "agent": Agent, "chain": Agent, "tool": Tool, "retriever": Retrieval,
	"embedding": Noise, "guardrail": Noise, "evaluator": Noise, "event": Noise,
}

func classifyLangfuse(s *Source) (Class, bool) {
	a := attributes(s.Span.Attributes())
	kind := strings.ToLower(a.str("langfuse.observation.type"))
	if class, ok := langfuseTypes[kind]; ok {
		return class, class == Agent
	}
	if kind == "" && s.ScopeName != "langfuse-sdk" {
		return Unclassified, false // another instrumentation's span, on which only the trace's attributes were put
	}
	switch {
	case a.has("langfuse.observation.model.name"), a.has("langfuse.observation.usage_details"):
		return Model, false // early versions give generations the type span
	case isToolReturn(a.json("langfuse.observation.output")):
		return Tool, false // as they do with LangChain's tools
	case isLangfuseRoot(s, a):
		return Agent, true
	}
	return Structure, false
}

// isToolReturn reports a value that is LangChain's message of one tool's result.
func isToolReturn(out exactjson.Value) bool {
	if v, ok := structureOf(out); ok {
		return isLangchainTool(v)
	}
	_, _, _, ok := toolMessageRepr(out.Str())
	return ok
}

// isLangfuseRoot reports a plain span that stands for the whole run.
func isLangfuseRoot(s *Source, a attributes) bool {
	return s.Span.ParentSpanID().IsEmpty() || a.str("langfuse.internal.is_app_root") == "true" || a.has("langfuse.trace.input")
}

func readLangfuse(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	kind := strings.ToLower(a.str("langfuse.observation.type"))
	o.ConversationID = a.str("session.id", "langfuse.session.id", "langfuse.observation.metadata.conversation_id", "langfuse.observation.metadata.thread_id")
	o.UserID = a.str("user.id", "langfuse.user.id")
	in, out := a.json("langfuse.observation.input"), a.json("langfuse.observation.output")
	if a.str("langfuse.observation.level") == "ERROR" {
		o.Failed = true
		if message := a.str("langfuse.observation.status_message"); message != "" {
			o.Error = &tape.Error{Message: message}
		}
	}
	switch o.Class {
	case Agent:
		o.WeakAgent = kind != "agent"
		o.Agent.Name = s.Span.Name()
		if in.IsAbsent() {
			in = a.json("langfuse.trace.input")
		}
		if out.IsAbsent() {
			out = a.json("langfuse.trace.output")
		}
		readWholeAgent(o, in, out)
		o.Interrupted = isLangGraphInterrupt(out)
	case Model:
		readLangfuseModel(s, a, in, out, o)
	case Tool:
		o.Name = s.Span.Name()
		readWholeTool(o, in, out, false)
		langfuseError(o)
	case Retrieval:
		o.Name = s.Span.Name()
		o.Query = Content{Value: in}
		o.Documents = documentsOf(out)
	case Noise:
		o.NoiseReason = kind
	}
}

func readLangfuseModel(s *Source, a attributes, in, out exactjson.Value, o *Observation) {
	readWholeModel(o, in, out)
	if text := in.Str(); strings.HasPrefix(text, "system: ") || strings.HasPrefix(text, "user: ") {
		o.Request = promptLines(text) // OpenLIT's prompts, handed on
	}
	langfuseToolRoles(in, o.Request)
	for i := range o.Request {
		langfuseLosses(o.Request[i].Parts)
	}
	if name := a.str("langfuse.observation.model.name"); isLangfuseWrapper(s.Span.Name()) && !(strings.HasPrefix(s.Span.Name(), "OpenAI.") && strings.Contains(a.str("langfuse.observation.model.parameters"), `"stream":true`)) {
		str(&o.ResponseModel, name) // the wrappers write the model that answered over the one that was asked for
	} else {
		str(&o.Model, name)
	}
	str(&o.Model, a.str("langfuse.observation.metadata.ls_model_name"))
	o.Provider = providerOf(a.str("langfuse.observation.metadata.ls_provider"))
	if params, ok := structureOf(a.json("langfuse.observation.model.parameters")); ok {
		readParams(o, params)
	}
	fillUsage(&o.Usage, providerUsage(a.json("langfuse.observation.usage_details")))
}

// langfuseToolRoles turns the messages back that have the name of a tool for a role, as the handler for LangChain in JavaScript
// writes them. They carry no call id.
func langfuseToolRoles(in exactjson.Value, messages []Message) {
	list, ok := structureOf(in)
	if list.Kind() == exactjson.Object {
		list = list.Get("messages")
	}
	if !ok || list.Kind() != exactjson.Array || list.Len() < len(messages) {
		return
	}
	asked := map[string]bool{}
	for i, m := range messages {
		for _, p := range m.Parts {
			if p.Type == tape.PartToolCall {
				asked[p.Name] = true
			}
		}
		if name := list.At(i).Get("role").Str(); m.Role == tape.RoleUser && asked[name] {
			messages[i] = Message{Role: tape.RoleTool, Parts: []Part{resultPart("", name, list.At(i).Get("content"), false)}}
		}
	}
}

// isLangfuseWrapper tells the spans of the wrapped OpenAI clients by their names.
func isLangfuseWrapper(name string) bool {
	return strings.HasPrefix(name, "OpenAI.") || strings.HasPrefix(name, "OpenAI-")
}

// langfuseLosses labels what the SDK writes for values that have no JSON form.
func langfuseLosses(parts []Part) {
	for i := range parts {
		p := &parts[i]
		if p.Type == tape.PartText && strings.Contains(p.Text, "@@@langfuseMedia:") {
			p.Label = tape.External
		}
	}
}

// langfuseError tells a result from the error that the JavaScript SDK writes in its place.
func langfuseError(o *Observation) {
	v := o.Result.Value
	if inner, ok := structureOf(v); ok {
		v = inner
	}
	if message := v.Get("error"); o.Failed && v.Len() == 1 && message.Kind() == exactjson.String {
		if o.Error == nil {
			o.Error = &tape.Error{Message: message.Str()}
		}
		o.Result = Content{}
	}
	if text := o.Result.Value.Str(); strings.HasPrefix(text, "<not serializable") {
		o.Result.Label = tape.Lossy
	}
}

// isLangGraphInterrupt reports that a graph stopped to wait for a person.
func isLangGraphInterrupt(out exactjson.Value) bool {
	v, ok := structureOf(out)
	return ok && !v.Get("__interrupt__").IsEmpty()
}

// documentsOf returns the elements of a list of documents, or of the list inside.
func documentsOf(out exactjson.Value) []exactjson.Value {
	v, ok := structureOf(out)
	if !ok {
		return nil
	}
	if v.Kind() == exactjson.Object {
		v = v.First("documents", "output", "outputs", "results", "nodes")
	}
	if v.Kind() != exactjson.Array {
		return nil
	}
	var docs []exactjson.Value
	for _, m := range v.Members() {
		docs = append(docs, m.Value)
	}
	return docs
}
