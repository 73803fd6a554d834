// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

// MaxTranscripts bounds how many recorded values are read in search of answers.
const MaxTranscripts = 256

// ConversationIn is the conversation in a recorded value, without what a framework says again of an answer by
// a call. Where the last message of a cut value ends is not known, so it is left out. A cut result of which
// nothing is left was recorded together with its call, as in messages for a page; then the cut is in the
// call.
func ConversationIn(c genai.Content) []genai.Message {
	messages := decode.Transcript(c.Value)
	n := len(messages)
	switch {
	case c.Label != tape.Truncated || n == 0:
		if Echo(messages) != nil {
			n -= 2
		}
	case n > 1 && endsInLostResult(messages[n-1]):
		n -= 2
	default:
		n--
	}
	return messages[:n]
}

func endsInLostResult(m genai.Message) bool {
	if len(m.Parts) == 0 {
		return false
	}
	p := m.Parts[len(m.Parts)-1]
	return p.Type == tape.PartToolResult && p.Result.IsAbsent()
}

// ConversationOfState are the messages of a recorded value, as requests hold them.
func ConversationOfState(c genai.Content) (messages []*Message) {
	for _, m := range ConversationIn(c) {
		messages = append(messages, NewMessage(m))
	}
	return messages
}
