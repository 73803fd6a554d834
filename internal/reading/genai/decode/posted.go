// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Posted is a message that one part of a program sent to another: agents of a team, each an actor of its own.
type Posted struct {
	ID      string // as its sender drew it: everybody who gets the message gets it with the same id
	Source  string // who sent it
	Message Message
	Usage   tape.Usage
	// Answered says that a model wrote it: it tells what it cost.
	Answered bool
}

// PostedMessages reads what was sent: one message, or those that a conversation begins with.
//
//	{"message": {"id": "…", "source": "writer", "models_usage": {"prompt_tokens": 40, …}, "content": [{"id": "call_1", "name": "f", "arguments": "{…}"}]}}
//	{"messages": [{"source": "user", "content": "…"}]}
//
// The content is a text, a list of calls or a list of results. Pieces of a stream are no messages, and neither is anything that names no source.
func PostedMessages(v exactjson.Value) (posted []Posted) {
	if inner, ok := Structure(v); ok {
		v = inner
	}
	one := v
	if inner := v.Get("message"); inner.Kind() == exactjson.Object {
		one = inner
	}
	if p, ok := postedMessage(one); ok {
		return []Posted{p}
	}
	for _, m := range v.Get("messages").Members() {
		if p, ok := postedMessage(m.Value); ok {
			posted = append(posted, p)
		}
	}
	return posted
}

func postedMessage(v exactjson.Value) (Posted, bool) {
	source, content := v.First("source", "sender", "author").Str(), v.Get("content")
	if source == "" || strings.Contains(strings.ToLower(v.Get("type").Str()), "chunk") || !v.Get("full_message_id").IsEmpty() {
		return Posted{}, false
	}
	usage := v.First("models_usage", "model_usage", "usage")
	p := Posted{ID: TextOfID(v.Get("id")), Source: source, Usage: Usage(usage), Message: Message{Role: tape.RoleAssistant}}
	p.Answered = p.Usage.InputTokens != nil || p.Usage.OutputTokens != nil
	items := content.Members()
	switch {
	case content.Kind() == exactjson.Array && len(items) > 0 && !slices.ContainsFunc(items, func(m exactjson.Member) bool {
		return m.Value.Get("name").Str() == "" || m.Value.Get("arguments").IsAbsent()
	}):
		p.Message.Parts = ChatCalls(content)
	case content.Kind() == exactjson.Array && len(items) > 0 && !slices.ContainsFunc(items, func(m exactjson.Member) bool {
		return m.Value.First("call_id", "tool_call_id").Str() == "" || m.Value.Get("content").IsAbsent()
	}):
		p.Message.Role = tape.RoleTool
		for _, m := range items {
			p.Message.Parts = append(p.Message.Parts, ResultPart(m.Value.First("call_id", "tool_call_id").Str(), m.Value.Get("name").Str(), m.Value.Get("content"), m.Value.Get("is_error").True()))
		}
	case content.Kind() == exactjson.String && content.Str() != "":
		p.Message.Parts = []Part{TextPart(content.Str())}
		if role, ok := KnownRole(source); ok && !p.Answered {
			p.Message.Role = role
		}
	default:
		return Posted{}, false
	}
	return p, true
}
