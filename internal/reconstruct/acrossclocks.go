// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import "github.com/tapedeck/tapedeck/internal/reading/genai/decode"

// acrossClocks pairs a call that seems to have begun before it was asked for, where the two have clocks of their own:
// in two traces, or where one clock is known to be behind. An id that a provider drew tells the call by any clock.
//
// Needs: an equal id, or equal names and arguments; nothing else that fits.
// Refuses: a request of an agent that the call itself runs.
// Seen in: tools that ran in another service.
func (p *pairing) acrossClocks(_ *bundle, t *call, a *asked) bool {
	m := a.model
	if len(m.nodes) == 0 {
		return false
	}
	apart := t.shift > 0 || m.nodes[0].span.TraceID() != t.nodes[0].span.TraceID()
	byID := hasID(t, a) && (len(a.part.ID) >= decode.MinDrawnID || apart)
	named := nameOf(t) == a.part.Name || t.shift > 0 && !p.known[nameOf(t)] && a.part.Args.Len() > 0
	return (byID || apart && named && p.mayDiffer(t, a) && t.obs.Args.Present() && sameArgs(t, a)) && !under(m, t)
}
