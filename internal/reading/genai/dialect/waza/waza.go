// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package waza reads the spans that waza (github.com/microsoft/waza) writes of the evaluations that it runs.
package waza

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads waza: an evaluation, the tasks below it, and below each task the turns of all its runs side
// by side. A run has no span of its own: its first turn begins it and, as waza writes it, lasts until its
// last turn has ended. One turn stands for all model calls of one prompt; the spans of model calls below it
// hold usage per model and are written afterwards.
var Dialect = &dialect.Dialect{
	ID:        "waza",
	Name:      "waza",
	Scopes:    []string{"github.com/microsoft/waza", "waza"},
	Marks:     []string{"waza."},
	Root:      "none: the initial `waza.turn` begins a run; above it stand `waza.task` and `waza.eval`",
	Rooted:    true,
	Encoded:   true,
	Switch:    "`waza run --otel-include-payloads`",
	Additions: dialect.Additions{Adds: func(span ptrace.Span) bool { return span.Name() == modelCall }},
	Classify: func(s *dialect.Source) (dialect.Class, bool) {
		return classes[s.Span.Name()], false
	},
	Read: read,
}

const modelCall = "waza.model_call"

var classes = map[string]dialect.Class{
	"waza.eval": dialect.Entry, "waza.task": dialect.Entry, "waza.turn": dialect.Model, modelCall: dialect.Model, "waza.tool_call": dialect.Tool,
}

func read(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	o.TaskID = a.Text("waza.task.id")
	o.ConversationID = a.Text("waza.session.id")
	o.Extra = decode.Extras(a, "waza", "waza.eval.name", "waza.eval.skill", "waza.eval.engine", "waza.eval.run_id", "waza.task.id", "waza.task.name",
		"waza.turn.trial", "waza.workspace.dir")
	switch o.Class {
	case dialect.Model:
		readModel(s, a, o)
	case dialect.Tool:
		readTool(a, o)
	}
}

func readModel(s *dialect.Source, a decode.Attributes, o *dialect.Draft) {
	o.Operation = "chat"
	o.Provider = decode.Provider(a.Text("gen_ai.system"))
	o.Model = a.Text("gen_ai.request.model")
	o.Usage = usage(a)
	o.ResponseModel = a.Text("gen_ai.response.model")
	if s.Span.Name() != "waza.turn" {
		return
	}
	o.Turn = int(decode.OrZero(a.Count("waza.turn.number")))
	if kind := a.Text("waza.turn.kind"); o.Turn < 1 || kind == "initial" {
		o.Turn = 1
	}
	o.Request = message(tape.RoleUser, a.Text("gen_ai.prompt"))
	o.Response = message(tape.RoleAssistant, a.Text("gen_ai.completion"))
	var answered []string
	for _, call := range s.Also {
		own := decode.Attributes(call.Attributes())
		add(&o.Usage, usage(own))
		decode.FillString(&o.Model, own.Text("gen_ai.request.model"))
		if name := own.Text("gen_ai.response.model"); name != "" && !slices.Contains(answered, name) {
			answered = append(answered, name)
		}
	}
	if len(answered) == 1 {
		o.ResponseModel = answered[0]
	}
	o.AddNote(tape.CodeModelCallHidden, "response", "one span stands for every model call of the turn; it holds the prompt and the final answer")
}

func message(role tape.Role, text string) []decode.Message {
	if text == "" {
		return nil
	}
	return []decode.Message{{Role: role, Parts: []decode.Part{decode.TextPart(text)}}}
}

func readTool(a decode.Attributes, o *dialect.Draft) {
	o.Name = a.Text("gen_ai.tool.name")
	o.CallID = decode.UsableID(a.Text("gen_ai.tool.call.id"))
	o.ToolKind = tape.ToolFunction
	o.Failed = a.Text("waza.tool.success") == "false"
	if v := a.JSON("gen_ai.tool.call.arguments", "gen_ai.tool.arguments"); !v.IsAbsent() {
		c := decode.Args(v)
		if c.Value.Kind() == exactjson.Object && c.Label == "" {
			if c.Value.Len() == 0 { // it had none, or only such as waza leaves out
				c.Value, c.Label = exactjson.Value{}, tape.Missing
			}
			o.AddNote(tape.CodeLossyRepr, "args", "waza writes the arguments that it knows (path, file text, command, description, skill) and leaves out all others")
		}
		o.Args = c
	}
	if v := a.JSON("gen_ai.tool.call.result", "gen_ai.tool.result"); !v.IsAbsent() {
		o.Result = decode.Result(v, true)
	}
}

func usage(a decode.Attributes) tape.Usage {
	return tape.Usage{
		InputTokens: a.Count("gen_ai.usage.input_tokens"), OutputTokens: a.Count("gen_ai.usage.output_tokens"),
		CacheReadTokens: a.Count("gen_ai.usage.cache_read_tokens"),
	}
}

// add sums what several models used.
func add(dst *tape.Usage, src tape.Usage) {
	for _, n := range []struct{ to, from **int64 }{
		{&dst.InputTokens, &src.InputTokens}, {&dst.OutputTokens, &src.OutputTokens}, {&dst.CacheReadTokens, &src.CacheReadTokens},
	} {
		if *n.from != nil {
			sum := decode.OrZero(*n.to) + **n.from
			*n.to = &sum
		}
	}
}
