// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

// readHanded completes the answer of a model call from the input of the step right after it. The output of
// the step are the results.
//
// Needs: an answer with the same text and calls as the last message of the input.
// Refuses: a call whose answer another state completed; a cut input.
// Seen in: graphs whose node of tools is handed the answer.
func (c *collector) readHanded() {
	for _, n := range c.readStates() {
		if n.obs.Class != genai.Structure || !n.obs.InputData.Present() {
			continue
		}
		before := lastOf(c.models, func(m *call) bool {
			return m.end <= n.start+rounding && m.start <= n.start && len(m.nodes) > 0 && siblingsOf(m.nodes[0]) == siblingsOf(n)
		})
		if before == nil || !lacksCalls(before) || c.transcripts[before].messages != nil {
			continue
		}
		if said := handedAnswer(n); said != nil && mayHaveSaid(before, said) {
			t := transcript{messages: append([]*message{said}, conversationOfState(n.obs.OutputData)...)}
			c.transcripts[before] = t
			t.complete(before)
		}
	}
}

// handedAnswer is the answer with calls that a step was handed, as the last message of its input. It is nil
// when there is none.
func handedAnswer(n *node) *message {
	handed, _ := decode.InputMessages(n.obs.InputData.Value, 0)
	if len(handed) == 0 || n.obs.InputData.Label == tape.Truncated {
		return nil
	}
	if said := handed[len(handed)-1]; said.Role == tape.RoleAssistant && len(callsOf(said.Parts)) > 0 {
		return newMessage(said)
	}
	return nil
}
