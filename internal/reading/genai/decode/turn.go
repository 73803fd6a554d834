// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"slices"

	"github.com/tapedeck/tapedeck/tape"
)

// OneTurn joins the output messages of one model call into one message: they are parts of one answer.
func OneTurn(messages []Message) []Message {
	if len(messages) < 2 {
		return messages
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
