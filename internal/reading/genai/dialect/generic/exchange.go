// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"iter"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// This file tells a model call by its values alone, under keys in any language: one value is the answer of a
// model, another one what the model was asked. Bodies under the keys of HTTP do not count: an agent that
// speaks the API of a provider itself has them too.

// exchanged reports a span that holds both.
func exchanged(span ptrace.Span) bool {
	_, _, ok := exchange(span)
	return ok
}

// exchange returns the two, from the attributes of a span and of its events. ok is false where one is
// missing, or several values may be it.
func exchange(span ptrace.Span) (asked, answered content, ok bool) {
	if asked, answered, ok = stepAnswered(span); ok {
		return asked, answered, true
	}
	for key, v := range values(span) {
		if !mayAnswer(v) || isForeign(key) {
			continue
		}
		if value, is := answerOf(v); is {
			if answered.stem != "" {
				return content{}, content{}, false
			}
			answered = content{stem: key, value: value}
		}
	}
	if answered.stem == "" {
		return content{}, content{}, false
	}
	for key, v := range values(span) {
		if key == answered.stem || !mayHoldMessages(v, 0) || isForeign(key) {
			continue
		}
		value := literal(decode.JSONOf(v))
		messages := decode.Transcript(value)
		if len(messages) == 0 || messages[len(messages)-1].Role == tape.RoleAssistant {
			continue
		}
		if asked.stem != "" {
			return content{}, content{}, false
		}
		asked = content{stem: key, value: value}
	}
	return asked, answered, asked.stem != ""
}

// values yields the attributes of a span and of its events, the latter with the name of the event before
// their keys.
func values(span ptrace.Span) iter.Seq2[string, pcommon.Value] {
	return func(yield func(string, pcommon.Value) bool) {
		for key, v := range span.Attributes().All() {
			if !yield(key, v) {
				return
			}
		}
		for _, e := range span.Events().All() {
			for key, v := range e.Attributes().All() {
				if !yield(e.Name()+"."+key, v) {
					return
				}
			}
		}
	}
}

// mayAnswer tells, without decoding it, whether a value may be the answer of a model.
func mayAnswer(v pcommon.Value) bool {
	if v.Type() != pcommon.ValueTypeStr || len(v.Str()) < 20 {
		return false
	}
	text := v.Str()
	return (text[0] == '{' || text[0] == '[') && (strings.Contains(text, `"choices"`) || strings.Contains(text, `"candidates"`) || strings.Contains(text, `"stop_reason"`) || quotes(text, "assistant") ||
		quotes(text, "bot") && quotes(text, speakers...))
}

// answerOf returns the response of a provider, or the one message of a model.
func answerOf(v pcommon.Value) (exactjson.Value, bool) {
	value := literal(decode.JSONOf(v))
	object, ok := decode.Structure(value)
	if !ok || object.Kind() == exactjson.Object && !object.First("messages", "contents", "input").IsAbsent() {
		return value, false // a request
	}
	if isResponse(object) {
		return object, true
	}
	if object.Kind() == exactjson.Object {
		object = exactjson.ArrayValue(object)
	}
	if !decode.IsMessageList(object) {
		return value, false
	}
	messages, _ := decode.Messages(object, tape.RoleUser) // which no message has that does not say who speaks
	return object, len(messages) == 1 && messages[0].Role == tape.RoleAssistant
}
