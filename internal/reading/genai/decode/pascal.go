// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"slices"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Go and C# write the members of their own types as they are named there, with a capital: {"Role": "user", "Content": "hi"}, {"Choices": [{"Content": "…", "ToolCalls":
// […]}]}. What such members are called by everybody else is read; whatever lies in arguments and results is left as it is.

// pascal are the names of members of messages, calls and answers, by those with a capital.
var pascal = map[string]string{
	"Role": "role", "Content": "content", "Contents": "contents", "Text": "text", "Parts": "parts", "Type": "type", "Name": "name", "ID": "id", "Id": "id",
	"ToolCalls": "tool_calls", "ToolCallID": "tool_call_id", "ToolCallId": "tool_call_id", "Function": "function", "Arguments": "arguments", "Input": "input",
	"Choices": "choices", "Message": "message", "Messages": "messages", "FinishReason": "finish_reason", "StopReason": "finish_reason", "Model": "model", "Usage": "usage",
}

// pascalMarks are members of which a message, a request or an answer with capitals has one.
var pascalMarks = []string{"Role", "Content", "Choices", "Messages"}

// pascalInner are the members in which names go on.
var pascalInner = []string{"Content", "Contents", "Parts", "ToolCalls", "Function", "Choices", "Message", "Messages"}

// plainNames returns a message, a request or an answer with the names that everybody else gives its members; any other value as it is.
func plainNames(v exactjson.Value) exactjson.Value {
	if v.Kind() != exactjson.Object || !slices.ContainsFunc(pascalMarks, func(name string) bool { return !v.Get(name).IsAbsent() && v.Get(pascal[name]).IsAbsent() }) {
		return v
	}
	return renamed(v, 0)
}

func renamed(v exactjson.Value, depth int) exactjson.Value {
	switch {
	case depth > maxMessageNesting:
	case v.Kind() == exactjson.Array:
		return v.Map(func(_ int, m exactjson.Member) exactjson.Value { return renamed(m.Value, depth+1) })
	case v.Kind() == exactjson.Object:
		var members []exactjson.Member
		answer := false
		for _, m := range v.Members() {
			name, known := pascal[m.Name]
			if !known || !v.Get(name).IsAbsent() {
				name = m.Name
			}
			if slices.Contains(pascalInner, m.Name) {
				m.Value = renamed(m.Value, depth+1)
			}
			answer = answer || name == "finish_reason"
			members = append(members, exactjson.Member{Name: name, Value: m.Value})
		}
		if out := exactjson.ObjectValue(members...); !answer || out.Get("content").IsAbsent() || !out.Get("role").IsAbsent() {
			return out
		}
		return exactjson.ObjectValue(append(members, exactjson.Member{Name: "role", Value: exactjson.StringValue("assistant")})...) // a choice that is the message itself
	}
	return v
}
