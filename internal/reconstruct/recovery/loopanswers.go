// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape"
)

// AnswerLoops takes the text behind the last call of an answer for that of a model call without a span.
//
// Needs: all calls of the answer ran below the span of the model call, which therefore stands for a loop.
// Refuses: a call that no span reports.
// Seen in: Google's client, which calls functions by itself.
func AnswerLoops(c *ledger.Ledger) {
	for _, m := range slices.Clone(c.Models) {
		end := EndOfCalls(m)
		if end == 0 || slices.ContainsFunc(m.Asked, func(a *ledger.Asked) bool { return a.Tool == nil || !ledger.HangsBelow(m, a.Tool) }) {
			continue
		}
		name, parts := m.Response.Tape.Name, m.Response.Parts
		m.Response = chat.NewMessage(genai.Message{Role: tape.RoleAssistant, Name: name, Parts: parts[:end:end]})
		said := chat.NewMessage(genai.Message{Role: tape.RoleAssistant, Name: name, Parts: parts[end:]})
		c.Models = append(c.Models, m.Another(m.End, m.Conversation(), said, "no span reports this call; that of the loop around it holds its answer"))
	}
	c.SortModels()
}

// EndOfCalls is the place behind the last call of an answer that ends with texts, 0 for any other answer.
func EndOfCalls(m *ledger.Call) int {
	if m.Response == nil || len(m.Nodes) == 0 || len(m.Asked) == 0 {
		return 0
	}
	parts := m.Response.Parts
	end := len(parts)
	for end > 0 && parts[end-1].Type == tape.PartText {
		end--
	}
	if end == 0 || end == len(parts) || parts[end-1].Type != tape.PartToolCall {
		return 0
	}
	return end
}
