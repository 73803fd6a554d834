// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/place"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// RecoverHeld makes the model calls over which the last one was written, from the request of that: each
// message in it that asks for tools is what one of them was answered.
//
// Needs: a tool below the agent that ran as the message asks.
// Refuses: what the agent was handed of earlier runs, which asks for tools that did not run.
// Seen in: OpenInference with ADK 2.13.
func RecoverHeld(c *ledger.Ledger) {
	var made []*ledger.Call
	for _, m := range c.Models {
		if len(m.Nodes) != 1 || m.Nodes[0].HeldBy == nil {
			continue
		}
		open := spantree.Filter(c.Tools, func(t *ledger.Call) bool {
			return t.Agent == m.Agent && len(t.Nodes) > 0 && spantree.Below(t.Nodes[0], m.Nodes[0].HeldBy)
		})
		for k, said := range m.Request {
			if said.Tape.Role != tape.RoleAssistant || k == 0 {
				continue
			}
			began, found := m.Start, false
			for p := range chat.EachCall(said.Parts) {
				if t, ok := place.TakeFirst(&open, func(t *ledger.Call) bool { return place.RanFor(t.Obs, p) }); ok {
					began, found = min(began, t.Start), true
				}
			}
			if found {
				made = append(made, m.Another(began, slices.Clip(m.Request[:k]), said, "a later call was written over it on the same span, and its request holds the answer"))
			}
		}
	}
	if len(made) > 0 {
		c.Models = append(c.Models, made...)
		slices.SortStableFunc(c.Models, ledger.CompareCalls)
	}
}
