// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"regexp"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

const (
	// maxTranscriptDepth bounds how deep in objects, lists and JSON texts a transcript is looked for.
	maxTranscriptDepth = 8
	// maxTranscriptValues bounds how many values are looked at.
	maxTranscriptValues = 20_000
)

// stateRepr is how a dict of Python begins, as str() writes it, whose first member is a list of messages: the state of a graph.
var stateRepr = regexp.MustCompile(`^\s*\{'\w+': \[(?:\w+\.)*\w*Message\(`)

// Transcript returns the longest list of messages that a recorded value holds, however deep it lies in objects, lists and JSON texts;
// nil when there is none. Frameworks record the state of a run in this way: all messages so far, under a name of their own.
func Transcript(v exactjson.Value) []Message {
	t := transcript{values: maxTranscriptValues}
	t.look(v, 0)
	return t.longest
}

// OnlyTranscript returns the transcript that a recorded value holds, nil when it holds several that are not the same. One that was not answered
// counts if it begins with instructions: CrewAI keeps the answer to a task without tools beside it.
func OnlyTranscript(v exactjson.Value) []Message {
	t := transcript{values: maxTranscriptValues, every: true}
	t.look(v, 0)
	if t.several {
		return nil
	}
	return t.longest
}

type transcript struct {
	longest []Message
	every   bool // lists that are shorter than the longest count too
	several bool
	json    string // the list that was found, where every one counts
	values  int
}

func (t *transcript) look(v exactjson.Value, depth int) {
	if t.values--; depth > maxTranscriptDepth || t.values < 0 {
		return
	}
	switch v.Kind() {
	case exactjson.String:
		if inner, ok := Structure(v); ok {
			t.look(inner, depth+1)
		} else if stateRepr.MatchString(v.Str()) {
			if inner, ok := Representation(v.Str()); ok {
				t.look(inner, depth+1)
			}
		}
	case exactjson.Array:
		if (t.every || v.Len() > len(t.longest)) && IsMessageList(v) && v.At(0).Kind() != exactjson.Array {
			if t.every {
				if messages, ok := Messages(v, tape.RoleAssistant); ok && HasRole(messages, tape.RoleUser) && (HasRole(messages, tape.RoleAssistant) || messages[0].Role == tape.RoleSystem) {
					t.several = t.several || t.json != "" && t.json != v.JSON()
					t.longest, t.json = messages, v.JSON()
					return
				}
			} else if messages, ok := Messages(v, tape.RoleAssistant); ok && len(messages) > len(t.longest) {
				t.longest = messages
				return
			}
		}
		for _, m := range v.Members() {
			t.look(m.Value, depth+1)
		}
	case exactjson.Object:
		for _, m := range v.Members() {
			t.look(m.Value, depth+1)
		}
	}
}

// OnlyAnswer returns the one message that a recorded value holds, however deep it lies, if the assistant says something in it and asks for nothing.
func OnlyAnswer(v exactjson.Value) (said Message, ok bool) {
	values, found := maxTranscriptValues, 0
	var look func(v exactjson.Value, depth int)
	look = func(v exactjson.Value, depth int) {
		if values--; values < 0 {
			found = 2 // not all of it was seen
		}
		if depth > maxTranscriptDepth || found > 1 {
			return
		}
		switch v.Kind() {
		case exactjson.String:
			if inner, structured := Structure(v); structured {
				look(inner, depth+1)
			}
			return
		case exactjson.Object:
			if role, known := KnownRole(v.Get("role").Str()); known && !v.First("content", "parts", "blocks").IsAbsent() {
				found++
				said = RoleMessage(v, role)
				return
			}
		}
		if v.Kind() >= exactjson.Array {
			for _, m := range v.Members() {
				look(m.Value, depth+1)
			}
		}
	}
	look(v, 0)
	if found != 1 || said.Role != tape.RoleAssistant || HasCalls(said) {
		return Message{}, false
	}
	for _, p := range said.Parts {
		ok = ok || p.Type == tape.PartText && p.Text != ""
	}
	return said, ok
}
