// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// langWatch reads the LangWatch SDKs: input and output each as {type, value}, the model in the names of the GenAI conventions.
var langWatch = &Dialect{
	ID:            "langwatch",
	Name:          "LangWatch",
	ScopePrefixes: []string{"langwatch"},
	Marks:         []string{"langwatch."},
	Root:          "the outermost `agent`, `workflow` or `chain`",
	Encoded:       true,
	Switch:        "on by default; `LANGWATCH_DISABLE_INPUT_CAPTURE` and the `dataCapture` option turn it off",
	classify:      classifyLangWatch,
	read:          readLangWatch,
}

var langWatchTypes = map[string]Class{
	"llm": Model, "agent": Agent, "workflow": Agent, "chain": Agent, "tool": Tool, "rag": Retrieval,
	"guardrail": Noise, "evaluation": Noise, "prompt": Structure, "embedding": Noise,
}

func classifyLangWatch(s *Source) (Class, bool) {
	a := attributes(s.Span.Attributes())
	kind := a.str("langwatch.span.type")
	if class, ok := langWatchTypes[kind]; ok {
		return class, class == Agent
	}
	if s.Span.ParentSpanID().IsEmpty() && a.has("langwatch.input") {
		return Agent, true // a plain span that holds a whole trace
	}
	return Unclassified, false
}

func readLangWatch(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	kind := a.str("langwatch.span.type")
	o.ConversationID = a.str("langwatch.thread.id", "langwatch.thread_id", "gen_ai.conversation.id")
	o.UserID = a.str("langwatch.user.id", "langwatch.user_id")
	in, out := langWatchValue(a.json("langwatch.input")), langWatchValue(a.json("langwatch.output"))
	switch o.Class {
	case Agent:
		o.WeakAgent = kind != "agent" && kind != "workflow"
		o.Agent.Name = s.Span.Name()
		readWholeAgent(o, in.value, out.value)
		o.Failed = out.failed
	case Model:
		readWholeModel(o, in.value, out.value)
		if params, ok := structureOf(langWatchValue(a.json("langwatch.params", "langwatch.llm.params")).value); ok {
			readParams(o, params)
			list(&o.Tools, toolDefinitions(params.Get("tools")))
		}
		if metrics, ok := structureOf(langWatchValue(a.json("langwatch.metrics")).value); ok {
			fillUsage(&o.Usage, providerUsage(metrics))
		}
		o.Streaming = o.Streaming || a.str("langwatch.gen_ai.streaming") == "true"
		o.Failed = out.failed
	case Tool:
		o.Name = a.str("gen_ai.tool.name")
		str(&o.Name, s.Span.Name())
		readWholeTool(o, in.value, out.encoded(), true)
		o.Failed = o.Failed || out.failed
	case Retrieval:
		o.Name = s.Span.Name()
		o.Query = Content{Value: in.value}
		o.Documents = documentsOf(langWatchValue(a.json("langwatch.rag.contexts", "langwatch.contexts", "langwatch.rag_contexts")).value)
		list(&o.Documents, documentsOf(out.value))
	case Noise:
		o.NoiseReason = kind
	}
}

// langWatchIO is the value inside {type, value}.
type langWatchIO struct {
	value   exactjson.Value
	decoded bool // what stands here has been decoded already: a text is one
	failed  bool
}

func langWatchValue(v exactjson.Value) langWatchIO {
	outer, ok := structureOf(v)
	if !ok || outer.Get("type").Kind() != exactjson.String || outer.Get("value").IsAbsent() {
		return langWatchIO{value: v}
	}
	inner := langWatchIO{value: outer.Get("value"), decoded: true}
	switch strings.ToLower(outer.Get("type").Str()) {
	case "error":
		inner.failed = true
	case "list":
		var elements []exactjson.Value
		for _, m := range inner.value.Members() {
			elements = append(elements, langWatchValue(m.Value).value)
		}
		inner.value = exactjson.ArrayValue(elements...)
	}
	return inner
}

// encoded returns the value in a form that decodes to itself.
func (io langWatchIO) encoded() exactjson.Value {
	if io.decoded && io.value.Kind() == exactjson.String {
		return exactjson.StringValue(io.value.JSON())
	}
	return io.value
}
