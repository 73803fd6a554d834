// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package laminar reads the Laminar SDKs.
package laminar

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads the Laminar SDKs: spans of functions with named arguments and return value, beside model
// calls of provider instrumentations that carry the same association attributes.
var Dialect = &dialect.Dialect{
	ID:            "laminar",
	Name:          "Laminar",
	ScopePrefixes: []string{"lmnr"},
	Marks:         []string{"lmnr."},
	Root:          "the outermost span without a parent",
	Encoded:       true,
	Switch:        "on by default; `ignoreInput` and `ignoreOutput` of `observe` turn it off",
	Classify:      classifyLaminar,
	Read:          readLaminar,
}

var laminarTypes = map[string]dialect.Class{
	"LLM": dialect.Model, "TOOL": dialect.Tool, "EXECUTOR": dialect.Agent, "EVALUATOR": dialect.Noise, "EVALUATION": dialect.Noise, "HUMAN_EVALUATOR": dialect.Noise, "EVENT": dialect.Noise,
}

func classifyLaminar(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	kind := a.Text("lmnr.span.type")
	if kind == "CACHED" { // a call that was replayed from a cache
		kind = a.Text("lmnr.span.original_type")
	}
	switch class, ok := laminarTypes[kind]; {
	case strings.HasPrefix(s.Span.Name(), "lmnr.internal"), s.ScopeName == mastraExporter && strings.HasPrefix(s.Span.Name(), "chunk: "):
		// also a piece of an answer, which Mastra's exporter types as a model call
		return dialect.Noise, false
	case ok:
		return class, class == dialect.Agent
	case a.Text("gen_ai.operation.name", "gen_ai.request.model", "traceloop.span.kind", "openinference.span.kind") != "":
		return dialect.Unclassified, false // a span of another instrumentation
	case s.Span.ParentSpanID().IsEmpty() && (a.Has("lmnr.span.input") || a.Has("lmnr.span.output")):
		return dialect.Agent, true
	case strings.HasPrefix(s.ScopeName, "lmnr") && (a.Has("lmnr.span.input") || a.Has("lmnr.span.output")):
		// a function; the AI SDK writes its own spans with the tracer it is given, and they say what they are
		return dialect.Structure, false
	}
	return dialect.Unclassified, false
}

// mastraExporter is the scope of Mastra's exporter for Laminar. What it exports went through Mastra's filter
// of sensitive data.
const mastraExporter = "@mastra/laminar"

func readLaminar(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	o.ConversationID = a.Text("lmnr.association.properties.session_id")
	o.UserID = a.Text("lmnr.association.properties.user_id")
	in, out := a.JSON("lmnr.span.input"), a.JSON("lmnr.span.output")
	switch o.Class {
	case dialect.Agent:
		if a.Text("lmnr.span.type") == "" && !s.Span.ParentSpanID().IsEmpty() {
			return // another dialect's agent
		}
		o.WeakAgent = true
		o.Agent.Name = s.Span.Name()
		dialect.ReadWholeAgent(o, laminarArguments(in), out)
	case dialect.Model:
		if !in.IsAbsent() || !out.IsAbsent() {
			dialect.ReadWholeModel(o, in, out)
			if s.ScopeName == mastraExporter {
				for _, m := range o.Response {
					decode.LabelRewritten(m.Parts)
				}
			}
		}
	case dialect.Tool:
		o.Name = decode.ToolOfSpan(s.Span.Name())
		dialect.ReadWholeTool(o, laminarArguments(in), out, true)
		if s.ScopeName == mastraExporter && o.Args.Label == "" && decode.RewrittenJSON(o.Args.Value) {
			o.Args.Label = tape.Lossy
		}
	case dialect.Structure:
		o.Called = &dialect.Called{Name: s.Span.Name(), In: laminarArguments(in), Out: out, Encoded: true}
	case dialect.Noise:
		o.NoiseReason = strings.ToLower(a.Text("lmnr.span.type"))
		decode.FillString(&o.NoiseReason, "internal")
	}
}

// laminarArguments returns the only argument of a function whose arguments were recorded as a list.
func laminarArguments(in exactjson.Value) exactjson.Value {
	if v, ok := decode.Structure(in); ok && v.Kind() == exactjson.Array && v.Len() == 1 {
		return v.At(0)
	}
	return in
}
