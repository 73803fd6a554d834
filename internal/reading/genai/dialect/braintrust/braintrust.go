// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package braintrust reads the spans of Braintrust's SDKs.
package braintrust

import (
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads the SDKs that write OpenTelemetry (Go, Java, Ruby, .NET): what went in and came out as JSON
// of the provider, and what a span is as a member of its span attributes. Their processors also mark spans of
// others, with braintrust.parent; those are not theirs.
var Dialect = &dialect.Dialect{
	ID:            "braintrust",
	Name:          "Braintrust",
	ScopePrefixes: []string{"braintrust"},
	Marks:         []string{"braintrust.input", "braintrust.output", "braintrust.span_attributes", "braintrust.metadata"},
	Root:          "the outermost `task`, else the outermost span of a function",
	Switch:        "on by default",
	Classify:      classify,
	Read:          read,
}

const prefix = "braintrust."

var types = map[string]dialect.Class{
	"llm": dialect.Model, "tool": dialect.Tool, "task": dialect.Agent, "function": dialect.Structure, "eval": dialect.Structure, "score": dialect.Noise,
	"automation": dialect.Noise, "facet": dialect.Noise, "preprocessor": dialect.Noise, "classifier": dialect.Noise, "review": dialect.Noise,
}

func kindOf(a decode.Attributes) string {
	said, _ := decode.Structure(a.JSON(prefix + "span_attributes"))
	return said.Get("type").Str()
}

func classify(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	kind := kindOf(a)
	class, ok := types[kind]
	in, out := values(a)
	switch {
	case ok:
		return class, false
	case a.Text("gen_ai.operation.name", "traceloop.span.kind", "openinference.span.kind") != "":
		return dialect.Unclassified, false // a span of another instrumentation
	case s.Span.ParentSpanID().IsEmpty() && !(in.IsAbsent() && out.IsAbsent()):
		return dialect.Agent, false
	case kind != "" || strings.HasPrefix(s.ScopeName, "braintrust"):
		return dialect.Structure, false
	}
	return dialect.Unclassified, false
}

// values returns what went in and came out. The keys without _json hold texts.
func values(a decode.Attributes) (in, out exactjson.Value) {
	return a.JSON(prefix+"input_json", prefix+"input"), a.JSON(prefix+"output_json", prefix+"output")
}

func read(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	in, out := values(a)
	metadata, _ := decode.Structure(a.JSON(prefix + "metadata"))
	switch o.Class {
	case dialect.Model:
		dialect.ReadWholeModel(o, in, out)
		decode.FillString(&o.Model, metadata.Get("model").Str())
		decode.FillString(&o.Provider, metadata.Get("provider").Str())
		decode.FillList(&o.Tools, decode.ToolDefinitions(metadata.Get("tools")))
		dialect.ReadParams(o, metadata)
		metrics, _ := decode.Structure(a.JSON(prefix + "metrics"))
		decode.FillUsage(&o.Usage, decode.Usage(metrics))
	case dialect.Agent:
		o.WeakAgent = true
		o.Agent.Name = s.Span.Name()
		dialect.ReadWholeAgent(o, in, out)
	case dialect.Tool:
		if s.Span.Name() != "langchain.tool" { // whose callback is told no name
			o.Name = decode.ToolOfSpan(s.Span.Name())
		}
		dialect.ReadWholeTool(o, in, out, false)
	case dialect.Structure:
		o.Called = &dialect.Called{Name: s.Span.Name(), In: in, Out: out}
	case dialect.Noise:
		o.NoiseReason = kindOf(a)
	}
}
