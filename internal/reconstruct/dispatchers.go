// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import "slices"

// dropDispatchers drops the span of a function that runs any tool, where it lies around the span of the tool that it
// was told to run: that one is the call.
//
// Needs: the name and the arguments of the inner call in the arguments of the span.
// Refuses: a name that the conversation knows; a tool that calls another one.
// Seen in: loops written by hand.
func (p *pairing) dropDispatchers() {
	p.tools = slices.DeleteFunc(p.tools, func(t *call) bool {
		if len(t.nodes) == 0 || p.known[nameOf(t)] || t.obs.Handoff || !slices.ContainsFunc(p.tools, func(u *call) bool {
			return u != t && p.known[nameOf(u)] && hangsBelow(t, u) &&
				handsOver(t.obs.Args.Value, nameOf(u), u.obs.CallID, u.obs.Args.Value)
		}) {
			return false
		}
		p.noise["function that runs the tools"] += int64(t.nodes[0].spans)
		return true
	})
}
