// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// koog reads JetBrains Koog: agent.<id> → run.<id> → node.<name> → llm.chat and tool.<name>. With the Langfuse adapter messages are
// flattened attributes in which every call stands in a message of role tool.
var koog = &Dialect{
	ID:       "koog",
	Name:     "JetBrains Koog",
	Scopes:   []string{"ai.koog"},
	Marks:    []string{"koog."},
	Root:     "`run.<id>` (`invoke_agent`)",
	Rooted:   true,
	Switch:   "`setVerbose(true)` of the OpenTelemetry feature",
	classify: classifySemconv,
	read:     readKoog,
}

func readKoog(s *Source, o *Observation) {
	a := attributes(s.Span.Attributes())
	switch o.Class {
	case Model:
		var asked []exactjson.Value
		for _, m := range a.unflatten("gen_ai.prompt.").Members() {
			asked = append(asked, m.Value)
		}
		o.Request = koogMessages(asked, tape.RoleUser)
		var said []exactjson.Value
		for _, m := range a.unflatten("gen_ai.completion.").Members() {
			said = append(said, m.Value)
		}
		o.Response = oneTurn(koogMessages(said, tape.RoleAssistant))
	case Tool:
		o.Name = a.str("gen_ai.tool.name")
		o.ToolKind = tape.ToolFunction
		if v := a.json("input.value"); !v.IsAbsent() {
			o.Args = argsContent(v)
		}
		if v := a.json("output.value"); !v.IsAbsent() {
			u := unwrapResult(resultContent(v, false))
			o.Result, o.Failed = u.content, u.isError
		}
	}
}

// koogMessages reads {role, content} where the content of a call is a JSON list of calls.
func koogMessages(list []exactjson.Value, role tape.Role) []Message {
	var out []Message
	for _, v := range list {
		content := v.Get("content")
		if calls, ok := structureOf(content); ok && calls.Kind() == exactjson.Array && calls.At(0).Get("function").Kind() == exactjson.Object {
			parts := chatCalls(calls)
			if n := len(out) - 1; n >= 0 && out[n].Role == tape.RoleAssistant && hasCalls(out[n]) {
				out[n].Parts = append(out[n].Parts, parts...)
			} else {
				out = append(out, Message{Role: tape.RoleAssistant, Parts: parts, FinishReason: v.Get("finish_reason").Str()})
			}
			continue
		}
		m := roleMessage(v, role)
		m.FinishReason = v.Get("finish_reason").Str()
		out = append(out, m)
	}
	return out
}
