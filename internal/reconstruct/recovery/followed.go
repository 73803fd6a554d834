// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape"
)

// ReadFollowed makes the model calls behind one with a span: further answers behind the answer in its own
// request, and further turns of a loop that its output holds.
//
// Needs: the last call, whose request was recorded after its answer, see splitAtAnswer; or any call with an
// output of several turns, see loopOf.
// Refuses: the first answer there, which is that of the call itself.
// Seen in: as splitAtAnswer and loopOf.
func ReadFollowed(c *ledger.Ledger) {
	last, end := c.LastReported(), uint64(0)
	for _, k := range slices.Concat(c.Models, c.Tools) {
		end = max(end, k.End)
	}
	for _, m := range slices.Clone(c.Models) {
		switch {
		case decode.LoopAt(m.Obs.Response) > 0:
			readBehind(c, m, m.End, "no span reports this call; the output of an earlier one holds its answer")
		case m == last:
			readBehind(c, m, end, "no span reports this call; the request of an earlier one was recorded after it and holds its answer")
		}
	}
}

// moreTurns says that a record tells of more calls than are recovered from it.
const moreTurns = "the record holds more turns than are read; the calls behind are missing"

// readBehind makes the calls that gave the answers behind that of one call.
func readBehind(c *ledger.Ledger, m *ledger.Call, end uint64, detail string) {
	followed := m.Followed()
	if len(followed) == 0 {
		return
	}
	answers, ran := 0, placeByTools(c, m)
	for i, one := range followed {
		if one.Tape.Role != tape.RoleAssistant || i > 0 && followed[i-1].Tape.Role == tape.RoleAssistant {
			continue
		}
		if answers++; answers < 2 {
			continue
		}
		if !c.HasRoom(len(m.Request) + i) {
			m.Note(tape.CodeModelCallHidden, "", moreTurns)
			return
		}
		said, at := chat.TurnAt(followed[i:]), end
		if said == nil {
			return
		}
		if chat.HasToolCall(said) {
			at = ran(said)
		}
		c.Models = append(c.Models, m.Another(at, slices.Concat(m.Request, followed[:i]), said, detail))
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
