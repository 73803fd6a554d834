// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Pydantic AI keeps a conversation in types of its own: {kind: "request", instructions, parts: [{part_kind, content, …}]} and {kind: "response", parts}. One
// request holds all that stands between two answers: instructions, what the user said, and a result per call. MLflow and whoever dumps an
// agent's state record them as they are.

// kindMessages reads such a message as one message per role. ok is false for any other object.
func kindMessages(v exactjson.Value) (messages []Message, ok bool) {
	parts := v.Get("parts")
	if parts.Kind() != exactjson.Array || !v.Get("role").IsAbsent() {
		return nil, false
	}
	kind := v.Get("kind").Str()
	if kind != "request" && kind != "response" {
		return nil, false
	}
	add := func(role tape.Role, p Part) {
		if last := len(messages) - 1; last >= 0 && messages[last].Role == role && role != tape.RoleTool {
			messages[last].Parts = append(messages[last].Parts, p)
			return
		}
		messages = append(messages, Message{Role: role, Parts: []Part{p}})
	}
	if text := v.Get("instructions").Str(); text != "" && kind == "request" {
		add(tape.RoleSystem, TextPart(text))
	}
	for _, m := range parts.Members() {
		part := m.Value
		content := part.Get("content")
		id, name := TextOfID(part.Get("tool_call_id")), part.Get("tool_name").Str()
		switch part.Get("part_kind").Str() {
		case "system-prompt":
			add(tape.RoleSystem, TextPart(content.Str()))
		case "user-prompt":
			for _, p := range Parts(content) {
				add(tape.RoleUser, p)
			}
		case "text":
			if content.Str() != "" {
				add(tape.RoleAssistant, TextPart(content.Str()))
			}
		case "thinking":
			if content.Str() != "" {
				add(tape.RoleAssistant, Part{Part: tape.Part{Type: tape.PartReasoning, Text: content.Str()}})
			}
		case "tool-call":
			add(tape.RoleAssistant, CallPart(id, name, part.Get("args")))
		case "tool-return":
			add(tape.RoleTool, ResultPart(id, name, content, part.Get("outcome").Str() == "failed"))
		case "retry-prompt": // without the name of a tool it tells the model what was wrong with its answer
			if name == "" {
				add(tape.RoleUser, DataPart(content))
				continue
			}
			add(tape.RoleTool, ResultPart(id, name, content, true))
		case "":
			return nil, false
		default:
			role := tape.RoleAssistant
			if kind == "request" {
				role = tape.RoleUser
			}
			add(role, DataPart(part))
		}
	}
	if kind == "response" && len(messages) == 1 {
		messages[0].FinishReason = v.Get("finish_reason").Str()
	}
	return messages, len(messages) > 0
}

// sameInstructions reports messages that begin with instructions that stand in the list already: every request of Pydantic AI repeats them.
func sameInstructions(list, messages []Message) bool {
	if len(messages) == 0 || messages[0].Role != tape.RoleSystem {
		return false
	}
	for _, m := range list {
		if m.Role == tape.RoleSystem && len(m.Parts) > 0 && len(messages[0].Parts) > 0 && m.Parts[0].Text == messages[0].Parts[0].Text {
			return true
		}
	}
	return false
}
