// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

// sentBefore are the instructions that a function or a step of the program recorded before the very messages of the
// first request: the body that was sent.
//
// Needs: a step that returned a conversation of instructions and exactly these messages.
// Refuses: a request that is not whole, or that does not begin with the user.
// Seen in: Mastra before it had tracing of its own.
func sentBefore(in *inputFacts) string {
	if in.list != "" || in.later > 0 || len(in.sent) == 0 || in.sent[0].tape.Role != tape.RoleUser {
		return ""
	}
	looked, found := 0, ""
	look := func(n *node) bool {
		if n.obs.Class != genai.Structure || n.obs.Called == nil || looked == maxTranscripts {
			return false
		}
		looked++
		body := decode.Transcript(n.obs.Called.Out)
		if len(body) == 0 || body[0].Role != tape.RoleSystem || !areMessages(body[1:], in.sent) {
			return false
		}
		found = partsText(body[0].Parts)
		return found != ""
	}
	if n := in.fragment.functionAround(); n == nil || !look(n) {
		anySpan(in.fragment.heads, look)
	}
	return found
}

// areMessages reports recorded messages that are those of a conversation.
func areMessages(recorded []genai.Message, conversation []*message) bool {
	if len(recorded) != len(conversation) {
		return false
	}
	for i, m := range conversation {
		if same, _ := newMessage(recorded[i]).equal(m); !same {
			return false
		}
	}
	return true
}
