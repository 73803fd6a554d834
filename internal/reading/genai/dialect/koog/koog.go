// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package koog reads JetBrains Koog.
package koog

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect/semconv"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Dialect reads JetBrains Koog: agent.<id> → run.<id> → node.<name> → llm.chat and tool.<name>. The Langfuse
// adapter flattens messages into attributes. Every call then stands in a message of role tool.
var Dialect = &dialect.Dialect{
	ID:       "koog",
	Name:     "JetBrains Koog",
	Scopes:   []string{"ai.koog"},
	Marks:    []string{"koog."},
	Root:     "`run.<id>` (`invoke_agent`)",
	Rooted:   true,
	Switch:   "`setVerbose(true)` of the OpenTelemetry feature",
	Classify: semconv.Classify,
	Read:     readKoog,
}

func readKoog(s *dialect.Source, o *dialect.Draft) {
	a := decode.Attributes(s.Span.Attributes())
	switch o.Class {
	case dialect.Model:
		o.Request, o.RequestLabel = semconv.LabelledMessages(a, "gen_ai.input.messages", tape.RoleUser, o)
		if len(o.Request) == 0 {
			// from 1.0 the adapter keeps one result of a message with several, and the conventions' attribute
			// beside it all
			o.Request = koogMessages(a, "gen_ai.prompt.", tape.RoleUser)
		}
		o.Response = decode.OneTurn(koogMessages(a, "gen_ai.completion.", tape.RoleAssistant))
	case dialect.Tool:
		o.Name = a.Text("gen_ai.tool.name")
		o.ToolKind = tape.ToolFunction
		if v := a.JSON("input.value"); !v.IsAbsent() {
			o.Args = decode.Args(v)
		}
		if v := a.JSON("output.value"); !v.IsAbsent() {
			u := decode.UnwrapResult(decode.Result(v, false))
			o.Result, o.Failed = u.Content, u.IsError
		} else if v := a.JSON("gen_ai.tool.call.result"); !v.IsAbsent() {
			// from 1.0: what the tool returned, as its serialiser wrote it, a text in quotes
			u := decode.UnwrapResult(decode.Result(v, true))
			o.Result, o.Failed = u.Content, u.IsError
		}
	}
}

// koogMessages reads {role, content} where the content of a call is a JSON list of calls.
func koogMessages(a decode.Attributes, prefix string, role tape.Role) []decode.Message {
	var out []decode.Message
	for _, member := range a.Unflatten(prefix).Members() {
		v := member.Value
		content := v.Get("content")
		if calls, ok := decode.Structure(content); ok && calls.Kind() == exactjson.Array && calls.At(0).Get("function").Kind() == exactjson.Object {
			parts := decode.ChatCalls(calls)
			if n := len(out) - 1; n >= 0 && out[n].Role == tape.RoleAssistant && decode.HasCalls(out[n]) {
				out[n].Parts = append(out[n].Parts, parts...)
			} else {
				out = append(out, decode.Message{Role: tape.RoleAssistant, Parts: parts, FinishReason: v.Get("finish_reason").Str()})
			}
			continue
		}
		m := decode.RoleMessage(v, role)
		m.FinishReason = v.Get("finish_reason").Str()
		out = append(out, m)
	}
	return out
}
