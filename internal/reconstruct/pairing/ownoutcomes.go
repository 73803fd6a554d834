// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
)

// maxEqual bounds how many equal calls are told apart by what came of each.
const maxEqual = 64

// fewEqualCalls are the equal calls that several requests ask for, and not too many.
func (p *pairing) fewEqualCalls() (few []*bundle) {
	for _, b := range p.equalCalls() {
		if len(b.asks) > 1 && len(b.asks) <= maxEqual && len(b.tools) <= maxEqual {
			few = append(few, b)
		}
	}
	return few
}

// byOwnOutcome pairs those of several equal calls of which each came to something else, whatever the clocks
// say.
//
// Needs: a span that holds what later requests show of one of the calls alone.
// Refuses: a short result, unless requests show the results of all of the calls.
// Seen in: tools that are polled (ADK, Genkit, Forge, the Agents SDK of OpenAI), whose spans have no ids.
func (p *pairing) byOwnOutcome(b *bundle, t *ledger.Call, a *ledger.Asked) bool {
	return p.mayDiffer(t, a) && (ledger.Returned(t, a) || ledger.FailedAs(t, a) || b.allShown() && ledger.ReturnedJust(t, a)) &&
		!ledger.Under(a.Model, t)
}

// provesOutcome reports an outcome that no other call comes to by chance.
func (p *pairing) provesOutcome(b *bundle, t *ledger.Call, a *ledger.Asked) bool {
	return len(chat.TextResult(t.Obs.Result.Value)) >= chat.MinQuoted || ledger.FailedAs(t, a) || b.allShown()
}

// allShown reports that later requests show the results of all requests of a bundle.
func (b *bundle) allShown() bool {
	for _, a := range b.asks {
		if a.Shown == nil || a.Shown.Label != "" {
			return false
		}
	}
	return true
}
