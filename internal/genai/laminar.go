// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// laminar reads the Laminar SDKs: spans of functions with named arguments and return value, beside model calls of provider
// instrumentations that carry the same association attributes.
var laminar = &Dialect{
	ID:            "laminar",
	Name:          "Laminar",
	ScopePrefixes: []string{"lmnr"},
	Marks:         []string{"lmnr."},
	Root:          "the outermost span without a parent",
	Encoded:       true,
	Switch:        "on by default; `ignoreInput` and `ignoreOutput` of `observe` turn it off",
	classify:      classifyLaminar,
	read:          readLaminar,
}

var laminarTypes = map[string]Class{
	"LLM": Model, "TOOL": Tool, "EXECUTOR": Agent, "EVALUATOR": Noise, "EVALUATION": Noise, "HUMAN_EVALUATOR": Noise, "EVENT": Noise,
}

func classifyLaminar(s *Source) (Class, bool) {
	a := attributes(s.Span.Attributes())
	kind := a.str("lmnr.span.type")
	if kind == "CACHED" { // a call that was replayed from a cache
		kind = a.str("lmnr.span.original_type")
	}
	switch class, ok := laminarTypes[kind]; {
	case strings.HasPrefix(s.Span.Name(), "lmnr.internal"):
		return Noise, false
	case ok:
		return class, class == Agent
	case a.str("gen_ai.operation.name", "gen_ai.request.model", "traceloop.span.kind", "openinference.span.kind") != "":
		return Unclassified, false // a span of another instrumentation
	case s.Span.ParentSpanID().IsEmpty() && (a.has("lmnr.span.input") || a.has("lmnr.span.output")):
		return Agent, true
	case strings.HasPrefix(s.ScopeName, "lmnr"):
		return Structure, false
	}
	return Unclassified, false
}

func readLaminar(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	o.ConversationID = a.str("lmnr.association.properties.session_id")
	o.UserID = a.str("lmnr.association.properties.user_id")
	in, out := a.json("lmnr.span.input"), a.json("lmnr.span.output")
	switch o.Class {
	case Agent:
		if a.str("lmnr.span.type") == "" && !s.Span.ParentSpanID().IsEmpty() {
			return // another dialect's agent
		}
		o.WeakAgent = true
		o.Agent.Name = s.Span.Name()
		readWholeAgent(o, laminarArguments(in), out)
	case Model:
		if !in.IsAbsent() || !out.IsAbsent() {
			readWholeModel(o, in, out)
		}
	case Tool:
		o.Name = s.Span.Name()
		readWholeTool(o, laminarArguments(in), out, true)
	case Noise:
		o.NoiseReason = strings.ToLower(a.str("lmnr.span.type"))
		str(&o.NoiseReason, "internal")
	}
}

// laminarArguments returns the only argument of a function whose arguments were recorded as a list.
func laminarArguments(in exactjson.Value) exactjson.Value {
	if v, ok := structureOf(in); ok && v.Kind() == exactjson.Array && v.Len() == 1 {
		return v.At(0)
	}
	return in
}
