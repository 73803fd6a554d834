// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// This file makes and tells the parts of messages that are calls of tools and their results.

// ChatCalls reads tool_calls of the chat shape: {id, type, function{name, arguments}} or {id, name, args|arguments|input}.
func ChatCalls(calls exactjson.Value) []Part {
	parts := slices.Grow([]Part(nil), min(calls.Len(), maxRoom))
	for _, m := range calls.Members() {
		call := m.Value
		if inner := call.Get("tool_call"); inner.Kind() == exactjson.Object {
			call = inner
		}
		if printed, _, ok := Fields(call.Str()); ok && printed.Get("function").Get("name").Str() != "" {
			call = printed // the package's own object, as str() writes it: function=FunctionCall(name='f', arguments='{}') id='c1'
		}
		id := TextOfID(call.First("id", "tool_call_id", "toolCallId", "toolUseId", "call_id"))
		f := call
		if inner := call.Get("function"); inner.Kind() == exactjson.Object {
			f = inner
		}
		args := f.Get("arguments")
		if args.IsAbsent() {
			args = f.First("args", "input", "parameters")
		}
		parts = append(parts, CallPart(id, f.First("name", "toolName", "tool_name").Str(), args))
	}
	return parts
}

// CallPart makes a tool call. Arguments that are text are decoded; the text is kept if it differs from the canonical form.
func CallPart(id, name string, args exactjson.Value) Part {
	if n, ok := quotedName(name); ok {
		name, args = n, unquoted(args)
	}
	p := Part{Part: tape.Part{Type: tape.PartToolCall, ID: id, Name: name}}
	if args.IsAbsent() {
		return p
	}
	c := Args(args)
	p.Args, p.Label, p.Masked = c.Value, c.Label, c.Masked
	if c.Text != "" && c.Value.Kind() != exactjson.String {
		if canonical, err := c.Value.Canonical(); err != nil || canonical != c.Text {
			p.ArgsText = c.Text
		}
	}
	return p
}

// quotedName takes off the quotes of Python's repr() that stand around the name of a tool (AWS's instrumentation of CrewAI, which puts them around the arguments as well): no tool has such a name.
func quotedName(name string) (string, bool) {
	if len(name) < 3 || name[0] != '\'' || name[len(name)-1] != '\'' || strings.ContainsAny(name[1:len(name)-1], "'\\ ") {
		return "", false
	}
	return name[1 : len(name)-1], true
}

// unquoted is the text that Python's repr() wrote, any other value itself.
func unquoted(v exactjson.Value) exactjson.Value {
	if text := v.Str(); len(text) > 1 && (text[0] == '\'' || text[0] == '"') && text[len(text)-1] == text[0] {
		if inner, lossy, ok := Python("[" + text + "]"); ok && !lossy && inner.Len() == 1 && inner.At(0).Kind() == exactjson.String {
			return inner.At(0)
		}
	}
	return v
}

// ResultPart makes a tool result and removes the envelopes around it.
func ResultPart(id, name string, result exactjson.Value, isError bool) Part {
	p := Part{Part: tape.Part{Type: tape.PartToolResult, ID: id, Name: name, IsError: isError}}
	c := unwrapResult(Content{Value: result})
	if p.Result, p.Envelope = c.Content.Value, c.Content.Envelope; len(p.Envelope) > 0 {
		p.Wrapped = result
	}
	p.IsError = p.IsError || c.IsError
	if p.ID == "" {
		p.ID = c.CallID
	}
	if p.Result.Kind() == exactjson.String {
		p.Label = LabelOf(p.Result.Str())
		if IsObjectTag(p.Result.Str()) {
			p.Label = tape.Lossy // it says that there was a result
		}
	}
	if p.Label == "" {
		p.Label = masksIn(p.Result)
		p.Masked = p.Label == tape.Lossy
	}
	return p
}

// TextOfID reads a call id. It removes padding, and of a list of ids it returns the provider's own.
func TextOfID(v exactjson.Value) string {
	if v.Kind() == exactjson.Array {
		for _, m := range v.Members() {
			if id := UsableID(m.Value.Str()); strings.HasPrefix(id, "call_") || strings.HasPrefix(id, "toolu_") {
				return id
			}
		}
		return UsableID(v.At(v.Len() - 1).Str())
	}
	return UsableID(v.Text())
}

// UsableID returns the id, "" for a placeholder.
func UsableID(id string) string {
	id = strings.TrimSpace(id)
	switch id {
	case "<not specified>", "unknown", "None", "null", "N/A":
		return ""
	}
	return id
}

// HasCallParts reports whether one of the parts is a tool call.
func HasCallParts(parts []Part) bool {
	return anyPart(parts, func(p *Part) bool { return p.Type == tape.PartToolCall })
}

// anyPart reports that something holds for one of the parts. Parts are large: they are looked at where they
// stand.
func anyPart(parts []Part, holds func(*Part) bool) bool {
	for i := range parts {
		if holds(&parts[i]) {
			return true
		}
	}
	return false
}

// HasCalls reports whether a message asks for a tool.
func HasCalls(m Message) bool { return HasCallParts(m.Parts) }

func allResults(parts []Part) bool {
	return !anyPart(parts, func(p *Part) bool { return p.Type != tape.PartToolResult })
}

func hasResult(parts []Part) bool {
	return anyPart(parts, func(p *Part) bool { return p.Type == tape.PartToolResult })
}

// hasResultPart reports whether a tool message's body holds explicit result parts.
func hasResultPart(body exactjson.Value) bool {
	for _, m := range body.Members() {
		if p, ok := PartOf(m.Value); ok && p.Type == tape.PartToolResult {
			return true
		}
	}
	return false
}

// DropEmptyArgs takes the empty arguments of calls away, where an instrumentation writes them for those that it did not gather. It reports that there were some.
func DropEmptyArgs(messages []Message) (dropped bool) {
	for m := range messages {
		parts := messages[m].Parts
		for i := range parts {
			if p := &parts[i]; p.Type == tape.PartToolCall && p.Args.Kind() == exactjson.Object && p.Args.Len() == 0 {
				p.Args, p.ArgsText, dropped = exactjson.Value{}, "", true
			}
		}
	}
	return dropped
}
