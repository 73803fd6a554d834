// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/tape"
)

// recoverHeld makes the model calls over which the last one was written, from the request of that: each message in it
// that asks for tools is what one of them was answered.
//
// Needs: a tool below the agent that ran as the message asks.
// Refuses: what the agent was handed of earlier runs, which asks for tools that did not run.
// Seen in: OpenInference with ADK 2.13.
func (c *collector) recoverHeld() {
	var made []*call
	for _, m := range c.models {
		if len(m.nodes) != 1 || m.nodes[0].heldBy == nil {
			continue
		}
		open := filter(c.tools, func(t *call) bool {
			return t.agent == m.agent && len(t.nodes) > 0 && below(t.nodes[0], m.nodes[0].heldBy)
		})
		for k, said := range m.request {
			if said.tape.Role != tape.RoleAssistant || k == 0 {
				continue
			}
			began, found := m.start, false
			for _, p := range callsOf(said.parts) {
				if t, ok := takeFirst(&open, func(t *call) bool { return ranFor(t.obs, p) }); ok {
					began, found = min(began, t.start), true
				}
			}
			if found {
				made = append(made, m.another(began, slices.Clip(m.request[:k]), said, "a later call was written over it on the same span, and its request holds the answer"))
			}
		}
	}
	if len(made) > 0 {
		c.models = append(c.models, made...)
		slices.SortStableFunc(c.models, compareCalls)
	}
}
