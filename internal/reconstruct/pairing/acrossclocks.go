// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
)

// acrossClocks pairs a call that seems to have begun before it was asked for, where the two have clocks of
// their own: in two traces, or where one clock is known to be behind. An id that a provider drew tells the
// call by any clock.
//
// Needs: an equal id, or equal names and arguments; nothing else that fits.
// Refuses: a request of an agent that the call itself runs.
// Seen in: tools that ran in another service.
func (p *pairing) acrossClocks(_ *bundle, t *ledger.Call, a *ledger.Asked) bool {
	m := a.Model
	if len(m.Nodes) == 0 {
		return false
	}
	apart := t.Shift > 0 || m.Nodes[0].Span.TraceID() != t.Nodes[0].Span.TraceID()
	byID := hasID(t, a) && (len(a.Part.ID) >= decode.MinDrawnID || apart)
	named := ledger.NameOf(t) == a.Part.Name || t.Shift > 0 && !p.known[ledger.NameOf(t)] && a.Part.Args.Len() > 0
	return (byID || apart && named && p.mayDiffer(t, a) && t.Obs.Args.Present() && ledger.SameArgs(t, a)) && !ledger.Under(m, t)
}
