// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// ReadHanded completes the answer of a model call from the input of the step right after it. The output of
// the step are the results.
//
// Needs: an answer with the same text and calls as the last message of the input.
// Refuses: a call whose answer another state completed; a cut input.
// Seen in: graphs whose node of tools is handed the answer.
func ReadHanded(c *ledger.Ledger) {
	for _, n := range c.ReadStates() {
		if n.Obs.Class != genai.Structure || !n.Obs.InputData.Present() {
			continue
		}
		before := chat.LastOf(c.Models, func(m *ledger.Call) bool {
			return m.End <= n.Start+spantree.Rounding && m.Start <= n.Start && len(m.Nodes) > 0 && spantree.SiblingsOf(m.Nodes[0]) == spantree.SiblingsOf(n)
		})
		if before == nil || !ledger.LacksCalls(before) || c.Transcripts[before].Messages != nil {
			continue
		}
		if said := spantree.HandedAnswer(n); said != nil && mayHaveSaid(before, said) {
			t := ledger.Transcript{Messages: append([]*chat.Message{said}, chat.ConversationOfState(n.Obs.OutputData)...)}
			c.Transcripts[before] = t
			complete(t, before)
		}
	}
}
