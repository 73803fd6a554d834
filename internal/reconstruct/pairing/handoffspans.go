// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
)

// markHandoffs finds the spans of tools that describe a transfer to another agent.
//
// Needs: a name that hands over to an agent that a response asks to hand over to.
// Refuses: a name that the conversation knows: that is the call itself.
// Seen in: the log records of producers that nobody wrote a rule for.
func (p *pairing) markHandoffs() {
	for _, t := range p.Tools {
		target := chat.HandoffTarget(t.Obs.Name)
		if t.Obs.Handoff || p.known[t.Obs.Name] || target == chat.NormalName(t.Obs.Name) {
			continue
		}
		for a := range p.Asks {
			if chat.HandoffTarget(a.Part.Name) == target && chat.NormalName(a.Part.Name) != target {
				o := t.Obs.Draft()
				o.Handoff = true
				t.Obs = o.Seal()
				break
			}
		}
	}
}
