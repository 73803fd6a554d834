// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
)

// dropDispatchers drops the span of a function that runs any tool, where it lies around the span of the tool
// that it was told to run: that one is the call.
//
// Needs: the name and the arguments of the inner call in the arguments of the span.
// Refuses: a name that the conversation knows; a tool that calls another one.
// Seen in: loops written by hand.
func (p *pairing) dropDispatchers() {
	p.Tools = slices.DeleteFunc(p.Tools, func(t *ledger.Call) bool {
		if len(t.Nodes) == 0 || p.known[ledger.NameOf(t)] || t.Obs.Handoff || !slices.ContainsFunc(p.Tools, func(u *ledger.Call) bool {
			return u != t && p.known[ledger.NameOf(u)] && ledger.HangsBelow(t, u) &&
				chat.HandsOver(t.Obs.Args.Value, ledger.NameOf(u), u.Obs.CallID, u.Obs.Args.Value)
		}) {
			return false
		}
		p.Noise["function that runs the tools"] += int64(t.Nodes[0].Spans)
		return true
	})
}
