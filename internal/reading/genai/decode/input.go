// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Many producers write one attribute for everything that went into a span and one for everything that came
// out. Each holds a text, a provider's request or response, or the arguments or return value of a function.

// maxInput bounds wrappings of an input or output.
const maxInput = 4

// InputMessages reads the input of an agent: a text, messages, a request, or the arguments of the function
// that runs the agent.
func InputMessages(v exactjson.Value, depth int) ([]Message, []Part) {
	inner, ok := Structure(v)
	if !ok {
		return textInput(v), nil
	}
	if depth < maxInput && inner.Kind() == exactjson.Object {
		for _, read := range [...]func(exactjson.Value, int) ([]Message, []Part, bool){
			argumentInput, eventInput, askedInput, wrappedInput,
		} {
			if messages, system, ok := read(inner, depth); ok {
				return messages, system
			}
		}
	}
	if inner.Kind() == exactjson.Array && !IsMessageList(inner) {
		return nil, nil
	}
	messages, system := RequestMessages(inner, tape.RoleUser)
	if task := inner.Get("task"); len(messages) == 0 && task.Kind() == exactjson.String && inner.First("role", "type", "id").IsAbsent() {
		messages, _ = Messages(task, tape.RoleUser) // smolagents and AutoGen call so what an agent is run with
	}
	return messages, system
}

func textInput(v exactjson.Value) []Message {
	text, ok := WholeText(v)
	if !ok || strings.TrimSpace(text) == "" || isBrokenStructure(text) {
		return nil
	}
	messages, _ := Messages(exactjson.StringValue(text), tape.RoleUser)
	return messages
}

// argumentInput reads the only argument of a function, or its named arguments. A user may write JSON that is
// no request.
func argumentInput(v exactjson.Value, depth int) (messages []Message, system []Part, ok bool) {
	args, kwargs := v.Get("args"), v.Get("kwargs")
	switch {
	case args.Kind() != exactjson.Array:
		return nil, nil, false
	case args.Len() == 0 && kwargs.Kind() == exactjson.Object:
		messages, system = InputMessages(kwargs, depth+1)
		return messages, system, true
	case args.Len() != 1 || kwargs.Len() != 0:
		return nil, nil, false
	}
	messages, system = InputMessages(args.At(0), depth+1)
	if text := args.At(0).Str(); len(messages) == 0 && strings.HasPrefix(strings.TrimSpace(text), "{") {
		said, ok := ParseStructure(text)
		if ok && said.First("messages", "input", "inputs", "kwargs", "args").IsAbsent() {
			messages = []Message{{Role: tape.RoleUser, Parts: []Part{TextPart(text)}}}
		}
	}
	return messages, system, true
}

// eventInput reads the event that starts a workflow of LlamaIndex.
func eventInput(v exactjson.Value, depth int) (messages []Message, system []Part, ok bool) {
	event, ok := Structure(v.Get("start_event"))
	if !ok || event.Kind() != exactjson.Object {
		return nil, nil, false
	}
	messages, system = InputMessages(event, depth+1)
	return messages, system, true
}

// askedInput reads what an agent of LlamaIndex is asked.
func askedInput(v exactjson.Value, _ int) ([]Message, []Part, bool) {
	asked := v.Get("user_msg").Str()
	if asked == "" {
		return nil, nil, false
	}
	history, _ := Messages(v.Get("chat_history"), tape.RoleUser)
	return append(history, Message{Role: tape.RoleUser, Parts: []Part{TextPart(asked)}}), nil, true
}

func wrappedInput(v exactjson.Value, depth int) (messages []Message, system []Part, ok bool) {
	for _, name := range []string{"inputs", "input"} {
		if wrapped := v.Get(name); wrapped.Kind() == exactjson.Object {
			messages, system = InputMessages(wrapped, depth+1)
			return messages, system, true
		}
	}
	return nil, nil, false
}

// isBrokenStructure tells a structure that was cut, or written as a Python repr, from a text that happens to
// begin with a bracket.
func isBrokenStructure(text string) bool {
	text = strings.TrimSpace(text)
	for _, begin := range []string{`{"`, `{'`, `[{`, `["`, `['`, `[[`, "{}", "[]"} {
		if strings.HasPrefix(text, begin) {
			return true
		}
	}
	return false
}
