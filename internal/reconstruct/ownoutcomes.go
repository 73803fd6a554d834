// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

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

// byOwnOutcome pairs those of several equal calls of which each came to something else, whatever the clocks say.
//
// Needs: a span that holds what later requests show of one of the calls alone.
// Refuses: a short result, unless requests show the results of all of the calls.
// Seen in: tools that are polled (ADK, Genkit, Forge, the Agents SDK of OpenAI), whose spans have no ids.
func (p *pairing) byOwnOutcome(b *bundle, t *call, a *asked) bool {
	return p.mayDiffer(t, a) && (returned(t, a) || failedAs(t, a) || b.allShown() && returnedJust(t, a)) &&
		!under(a.model, t)
}

// provesOutcome reports an outcome that no other call comes to by chance.
func (p *pairing) provesOutcome(b *bundle, t *call, a *asked) bool {
	return len(textResult(t.obs.Result.Value)) >= minQuoted || failedAs(t, a) || b.allShown()
}

// allShown reports that later requests show the results of all requests of a bundle.
func (b *bundle) allShown() bool {
	for _, a := range b.asks {
		if a.shown == nil || a.shown.Label != "" {
			return false
		}
	}
	return true
}
