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
	for i := range messages {
		m := &messages[i]
		if m.Role != tape.RoleAssistant {
			continue
		}
		var parts []Part
		for k := range m.Parts {
			p := &m.Parts[k]
			these, ok := listedCalls(p)
			if call, is := writtenCall(p); is {
				these, ok = []Part{call}, true
			}
			switch {
			case ok && parts == nil:
				parts = append(slices.Clone(m.Parts[:k]), these...)
			case ok:
				parts = append(parts, these...)
			case parts != nil:
				parts = append(parts, *p)
			}
		}
		if parts != nil {
			if !opened {
				messages, opened = slices.Clone(messages), true
			}
			messages[i].Parts = parts
		}
	}
	if opened {
		return OneTurn(messages)
	}
	return messages
}

// callsTitle stands before the calls that a framework lists behind the text of an answer.
const callsTitle = "Tool calls: ["

// listedCalls reads a text that ends with the list of its calls as LangChain keeps them, as str() or JSON writes it (NVIDIA's NeMo Agent Toolkit). No model knows the ids of its calls.
//
//	I look.
//
//	Tool calls: [{'name': 'f', 'args': {'x': 1}, 'id': 'call_1', 'type': 'tool_call'}]
func listedCalls(p *Part) ([]Part, bool) {
	if p.Type != tape.PartText || p.Label != "" || !strings.Contains(p.Text, callsTitle) {
		return nil, false
	}
	at := strings.LastIndex(p.Text, callsTitle)
	if strings.TrimSpace(p.Text[:at]) != "" && !strings.HasSuffix(p.Text[:at], "\n") {
		return nil, false
	}
	text := p.Text[at+len(callsTitle)-1:]
	list, ok := ParseStructure(text)
	if !ok {
		literal, lossy, is := Python(text)
		list, ok = literal, is && !lossy
	}
	if !ok || list.Kind() != exactjson.Array || list.Len() == 0 {
		return nil, false
	}
	var parts []Part
	if said := strings.TrimSpace(p.Text[:at]); said != "" {
		parts = append(parts, TextPart(said))
	}
	for _, m := range list.Members() {
		name, id := m.Value.Get("name").Str(), m.Value.Get("id").Str()
		if name == "" || id == "" || m.Value.Get("type").Str() != "tool_call" || m.Value.Get("args").Kind() != exactjson.Object {
			return nil, false
		}
		parts = append(parts, CallPart(id, name, m.Value.Get("args")))
	}
	return parts, true
}

// writtenCall reads the text of a call as an API has it.
func writtenCall(p *Part) (Part, bool) {
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
