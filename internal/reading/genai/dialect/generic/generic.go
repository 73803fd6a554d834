// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package generic reads hand-written spans of no known dialect.
package generic

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/openinference"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads spans of no known dialect by the names that many hand-written instrumentations share. Bare
// names (input, output, …) count only beside one of its marks.
var Dialect = &dialect.Dialect{
	ID:   "generic",
	Name: "Hand-written spans",
	Marks: []string{
		"tool.name", "tool.arguments", "tool.args", "tool.input", "tool.parameters", "tool.result", "tool.output", "tool.call_id", "tool.id",
		"function.name", "function.arguments", "llm.input_messages.", "llm.output_messages.", "llm.model_name", "gen_ai.response.content", "input.value", "output.value",
	},
	Switch:   "depends on the program",
	Classify: classifyGeneric,
	Read:     readGeneric,
}

var (
	// the last is often the schema
	genericArgs    = []string{"tool.arguments", "tool.args", "tool.input", "function.arguments", "input.value", "input", "tool.parameters"}
	genericResults = []string{"tool.result", "tool.output", "function.result", "function.output", "output.value", "output"}
)

func classifyGeneric(s *dialect.Source) (dialect.Class, bool) {
	a := decode.Attributes(s.Span.Attributes())
	switch {
	case a.Has("openinference.span.kind"):
		return dialect.Unclassified, false
	case a.Text("gen_ai.operation.name") == "chat" && dialect.HasPrefixed(s.Span, "llm.input_messages.", "llm.output_messages."):
		// messages under other keys than those of the conventions that name the operation
		return dialect.Model, false
	case a.Text("gen_ai.operation.name") != "":
		return dialect.Unclassified, false
	case dialect.HasPrefixed(s.Span, "llm.input_messages.", "llm.output_messages."), a.Has("gen_ai.response.content"):
		if own, _ := ClassOf(s.Span.Attributes()); own == dialect.Agent {
			// it says so in a word of its own: what a run or a step of it was handed
			return dialect.Unclassified, false
		}
		return dialect.Model, false
	case a.Text("tool.name", "function.name") != "" && !a.Has("llm.model_name") && !a.Has("gen_ai.request.model"):
		return dialect.Tool, false
	}
	return dialect.Unclassified, false
}

func readGeneric(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	answer := a.JSON("gen_ai.response.content")
	if a.Has("openinference.span.kind") && (o.Class != dialect.Model || answer.IsEmpty()) {
		o.Class = dialect.Unclassified // nothing to add
		return
	}
	switch o.Class {
	case dialect.Model:
		if a.Has("openinference.span.kind") {
			o.Response = decode.OneTurn(decode.OutputMessages(answer, 0))
			return
		}
		openinference.ReadModel(a, o)
		if len(o.Response) == 0 {
			o.Response = decode.OneTurn(decode.OutputMessages(answer, 0))
		}
		o.Request, o.Response = withContent(o.Request), withContent(o.Response)
	case dialect.Tool:
		o.Name = a.Text("tool.name", "function.name")
		o.CallID = decode.UsableID(a.Text("tool.call_id", "tool.call.id", "tool.id", "tool_call.id", "function.call_id"))
		args := a.JSON(genericArgs...)
		if v, ok := decode.Structure(a.JSON("tool.parameters")); ok && decode.IsSchema(v) && args.Equal(a.JSON("tool.parameters")) {
			args = exactjson.Value{} // the tool's schema, not what it was called with
		}
		dialect.ReadWholeTool(o, args, a.JSON(genericResults...), false)
	default:
		o.Class = dialect.Unclassified
	}
}

// withContent drops messages of which only the role was recorded.
func withContent(messages []decode.Message) []decode.Message {
	var out []decode.Message
	for _, m := range messages {
		if len(m.Parts) > 0 {
			out = append(out, m)
		}
	}
	return out
}
