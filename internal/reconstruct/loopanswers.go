// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// answerLoops takes the text behind the last call of an answer for that of a model call without a span.
//
// Needs: all calls of the answer ran below the span of the model call, which therefore stands for a loop.
// Refuses: a call that no span reports.
// Seen in: Google's client, which calls functions by itself.
func (c *collector) answerLoops() {
	for _, m := range slices.Clone(c.models) {
		end := endOfCalls(m)
		if end == 0 || slices.ContainsFunc(m.asked, func(a *asked) bool { return a.tool == nil || !hangsBelow(m, a.tool) }) {
			continue
		}
		name, parts := m.response.tape.Name, m.response.parts
		m.response = newMessage(genai.Message{Role: tape.RoleAssistant, Name: name, Parts: parts[:end:end]})
		said := newMessage(genai.Message{Role: tape.RoleAssistant, Name: name, Parts: parts[end:]})
		c.models = append(c.models, m.another(m.end, m.conversation(), said, "no span reports this call; that of the loop around it holds its answer"))
	}
	c.sortModels()
}

// endOfCalls is the place behind the last call of an answer that ends with texts, 0 for any other answer.
func endOfCalls(m *call) int {
	if m.response == nil || len(m.nodes) == 0 || len(m.asked) == 0 {
		return 0
	}
	parts := m.response.parts
	end := len(parts)
	for end > 0 && parts[end-1].Type == tape.PartText {
		end--
	}
	if end == 0 || end == len(parts) || parts[end-1].Type != tape.PartToolCall {
		return 0
	}
	return end
}
