// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

var langchainRoles = map[string]tape.Role{
	"human": tape.RoleUser, "ai": tape.RoleAssistant, "AIMessageChunk": tape.RoleAssistant, "system": tape.RoleSystem,
	"tool": tape.RoleTool, "function": tape.RoleTool,
}

// LangChainMessage reads a serialised LangChain message: {lc, type:"constructor", id, kwargs}, {type, data} or a dump of its fields.
func LangChainMessage(v exactjson.Value) (Message, bool) {
	fields := v
	role, known := langchainRoles[v.Get("type").Str()]
	switch {
	case v.Get("kwargs").Kind() == exactjson.Object:
		fields = v.Get("kwargs")
		class := v.Get("id").At(v.Get("id").Len() - 1).Str()
		switch {
		case strings.HasPrefix(class, "Human"):
			role, known = tape.RoleUser, true
		case strings.HasPrefix(class, "AI"):
			role, known = tape.RoleAssistant, true
		case strings.HasPrefix(class, "System"):
			role, known = tape.RoleSystem, true
		case strings.HasPrefix(class, "Tool"), strings.HasPrefix(class, "Function"):
			role, known = tape.RoleTool, true
		case strings.HasPrefix(class, "ChatMessage"):
			role, known = RoleOf(fields.Get("role").Str()), true
		}
	case v.Get("data").Kind() == exactjson.Object:
		fields = v.Get("data")
	case v.Get("content").IsAbsent() || !v.Get("role").IsAbsent():
		return Message{}, false
	}
	if !known {
		return Message{}, false
	}
	if role == tape.RoleTool {
		return Message{Role: role, Parts: []Part{ResultPart(TextOfID(fields.Get("tool_call_id")), fields.Get("name").Str(), fields.Get("content"), fields.Get("status").Str() == "error")}}, true
	}
	m := Message{Role: role}
	for _, p := range Parts(fields.Get("content")) {
		if p.Type != tape.PartToolCall { // Anthropic models repeat the calls inside the content
			m.Parts = append(m.Parts, p)
		}
	}
	if role == tape.RoleAssistant {
		m.Parts = append(m.Parts, langchainCalls(fields)...)
		m.FinishReason = fields.Get("response_metadata").First("finish_reason", "stop_reason").Str()
	}
	return m, true
}

// langchainCalls prefers the provider's own text of the arguments to LangChain's parsed copy, which has lost big integers.
func langchainCalls(fields exactjson.Value) []Part {
	raw := ChatCalls(fields.Get("additional_kwargs").Get("tool_calls"))
	parsed := ChatCalls(fields.Get("tool_calls"))
	if len(raw) >= len(parsed) {
		return raw
	}
	return append(parsed, ChatCalls(fields.Get("invalid_tool_calls"))...)
}

// WaitsInLangGraph is what a graph waits for that stopped, as its output says. LangChain's middleware for
// approvals lists the calls that somebody has to allow.
func WaitsInLangGraph(out exactjson.Value) tape.Waiting {
	v, ok := Structure(out)
	interrupts := v.Get("__interrupt__")
	switch asked := interrupts.At(0).Get("value"); {
	case !ok || interrupts.IsEmpty():
		return ""
	case !asked.Get("action_requests").IsEmpty() || !asked.Get("actionRequests").IsEmpty() || !asked.At(0).Get("action_request").IsEmpty():
		return tape.WaitingApproval
	}
	return tape.WaitingResume
}
