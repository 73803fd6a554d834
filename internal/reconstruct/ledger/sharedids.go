// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
)

// markShared marks the calls of an answer whose id another call of the answer has as well: such an id is no
// evidence, neither for a call nor against it. What the calls were handed and returned, and their order, tell
// them apart.
//
// Needs: an answer with several calls of one id.
// Refuses: an id that comes back in another turn only: it tells the call of its turn.
// Seen in: servers of local models that write one id for all calls, or the name of the tool.
func (t *Call) markShared() {
	for _, a := range t.Asked {
		for _, b := range t.Asked {
			a.Shared = a.Shared || a != b && a.Part.ID != "" && a.Part.ID == b.Part.ID
		}
	}
}

// SharedIDs are the ids that several calls of one recorded answer have.
func (c *Ledger) SharedIDs() map[string]bool {
	shared := map[string]bool{}
	for _, m := range c.Models {
		for _, id := range repeatedIDs(m.Obs.Response) {
			shared[id] = true
		}
	}
	return shared
}

// repeatedIDs are the ids that several calls of an answer have.
func repeatedIDs(answer []genai.Message) (ids []string) {
	if len(answer) == 0 {
		return nil
	}
	calls := chat.CallsOf(answer[0].Parts)
	if len(calls) < 2 {
		return nil
	}
	seen := make(map[string]bool, len(calls))
	for _, p := range calls {
		if p.ID != "" && seen[p.ID] {
			ids = append(ids, p.ID)
		}
		seen[p.ID] = true
	}
	return ids
}
