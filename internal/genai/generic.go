// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// generic reads spans of no known dialect by the names that many hand-written instrumentations share. Bare names (input, output, …)
// count only beside one of its marks.
var generic = &Dialect{
	ID:   "generic",
	Name: "Hand-written spans",
	Marks: []string{
		"tool.name", "tool.arguments", "tool.args", "tool.input", "tool.parameters", "tool.result", "tool.output", "tool.call_id", "tool.id",
		"function.name", "function.arguments", "llm.input_messages.", "llm.output_messages.", "llm.model_name", "gen_ai.response.content", "input.value", "output.value",
	},
	Switch:   "depends on the program",
	classify: classifyGeneric,
	read:     readGeneric,
}

var (
	genericArgs    = []string{"tool.arguments", "tool.args", "tool.input", "function.arguments", "tool.parameters", "input.value", "input"}
	genericResults = []string{"tool.result", "tool.output", "function.result", "function.output", "output.value", "output"}
)

func classifyGeneric(s *Source) (Class, bool) {
	a := attributes(s.Span.Attributes())
	switch {
	case a.has("openinference.span.kind"), a.str("gen_ai.operation.name") != "":
		return Unclassified, false
	case hasPrefixed(s.Span, "llm.input_messages.", "llm.output_messages."), a.has("gen_ai.response.content"):
		return Model, false
	case a.str("tool.name", "function.name") != "" && !a.has("llm.model_name") && !a.has("gen_ai.request.model"):
		return Tool, false
	}
	return Unclassified, false
}

func hasPrefixed(span ptrace.Span, prefixes ...string) bool {
	for key := range span.Attributes().All() {
		for _, p := range prefixes {
			if strings.HasPrefix(key, p) {
				return true
			}
		}
	}
	return false
}

func readGeneric(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	answer := a.json("gen_ai.response.content")
	if a.has("openinference.span.kind") && (o.Class != Model || answer.IsEmpty()) {
		o.Class = Unclassified // nothing to add
		return
	}
	switch o.Class {
	case Model:
		o.Response = oneTurn(outputMessages(answer, 0))
		if a.has("openinference.span.kind") {
			return
		}
		o.Request, _ = openInferenceMessages(a.unflatten("llm.input_messages."))
		if flat, ok := openInferenceMessages(a.unflatten("llm.output_messages.")); ok {
			o.Response = oneTurn(flat)
		}
		o.Request, o.Response = withContent(o.Request), withContent(o.Response)
		o.Model = a.str("llm.model_name")
		o.Usage = tape.Usage{InputTokens: a.count("llm.token_count.prompt"), OutputTokens: a.count("llm.token_count.completion")}
	case Tool:
		o.Name = a.str("tool.name", "function.name")
		o.CallID = usableID(a.str("tool.call_id", "tool.id", "tool_call.id", "function.call_id"))
		args := a.json(genericArgs...)
		if v, ok := structureOf(a.json("tool.parameters")); ok && isSchema(v) && args.Equal(a.json("tool.parameters")) {
			args = exactjson.Value{} // the tool's schema, not what it was called with
		}
		readWholeTool(o, args, a.json(genericResults...), false)
	default:
		o.Class = Unclassified
	}
}

// withContent drops messages of which only the role was recorded.
func withContent(messages []Message) []Message {
	var out []Message
	for _, m := range messages {
		if len(m.Parts) > 0 {
			out = append(out, m)
		}
	}
	return out
}
