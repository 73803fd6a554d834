// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// markShared marks the calls of an answer whose id another call of the answer has as well: such an id is no
// evidence, neither for a call nor against it. What they were handed and returned, and their order, tell them
// apart, as where there are no ids.
//
// Needs:    an answer with several calls of one id Refuses:  an id that comes back in another turn only: it
// tells the call of its turn Seen in:  servers of local models that write one id for all calls, or the name
// of the tool
func (t *call) markShared() {
	for _, a := range t.asked {
		for _, b := range t.asked {
			a.shared = a.shared || a != b && a.part.ID != "" && a.part.ID == b.part.ID
		}
	}
}

// hasID reports that the id of a tool call is that of an asked call, and of no other that was asked for with
// it.
func hasID(t *call, a *asked) bool {
	return t.obs.CallID != "" && t.obs.CallID == a.part.ID && !a.shared
}

// sharedIDs are the ids that several calls of one recorded answer have.
func (c *collector) sharedIDs() map[string]bool {
	var shared map[string]bool
	for _, m := range c.models {
		for _, id := range repeatedIDs(m.obs.Response) {
			if shared == nil {
				shared = map[string]bool{}
			}
			shared[id] = true
		}
	}
	return shared
}

func repeatedIDs(answer []genai.Message) (ids []string) {
	if len(answer) == 0 {
		return nil
	}
	calls := 0
	for i := range answer[0].Parts {
		if answer[0].Parts[i].Type == tape.PartToolCall {
			calls++
		}
	}
	if calls < 2 {
		return nil
	}
	seen := map[string]bool{}
	for _, p := range callsOf(answer[0].Parts) {
		if p.ID != "" && seen[p.ID] {
			ids = append(ids, p.ID)
		}
		seen[p.ID] = true
	}
	return ids
}
