// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// OpenGoogleParts opens texts that are parts of Google's client for Python as str() writes them, all their fields in a row: what a model asked for, and what a tool returned. Other texts are what was
// said (Traceloop's package for that client, before it writes messages in the form of the conventions).
func OpenGoogleParts(messages []Message) []Message {
	if !slices.ContainsFunc(messages, func(m Message) bool { return anyPart(m.Parts, isGooglePart) }) {
		return messages
	}
	opened := slices.Clone(messages)
	for i, m := range opened {
		if !anyPart(m.Parts, isGooglePart) {
			continue
		}
		parts := slices.Clone(m.Parts)
		for k := range parts {
			part, ok := googlePart(&parts[k])
			if !ok && isGooglePart(&parts[k]) {
				return messages // it is printed with the middle left out: whose result another one is cannot be told any more
			}
			parts[k] = *part
		}
		opened[i] = MessageWith(m.Role, m.Name, parts)
		opened[i].FinishReason = m.FinishReason
	}
	return opened
}

// isGooglePart is a quick look before the text is read.
func isGooglePart(p *Part) bool {
	return p.Type == tape.PartText && strings.Contains(p.Text, "function_call=") && strings.Contains(p.Text, "function_response=") && strings.Contains(p.Text, "inline_data=")
}

func googlePart(p *Part) (*Part, bool) {
	if !isGooglePart(p) {
		return p, false
	}
	fields, _, ok := Fields(strings.TrimSpace(p.Text))
	if !ok {
		return p, false
	}
	for _, name := range []string{"function_call", "function_response"} {
		if v := fields.Get(name); v.Kind() == exactjson.Object {
			if parts := Parts(exactjson.ArrayValue(exactjson.ObjectValue(exactjson.Member{Name: name, Value: v}))); len(parts) == 1 && (parts[0].Type == tape.PartToolCall || parts[0].Type == tape.PartToolResult) {
				return &parts[0], true
			}
		}
	}
	return p, false
}
