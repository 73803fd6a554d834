// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// langSmith reads the OpenTelemetry export of the LangSmith SDKs: the inputs and outputs of each LangSmith run, whole, in
// gen_ai.prompt and gen_ai.completion. The operation name is a guess of the exporter, the kind of the run counts. The Python
// exporter names a parent for its root that it never exports.
var langSmith = &Dialect{
	ID:       "langsmith",
	Name:     "LangSmith",
	Scopes:   []string{"langsmith"},
	Marks:    []string{"langsmith."},
	Root:     "the outermost `chain`",
	Encoded:  true,
	Switch:   "on by default; `LANGSMITH_HIDE_INPUTS` and `LANGSMITH_HIDE_OUTPUTS` turn it off",
	classify: classifyLangSmith,
	read:     readLangSmith,
}

var langSmithKinds = map[string]Class{
	"llm": Model, "tool": Tool, "chain": Agent, "agent": Agent, "retriever": Retrieval, "embedding": Noise, "prompt": Structure, "parser": Structure,
}

func classifyLangSmith(s *Source) (Class, bool) {
	class := langSmithKinds[strings.ToLower(attributes(s.Span.Attributes()).str("langsmith.span.kind"))]
	return class, class == Agent
}

func readLangSmith(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	kind := strings.ToLower(a.str("langsmith.span.kind"))
	o.ConversationID = a.str("langsmith.metadata.session_id", "langsmith.metadata.thread_id", "langsmith.metadata.conversation_id")
	o.UserID = a.str("langsmith.metadata.user_id")
	in, out := a.json("gen_ai.prompt"), a.json("gen_ai.completion")
	for _, e := range s.Span.Events().All() {
		if e.Name() == "exception" {
			o.Failed = true // the exporter leaves the status of failed runs ok
		}
	}
	if a.str("langsmith.metadata.is_error") == "true" && o.Class == Agent {
		o.Failed = true
	}
	switch o.Class {
	case Agent:
		o.WeakAgent = kind == "chain"
		o.Agent.Name = a.str("langsmith.trace.name")
		str(&o.Agent.Name, s.Span.Name())
		readWholeAgent(o, in, out)
		o.Interrupted = isLangGraphInterrupt(out)
	case Model:
		readLangSmithModel(a, in, out, o)
	case Tool:
		o.Name = a.str("gen_ai.tool.name", "langsmith.trace.name")
		str(&o.Name, s.Span.Name())
		returned, envelope := langSmithReturn(out)
		if v, ok := structureOf(in); ok && v.Len() == 1 && v.Get("input").Kind() == exactjson.Object {
			in = v.Get("input") // the Claude Agent SDK's tools
		}
		readWholeTool(o, in, returned, true)
		o.Result.Envelope = append(envelope, o.Result.Envelope...)
	case Retrieval:
		o.Name = a.str("langsmith.trace.name")
		o.Query = Content{Value: in}
		if v, ok := structureOf(in); ok && v.Len() == 1 {
			o.Query.Value = v.Members()[0].Value
		}
		o.Documents = documentsOf(out)
	case Noise:
		o.NoiseReason = kind
	}
}

func readLangSmithModel(a attributes, in, out exactjson.Value, o *Observation) {
	if v, ok := structureOf(in); ok && v.Len() == 1 && v.Get("content").Str() == "role" {
		in, o.RequestLabel = exactjson.Value{}, tape.Lossy // what the exporter leaves of a list of messages that it took for one
		o.note(tape.CodeContentAbsent, "request.messages", "the exporter lost the messages")
	}
	readWholeModel(o, in, out)
	o.Provider = providerOf(a.str("langsmith.metadata.ls_provider"))
	str(&o.Model, a.str("langsmith.metadata.ls_model_name"))
	o.param("temperature", a.json("langsmith.metadata.ls_temperature"))
	o.param("max_tokens", a.json("langsmith.metadata.ls_max_tokens"))
	o.param("stop_sequences", a.json("langsmith.metadata.ls_stop"))
	for _, key := range []string{"langsmith.metadata.ls_invocation_params", "langsmith.metadata.invocation_params"} {
		if params, ok := structureOf(a.json(key)); ok {
			readParams(o, params)
			list(&o.Tools, toolDefinitions(params.Get("tools")))
		}
	}
	o.Streaming = o.Streaming || a.str("langsmith.request.streaming") == "true"
	u := providerUsage(a.json("langsmith.usage_metadata", "langsmith.metadata.usage_metadata"))
	fillUsage(&u, o.Usage)
	o.Usage = u
}

// langSmithReturn takes off what the tracers put around a return value that is no object: {"output": X} or {"outputs": X}.
func langSmithReturn(out exactjson.Value) (returned exactjson.Value, envelope []string) {
	v, ok := structureOf(out)
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
