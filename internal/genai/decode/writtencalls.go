// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// OpenWrittenCalls reads the calls that an instrumentation wrote as the text of an answer: {"name": "f", "arguments": "{\"x\": 1}"}, an item of OpenAI's answer as
// JSON. A model that writes its calls itself writes the arguments as an object; only an API has them as a text within. An answer with such a call is one turn.
func OpenWrittenCalls(messages []Message) []Message {
	opened := false
	for i, m := range messages {
		if m.Role != tape.RoleAssistant {
			continue
		}
		cloned := false
		for k, p := range m.Parts {
			call, ok := writtenCall(p)
			if !ok {
				continue
			}
			if !cloned {
				messages = slices.Clone(messages)
				messages[i].Parts, cloned, opened = slices.Clone(m.Parts), true, true
			}
			messages[i].Parts[k] = call
		}
	}
	if opened {
		return OneTurn(messages)
	}
	return messages
}

// writtenCall reads the text of a call as an API has it.
func writtenCall(p Part) (Part, bool) {
	if p.Type != tape.PartText || p.Label != "" || !strings.HasPrefix(strings.TrimSpace(p.Text), "{") || !strings.Contains(p.Text, `"arguments"`) {
		return Part{}, false
	}
	v, err := exactjson.Parse(p.Text)
	if err != nil || v.Kind() != exactjson.Object {
		return Part{}, false
	}
	for _, m := range v.Members() {
		switch m.Name {
		case "name", "arguments", "id", "call_id", "status":
		case "type":
			if m.Value.Str() != "function_call" {
				return Part{}, false
			}
		default:
			return Part{}, false
		}
	}
	args, err := exactjson.Parse(v.Get("arguments").Str())
	name := v.Get("name").Str()
	if err != nil || args.Kind() != exactjson.Object || name == "" || strings.ContainsAny(name, " \n") {
		return Part{}, false
	}
	return CallPart(TextOfID(v.First("call_id", "id")), name, v.Get("arguments")), true
}

// callOf reads the call that a message of the assistant is which names the id of one: its content is the name and the arguments (Netra, a message for each call).
//
//	{"role": "assistant", "tool_call_id": "call_1", "content": "{\"name\": \"f\", \"arguments\": \"{}\"}"}
func callOf(id string, parts []Part) (Part, bool) {
	if id == "" || len(parts) != 1 || parts[0].Type != tape.PartText {
		return Part{}, false
	}
	v, _ := ParseStructure(parts[0].Text)
	name, args := v.Get("name").Str(), v.Get("arguments")
	if v.Kind() != exactjson.Object || v.Len() != 2 || name == "" || args.IsAbsent() {
		return Part{}, false
	}
	return CallPart(id, name, args), true
}
