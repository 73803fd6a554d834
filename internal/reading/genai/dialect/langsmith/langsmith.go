// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package langsmith reads the OpenTelemetry export of the LangSmith SDKs.
package langsmith

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads the OpenTelemetry export of the LangSmith SDKs: the inputs and outputs of each LangSmith run,
// whole, in gen_ai.prompt and gen_ai.completion. The operation name is a guess of the exporter, the kind of
// the run counts. The Python exporter names a parent for its root that it never exports.
var Dialect = &dialect.Dialect{
	ID:       "langsmith",
	Name:     "LangSmith",
	Scopes:   []string{"langsmith"},
	Marks:    []string{"langsmith."},
	Root:     "the outermost `chain`",
	Encoded:  true,
	Switch:   "on by default; `LANGSMITH_HIDE_INPUTS` and `LANGSMITH_HIDE_OUTPUTS` turn it off",
	Settings: []dialect.Setting{{Name: "LANGSMITH_HIDE_INPUTS", Unset: true}, {Name: "LANGSMITH_HIDE_OUTPUTS", Unset: true}},
	Classify: classifyLangSmith,
	Read:     readLangSmith,
}

var langSmithKinds = map[string]dialect.Class{
	"llm": dialect.Model, "tool": dialect.Tool, "chain": dialect.Agent, "agent": dialect.Agent, "retriever": dialect.Retrieval, "embedding": dialect.Noise, "prompt": dialect.Structure, "parser": dialect.Structure,
}

func classifyLangSmith(s *dialect.Source) (dialect.Class, bool) {
	class := langSmithKinds[strings.ToLower(decode.Attributes(s.Span.Attributes()).Text("langsmith.span.kind"))]
	return class, class == dialect.Agent
}

func readLangSmith(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	kind := strings.ToLower(a.Text("langsmith.span.kind"))
	o.ConversationID = a.Text("langsmith.metadata.session_id", "langsmith.metadata.thread_id", "langsmith.metadata.conversation_id")
	o.UserID = a.Text("langsmith.metadata.user_id")
	in, out := a.JSON("gen_ai.prompt"), a.JSON("gen_ai.completion")
	readLangSmithFailure(s, a, o)
	switch o.Class {
	case dialect.Agent:
		o.WeakAgent = kind == "chain"
		readLangSmithAgent(s, a, in, out, o)
	case dialect.Model:
		if v, ok := decode.Structure(out); ok && o.Failed && v.Len() == 1 && v.Get("output").Kind() == exactjson.Null {
			out = exactjson.Value{} // a call that threw was not answered
		}
		readLangSmithModel(a, in, out, o)
	case dialect.Tool:
		o.Name = a.Text("gen_ai.tool.name", "langsmith.trace.name")
		decode.FillString(&o.Name, s.Span.Name())
		readLangSmithTool(in, out, o)
	case dialect.Retrieval:
		o.Name = a.Text("langsmith.trace.name")
		o.Query = decode.Content{Value: in}
		if v, ok := decode.Structure(in); ok && v.Len() == 1 {
			o.Query.Value = v.Members()[0].Value
		}
		o.Documents = decode.Documents(out)
	case dialect.Noise:
		o.NoiseReason = kind
	}
}

// readLangSmithFailure reads the exception of a run. The exporter leaves the status of failed runs ok.
func readLangSmithFailure(s *dialect.Source, a decode.Attributes, o *dialect.Draft) {
	for _, e := range s.Span.Events().All() {
		if e.Name() == "exception" {
			o.Failed = true
			if class, message, ok := decode.Raised(decode.Attributes(e.Attributes()).Text("exception.message")); ok {
				o.Error = &tape.Error{Type: class, Message: message}
			}
		}
	}
	if a.Text("langsmith.metadata.is_error") == "true" && o.Class == dialect.Agent {
		o.Failed = true
	}
}

// readLangSmithAgent reads an agent or a chain. The options beside messages are those of the Claude Agent
// SDK; without messages they may be those of any function.
func readLangSmithAgent(s *dialect.Source, a decode.Attributes, in, out exactjson.Value, o *dialect.Draft) {
	o.Agent.Name = a.Text("langsmith.trace.name")
	decode.FillString(&o.Agent.Name, s.Span.Name())
	dialect.ReadWholeAgent(o, in, out)
	if given, ok := decode.Structure(in); ok && given.Get("messages").Kind() == exactjson.Array {
		options := given.Get("options")
		decode.FillList(&o.System, decode.System(options.First("systemPrompt", "system_prompt")))
		decode.FillString(&o.Model, options.Get("model").Str())
	}
	returned, wrapped := langSmithReturn(out)
	if wrapped != nil && returned.Kind() == exactjson.String && len(o.Output) == 0 {
		o.Output = decode.OneTurn(dialect.AnswerText(returned)) // the function returned a text that is JSON
	}
	if o.WeakAgent && !s.Span.ParentSpanID().IsEmpty() {
		o.Called = &dialect.Called{Name: o.Agent.Name, In: in, Out: returned, Encoded: true}
	}
	o.Waiting = decode.WaitsInLangGraph(out)
}

// readLangSmithTool reads what a tool got and returned. The exporter writes {"output": null} for a tool that
// threw.
func readLangSmithTool(in, out exactjson.Value, o *dialect.Draft) {
	returned, envelope := langSmithReturn(out)
	if v, ok := decode.Structure(in); ok && v.Len() == 1 && v.Get("input").Kind() == exactjson.Object {
		in = v.Get("input") // tools of the Claude Agent SDK
	}
	if o.Failed && returned.Kind() == exactjson.Null {
		returned, envelope = exactjson.Value{}, nil
	}
	dialect.ReadWholeTool(o, in, returned, true)
	o.Result.Envelope = append(envelope, o.Result.Envelope...)
}

func readLangSmithModel(a decode.Attributes, in, out exactjson.Value, o *dialect.Draft) {
	if v, ok := decode.Structure(in); ok && v.Len() == 1 && v.Get("content").Str() == "role" {
		// what the exporter leaves of a list of messages that it took for one
		in, o.RequestLabel = exactjson.Value{}, tape.Lossy
		o.AddNote(tape.CodeContentAbsent, "request.messages", "the exporter lost the messages")
	}
	dialect.ReadWholeModel(o, in, out)
	// Logfire puts the model that answered over the one that was asked; LangChain's own metadata still names
	// that.
	if asked := a.Text("langsmith.metadata.ls_model_name"); asked != "" && a.Text("gen_ai.request.model") == a.Text("gen_ai.response.model") && strings.HasPrefix(a.Text("gen_ai.response.model"), asked+"-") {
		o.Model = asked
	}
	o.AddParam("temperature", a.JSON("langsmith.metadata.ls_temperature"))
	o.AddParam("max_tokens", a.JSON("langsmith.metadata.ls_max_tokens"))
	o.AddParam("stop_sequences", a.JSON("langsmith.metadata.ls_stop"))
	for _, key := range []string{"langsmith.metadata.ls_invocation_params", "langsmith.metadata.invocation_params"} {
		if params, ok := decode.Structure(a.JSON(key)); ok {
			dialect.ReadParams(o, params)
			decode.FillList(&o.Tools, decode.ToolDefinitions(params.Get("tools")))
		}
	}
	o.Streaming = o.Streaming || a.Text("langsmith.request.streaming") == "true"
	u := decode.Usage(a.JSON("langsmith.usage_metadata", "langsmith.metadata.usage_metadata"))
	decode.FillUsage(&u, o.Usage)
	o.Usage = u
}

// langSmithReturn takes off what the tracers put around a return value that is no object: {"output": X} or
// {"outputs": X}.
func langSmithReturn(out exactjson.Value) (returned exactjson.Value, envelope []string) {
	v, ok := decode.Structure(out)
	if !ok || v.Len() != 1 {
		return out, nil
	}
	m := v.Members()[0]
	if m.Name != "output" && m.Name != "outputs" || m.Value.Kind() == exactjson.Object {
		return out, nil // a message inside is opened as the envelope that it is
	}
	if m.Value.Kind() == exactjson.String {
		// the text is what the tool returned, it is not decoded once more
		return exactjson.StringValue(m.Value.JSON()), []string{"langsmith." + m.Name}
	}
	return m.Value, []string{"langsmith." + m.Name}
}
