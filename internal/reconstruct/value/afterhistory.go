// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/tape"
)

// afterHistory is the prompt of the model where the run span recorded an earlier turn, or the conversation as
// one text.
//
// Needs: a request with an answer that asks for nothing.
// Refuses: any other record: it is better than a prompt, which may hold words of the framework.
// Seen in: programs that give an agent the history of a chat.
func (in *inputFacts) afterHistory(recorded string) string {
	if !slices.ContainsFunc(in.sent, isAnswer) {
		return recorded
	}
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	recorded = strings.TrimSpace(recorded)
	var all []string
	earlier, answered := false, false // the record is a user message, and the model has answered it since
	for _, m := range in.sent {
		text := chat.PartsText(m.Parts)
		switch m.Tape.Role {
		case tape.RoleUser:
			earlier = earlier || strings.TrimSpace(text) == recorded
		case tape.RoleAssistant:
			answered = answered || earlier && isAnswer(m)
		case tape.RoleSystem:
			continue
		}
		all = append(all, text)
	}
	if answered || words(strings.Join(all, " ")) == words(recorded) {
		return in.prompt
	}
	return recorded
}

// isAnswer reports a message in which the model said something and asked for nothing.
func isAnswer(m *chat.Message) bool {
	return m.Tape.Role == tape.RoleAssistant && chat.PartsText(m.Parts) != "" && !decode.HasCallParts(m.Parts)
}
