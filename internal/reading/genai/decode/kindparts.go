// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Pydantic AI keeps a conversation in types of its own: {kind: "request", instructions, parts: [{part_kind,
// content, …}]} and {kind: "response", parts}. One request holds everything between two answers:
// instructions, the user's words, a result per call. MLflow records these types as they are, and so does a
// program that dumps the state of an agent.

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
	if text := v.Get("instructions").Str(); text != "" && kind == "request" {
		messages = append(messages, Message{Role: tape.RoleSystem, Parts: []Part{TextPart(text)}})
	}
	for _, m := range parts.Members() {
		role, read, known := kindPart(m.Value, kind)
		if !known {
			return nil, false
		}
		for _, p := range read {
			if last := len(messages) - 1; last >= 0 && messages[last].Role == role && role != tape.RoleTool {
				messages[last].Parts = append(messages[last].Parts, p)
				continue
			}
			messages = append(messages, Message{Role: role, Parts: []Part{p}})
		}
	}
	if kind == "response" && len(messages) == 1 {
		messages[0].FinishReason = v.Get("finish_reason").Str()
	}
	return messages, len(messages) > 0
}

// kindPart reads one part of a message of the kind, which may hold nothing. known is false for an object that
// names no kind of part.
func kindPart(v exactjson.Value, kind string) (role tape.Role, parts []Part, known bool) {
	content := v.Get("content")
	id, name := TextOfID(v.Get("tool_call_id")), v.Get("tool_name").Str()
	switch v.Get("part_kind").Str() {
	case "system-prompt":
		return tape.RoleSystem, []Part{TextPart(content.Str())}, true
	case "user-prompt":
		return tape.RoleUser, Parts(content), true
	case "text":
		if content.Str() != "" {
			parts = []Part{TextPart(content.Str())}
		}
		return tape.RoleAssistant, parts, true
	case "thinking":
		if content.Str() != "" {
			parts = []Part{{Part: tape.Part{Type: tape.PartReasoning, Text: content.Str()}}}
		}
		return tape.RoleAssistant, parts, true
	case "tool-call":
		return tape.RoleAssistant, []Part{CallPart(id, name, v.Get("args"))}, true
	case "tool-return":
		return tape.RoleTool, []Part{ResultPart(id, name, content, v.Get("outcome").Str() == "failed")}, true
	case "retry-prompt":
		if name == "" { // it tells the model what was wrong with its answer
			return tape.RoleUser, []Part{DataPart(content)}, true
		}
		return tape.RoleTool, []Part{ResultPart(id, name, content, true)}, true
	case "":
		return "", nil, false
	}
	if kind == "request" {
		return tape.RoleUser, []Part{DataPart(v)}, true
	}
	return tape.RoleAssistant, []Part{DataPart(v)}, true
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
