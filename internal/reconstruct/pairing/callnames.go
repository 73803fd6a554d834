// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
)

// byName pairs a call with the request of its name.
//
// Needs: nothing else in common.
// Refuses: arguments that were recorded whole on both sides and differ, unless the turn asks for the tool
// only once; ids that say that the two are different calls.
// Seen in: ADK, whose records of events tell no arguments.
func (p *pairing) byName(t *ledger.Call, a *ledger.Asked) bool {
	if !p.isNamed(t, a) {
		return false
	}
	if !t.Obs.Args.Present() || t.Obs.Args.Label != "" || a.Part.Label != "" || a.Part.Args.IsAbsent() {
		return true
	}
	return chat.Count(a.Model.Asked, func(other *ledger.Asked) bool { return other.Tool == nil && other.Part.Name == a.Part.Name }) == 1
}
