// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
)

// byID pairs a call with the request of its id.
//
// Needs: an id that no other call of the answer has.
// Refuses: an id that several calls of one answer have, see markShared.
// Seen in: AutoGen, Gemini CLI, Mastra, Strands, VoltAgent, LangChain, the AI SDK.
func (p *pairing) byID(t *ledger.Call, a *ledger.Asked) bool { return hasID(t, a) }

// hasID reports that the id of a tool call is that of a request, and of no other of the same answer.
func hasID(t *ledger.Call, a *ledger.Asked) bool {
	return t.Obs.CallID != "" && t.Obs.CallID == a.Part.ID && !a.Shared
}

// asksWith reports an id with which a response of the run asks for a call.
func asksWith(c *ledger.Ledger, id string) bool {
	for a := range c.Asks {
		if a.Part.ID == id {
			return true
		}
	}
	return false
}
