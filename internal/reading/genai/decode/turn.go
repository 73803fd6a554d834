// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"slices"

	"github.com/tapedeck/tapedeck/tape"
)

// OneTurn joins the output messages of one model call into one message: they are parts of one answer. Where
// the messages hold a whole loop (calls, their results, a further answer), it joins those before the first
// result, and the others follow as they are.
func OneTurn(messages []Message) []Message {
	if len(messages) == 1 {
		return turnsApart(messages[0])
	}
	if len(messages) == 0 {
		return nil
	}
	if end := LoopAt(messages); end > 0 {
		return append(OneTurn(messages[:end:end]), messages[end:]...)
	}
	if last := len(messages) - 1; repeats(messages[last], messages[:last]) {
		return messages[last:]
	}
	joined := Message{Role: tape.RoleAssistant}
	for _, m := range messages {
		joined.Parts = append(joined.Parts, m.Parts...)
		FillString(&joined.FinishReason, m.FinishReason)
	}
	return []Message{joined}
}

// turnsApart parts a message that holds a call, the result of the client's own tool, and what followed it.
func turnsApart(m Message) (messages []Message) {
	called := map[string]bool{}
	begin := 0
	for i := range m.Parts {
		isResult := m.Parts[i].Type == tape.PartToolResult
		if m.Parts[i].Type == tape.PartToolCall {
			called[m.Parts[i].ID] = true
		}
		if isResult && !called[m.Parts[i].ID] {
			return []Message{m}
		}
		if i > begin && isResult != (m.Parts[i-1].Type == tape.PartToolResult) {
			messages, begin = append(messages, pieceOf(m, begin, i)), i
		}
	}
	if len(messages) < 2 || m.Parts[begin].Type == tape.PartToolResult {
		return []Message{m}
	}
	messages = append(messages, pieceOf(m, begin, len(m.Parts)))
	messages[len(messages)-1].FinishReason = m.FinishReason
	return messages
}

// pieceOf is a message of some parts of another one.
func pieceOf(m Message, from, to int) Message {
	piece := Message{Role: m.Role, Parts: m.Parts[from:to:to]}
	if m.Parts[from].Type == tape.PartToolResult {
		piece.Role = tape.RoleTool
	}
	return piece
}

// LoopAt is the place of the first results behind an answer with calls. It is 0 where the messages hold no
// loop.
func LoopAt(messages []Message) int {
	asked := false
	for i := range messages {
		if HoldsResults(&messages[i]) {
			if asked {
				return i
			}
			return 0
		}
		asked = asked || slices.ContainsFunc(messages[i].Parts, func(p Part) bool { return p.Type == tape.PartToolCall })
	}
	return 0
}

// HoldsResults reports a message of nothing but results of tools.
func HoldsResults(m *Message) bool {
	return len(m.Parts) > 0 && !slices.ContainsFunc(m.Parts, func(p Part) bool { return p.Type != tape.PartToolResult })
}

// repeats reports a message that says all of the messages before it once more: the same text, and each call that they name by its id. Streamed answers of ADK are recorded as
// their chunks, in which a call has no arguments yet, and then as a whole.
func repeats(whole Message, chunks []Message) bool {
	said := func(messages ...Message) (text string, calls []string) {
		for _, m := range messages {
			for i := range m.Parts {
				switch p := &m.Parts[i]; p.Type {
				case tape.PartText:
					text += p.Text
				case tape.PartToolCall:
					calls = append(calls, p.ID)
				}
			}
		}
		return text, calls
	}
	before, named := said(chunks...)
	text, calls := said(whole)
	missing := func(id string) bool { return id == "" || !slices.Contains(calls, id) }
	return before == text && len(before)+len(named) > 0 && !slices.ContainsFunc(named, missing)
}
