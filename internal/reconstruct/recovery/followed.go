// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape"
)

// ReadFollowed makes the model calls behind the last one with a span: further answers behind the answer in
// its own request.
//
// Needs: a request that was recorded after its answer, see splitAtAnswer.
// Refuses: the first answer there, which is that of the call itself.
// Seen in: as splitAtAnswer.
func ReadFollowed(c *ledger.Ledger) {
	last := c.LastReported()
	if last == nil {
		return
	}
	followed := last.Followed()
	if len(followed) == 0 {
		return
	}
	end := uint64(0)
	for _, k := range slices.Concat(c.Models, c.Tools) {
		end = max(end, k.End)
	}
	answers, ran := 0, placeByTools(c, last)
	for i, m := range followed {
		if m.Tape.Role != tape.RoleAssistant || i > 0 && followed[i-1].Tape.Role == tape.RoleAssistant {
			continue
		}
		if answers++; answers < 2 {
			continue
		}
		said, at := chat.TurnAt(followed[i:]), end
		if said == nil {
			return
		}
		if chat.HasToolCall(said) {
			at = ran(said)
		}
		c.Models = append(c.Models, last.Another(at, slices.Concat(last.Request, followed[:i]), said, "no span reports this call; the request of an earlier one was recorded after it and holds its answer"))
	}
}

// ResultsBehind takes the results that stand behind the answer in the request of the call itself.
//
// Needs: a request that was recorded after its own answer, with results of the calls of that answer.
// Refuses: a call whose result another request shows.
// Seen in: programs that append to the list of messages which the instrumentation keeps.
func ResultsBehind(c *ledger.Ledger) {
	for _, m := range c.Models {
		for _, msg := range m.Followed() {
			for _, r := range ledger.Results(msg) {
				showByID(m, r)
			}
		}
	}
}
