// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// smolagents sends tasks, calls and results as texts. What they begin with tells them, whoever records them and under whatever role.
const (
	taskPrefix        = "New task:\n"
	callsPrefix       = "Calling tools:\n"
	observationPrefix = "Observation:\n"
)

// smolagents is how its instructions begin: for a step, and for the answer when there are no steps left.
var smolagents = []string{"You are an expert assistant who can solve any task using ", "An agent tried to answer a user query but it got stuck and failed to do so."}

// OpenActions reads the calls and results that stand as texts in the messages of smolagents, and tells the task from the words before it. Other
// messages are returned as they are.
func OpenActions(messages []Message) []Message {
	if len(messages) == 0 || messages[0].Role != tape.RoleSystem || !slices.ContainsFunc(smolagents, func(s string) bool { return strings.HasPrefix(soleText(messages[0]), s) }) {
		return messages
	}
	for i := 1; i < len(messages); i++ {
		m := &messages[i]
		text := soleText(*m)
		if task, ok := strings.CutPrefix(text, taskPrefix); ok && m.Role == tape.RoleUser {
			prefix := TextPart(taskPrefix)
			prefix.Injected = true
			m.Parts = []Part{prefix, TextPart(task)}
			continue
		}
		if list, ok := strings.CutPrefix(text, callsPrefix); ok {
			if calls, lossy, ok := Python(list); ok && !lossy && calls.Kind() == exactjson.Array && calls.Len() > 0 {
				m.Role, m.Parts = tape.RoleAssistant, ChatCalls(calls)
			}
			continue
		}
		if text, ok := strings.CutPrefix(text, observationPrefix); ok && messages[i-1].Role == tape.RoleAssistant && HasCalls(messages[i-1]) {
			m.Role, m.Parts = tape.RoleTool, observed(text, messages[i-1].Parts)
		}
	}
	return messages
}

// soleText is the text of a message that holds nothing else.
func soleText(m Message) string {
	if len(m.Parts) != 1 || m.Parts[0].Type != tape.PartText {
		return ""
	}
	return m.Parts[0].Text
}

// observed are the results of the calls of one message. The text holds all of them, one below the other. Of several, nothing says where one ends: as many
// lines as there are calls are taken for a line each, and labelled.
func observed(text string, calls []Part) []Part {
	lines := []string{text}
	var label tape.Label
	if len(calls) > 1 {
		if lines = strings.Split(text, "\n"); len(lines) != len(calls) {
			return []Part{TextPart(text)}
		}
		label = tape.Lossy
	}
	var results []Part
	for i, call := range calls {
		p := ResultPart(call.ID, call.Name, exactjson.StringValue(lines[i]), false)
		if label != "" {
			p.Label = label
		}
		results = append(results, p)
	}
	return results
}
