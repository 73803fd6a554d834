// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// sentBefore are the instructions that a function or a step of the program recorded before the very messages
// of the first request: the body that was sent.
//
// Needs: a step that returned a conversation of instructions and exactly these messages.
// Refuses: a request that is not whole, or that does not begin with the user.
// Seen in: Mastra before it had tracing of its own.
func sentBefore(in *inputFacts) string {
	if in.list != "" || in.later > 0 || len(in.sent) == 0 || in.sent[0].Tape.Role != tape.RoleUser {
		return ""
	}
	looked, found := 0, ""
	look := func(n *spantree.Node) bool {
		if n.Obs.Class != genai.Structure || n.Obs.Called == nil || looked == chat.MaxTranscripts {
			return false
		}
		looked++
		body := decode.Transcript(n.Obs.Called.Out)
		if len(body) == 0 || body[0].Role != tape.RoleSystem || !areMessages(body[1:], in.sent) {
			return false
		}
		found = chat.PartsText(body[0].Parts)
		return found != ""
	}
	if n := in.Fragment.FunctionAround(); n == nil || !look(n) {
		spantree.AnySpan(in.Fragment.Heads, look)
	}
	return found
}

// areMessages reports recorded messages that are those of a conversation.
func areMessages(recorded []genai.Message, conversation []*chat.Message) bool {
	if len(recorded) != len(conversation) {
		return false
	}
	for i, m := range conversation {
		if same, _ := chat.NewMessage(recorded[i]).Equal(m); !same {
			return false
		}
	}
	return true
}
