// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

// markHandoffs finds the spans of tools that describe a transfer to another agent.
//
// Needs: a name that hands over to an agent that a response asks to hand over to.
// Refuses: a name that the conversation knows: that is the call itself.
// Seen in: the log records of producers that nobody wrote a rule for.
func (p *pairing) markHandoffs() {
	for _, t := range p.tools {
		target := handoffTarget(t.obs.Name)
		if t.obs.Handoff || p.known[t.obs.Name] || target == normalName(t.obs.Name) {
			continue
		}
		for a := range p.asks {
			if handoffTarget(a.part.Name) == target && normalName(a.part.Name) != target {
				o := *t.obs
				o.Handoff = true
				t.obs = &o
				break
			}
		}
	}
}
