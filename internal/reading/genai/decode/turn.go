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
	if len(messages) < 2 {
		return messages
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

// LoopAt is the place of the first results behind an answer with calls, where an answer follows them. It is 0
// where the messages hold no loop.
func LoopAt(messages []Message) int {
	asked := false
	for i := range messages {
		if HoldsResults(&messages[i]) {
			if asked && slices.ContainsFunc(messages[i:], func(m Message) bool { return m.Role == tape.RoleAssistant && !HoldsResults(&m) }) {
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
