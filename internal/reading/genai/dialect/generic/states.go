// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// This file reads steps of a graph that tell two states in events under the same key: what they were given
// and what they returned (LangGraph4j's hook: lg4j.state in start and end). A step that was given a
// conversation in which it is the model's turn, and returned one message of the model, asked the model.

// maxStates bounds how many events of a span are looked at.
const maxStates = 16

// states returns the first conversation in an event of a span, and what the last event with an attribute of
// the same key holds, else the last event of all. Both are absent where no event tells a conversation, or no
// event follows it.
func states(span ptrace.Span) (before, after exactjson.Value) {
	events := span.Events()
	for i := range min(events.Len(), maxStates) {
		if key, value := conversationTold(events.At(i).Attributes()); key != "" {
			for j := min(events.Len(), maxStates) - 1; j > i; j-- {
				if out, ok := stateIn(events.At(j).Attributes(), key); ok {
					return value, out
				}
			}
			return exactjson.Value{}, exactjson.Value{}
		}
	}
	return exactjson.Value{}, exactjson.Value{}
}

// conversationTold returns the first conversation among the attributes of an event, in the order of their
// keys. The key is empty where none holds one.
func conversationTold(m pcommon.Map) (key string, value exactjson.Value) {
	for k, v := range m.All() {
		if isForeign(k) || key != "" && key < k || !mayHoldMessages(v, 0) {
			continue
		}
		if said := literal(decode.JSONOf(v)); len(decode.Transcript(said)) > 0 {
			key, value = k, said
		}
	}
	return key, value
}

// stateIn returns what an event tells of the state: the attribute of the given key, else the one value that
// holds messages.
func stateIn(m pcommon.Map, key string) (exactjson.Value, bool) {
	if v, ok := m.Get(key); ok {
		return literal(decode.JSONOf(v)), true
	}
	found, count := exactjson.Value{}, 0
	for key, v := range m.All() {
		if !isForeign(key) && v.Type() == pcommon.ValueTypeStr && len(v.Str()) > 1 && (v.Str()[0] == '{' || v.Str()[0] == '[') {
			if value := literal(decode.JSONOf(v)); len(messagesOf(value)) > 0 {
				found = value
				count++
			}
		}
	}
	return found, count == 1
}

// hasStates reports such a step.
func hasStates(span ptrace.Span) bool {
	if span.Events().Len() < 2 {
		return false
	}
	before, _ := states(span)
	return !before.IsAbsent()
}

// stepAnswered returns what such a step asked a model, and the answer.
func stepAnswered(span ptrace.Span) (asked, answered content, ok bool) {
	if span.Events().Len() < 2 {
		return content{}, content{}, false
	}
	before, after := states(span)
	if before.IsAbsent() {
		return content{}, content{}, false
	}
	given, said := decode.Transcript(before), messagesOf(after)
	if len(said) != 1 && len(said) != len(given)+1 {
		return content{}, content{}, false
	}
	answer, turn := said[len(said)-1], given[len(given)-1]
	if answer.Role != tape.RoleAssistant || turn.Role == tape.RoleAssistant && decode.HasCalls(turn) == decode.HasCalls(answer) {
		// of two answers in a row the second may be what a step made of the first, not where it alone asks
		// for tools; calls that nobody answered are none
		return content{}, content{}, false
	}
	all := listOf(after)
	last := all.At(all.Len() - 1)
	return content{stem: "before", value: before}, content{stem: "after", value: exactjson.ArrayValue(last)}, true
}

// beginWords are those of an event that tells what a step begins with.
var beginWords = []string{"start", "started", "begin", "enter", "entered", "before"}

// askedInVain returns the conversation with which a step began that tells no end and does not say that it
// ended well. It was the model's turn.
func askedInVain(span ptrace.Span) (asked content, ok bool) {
	if span.Status().Code() == ptrace.StatusCodeOk || span.Events().Len() == 0 || span.Events().Len() > maxStates {
		return content{}, false
	}
	for _, e := range span.Events().All() {
		if e.Name() == "exception" {
			continue
		}
		if w := words(e.Name()); asked.stem != "" || len(w) == 0 || !slices.Contains(beginWords, w[len(w)-1]) {
			return content{}, false
		}
		if key, value := conversationTold(e.Attributes()); key != "" {
			if given := decode.Transcript(value); given[len(given)-1].Role != tape.RoleAssistant {
				asked = content{stem: "before", value: value}
			}
		}
	}
	return asked, asked.stem != ""
}

// failedStep reports such a step.
func failedStep(span ptrace.Span) bool {
	_, ok := askedInVain(span)
	return ok
}

// messagesOf returns the messages of a state: the state itself, or the one member that holds messages.
func messagesOf(state exactjson.Value) []decode.Message {
	messages, _ := decode.Messages(listOf(state), tape.RoleUser)
	return messages
}

// listOf returns the list of messages in a state, or its one message as a list. The list is empty where there
// is none, or several.
func listOf(state exactjson.Value) exactjson.Value {
	object, _ := decode.Structure(state)
	asList := func(v exactjson.Value) (exactjson.Value, bool) {
		switch v.Kind() {
		case exactjson.Object:
			v = exactjson.ArrayValue(v)
		case exactjson.Array:
		default:
			return v, false // a text that looks like one is an answer
		}
		return v, v.Len() > 0 && decode.IsMessageList(v)
	}
	if list, ok := asList(object); ok {
		return list
	}
	found, count := exactjson.ArrayValue(), 0
	if object.Kind() == exactjson.Object {
		for _, m := range object.Members() {
			if list, ok := asList(m.Value); ok {
				found = list
				count++
			}
		}
	}
	if count != 1 {
		return exactjson.ArrayValue()
	}
	return found
}
