// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// byNumber pairs the calls of a turn, under names that the conversation does not know, with its open requests, if
// there are as many. The results that later requests show say which is which, else the order does.
//
// Needs: as many calls as open requests between one model call and the next of the agent.
// Refuses: all of them, where one was handed other arguments than were asked for at its place.
// Seen in: tools whose spans are named after a class (RunnableTool).
func (p *pairing) byNumber(_ *bundle, t *call, a *asked) bool {
	return p.mayDiffer(t, a) &&
		(!t.obs.Args.Present() || t.obs.Args.Value.IsEmpty() && a.part.Args.IsEmpty() || sameArgs(t, a))
}

// namelessCalls are the open calls of each turn under unknown names, and its open requests in the order of the calls
// as far as results tell it.
func (p *pairing) namelessCalls() (bundles []*bundle) {
	of := map[*call]*bundle{}
	for _, t := range p.openCalls()[0].tools {
		if p.known[nameOf(t)] {
			continue
		}
		if m := p.modelBefore(t); m != nil {
			if of[m] == nil {
				of[m] = &bundle{}
				bundles = append(bundles, of[m])
			}
			of[m].tools = append(of[m].tools, t)
		}
	}
	for m, b := range of {
		for _, a := range m.asked {
			if a.tool == nil && !slices.Contains(m.obs.OutputTools, a.part.Name) {
				b.asks = append(b.asks, a)
			}
		}
		b.orderByResult()
	}
	return bundles
}

// orderByResult moves to the place of a call the request for which a later one shows what the call returned.
func (b *bundle) orderByResult() {
	for i, t := range b.tools[:min(len(b.tools), len(b.asks))] {
		if !t.obs.Result.Present() || returned(t, b.asks[i]) {
			continue
		}
		later := b.asks[i+1:]
		if k := slices.IndexFunc(later, func(a *asked) bool {
			return a.shown != nil && sameValue(t.obs.Result.Value, a.shown.Result)
		}); k >= 0 {
			b.asks[i], later[k] = later[k], b.asks[i]
		}
	}
}

// disputeResults doubts the results of several calls that order alone paired. What the model was shown is the result
// of a call; where nothing was shown, that of any of the calls may be.
func (b *bundle) disputeResults() {
	if len(b.tools) == 1 {
		return
	}
	for i, t := range b.tools {
		a := b.asks[i]
		if t.obs.Args.Present() && !t.obs.Args.Value.IsEmpty() || !t.obs.Result.Present() || returned(t, a) {
			continue
		}
		o := *t.obs
		if a.shown != nil && a.shown.Label == "" {
			o.Result = genai.Content{}
		} else {
			o.Result.Label = tape.Disputed
			for _, other := range b.tools {
				if r := other.obs.Result; other != t && r.Present() && !sameValue(r.Value, o.Result.Value) {
					t.others = append(t.others, r.Value)
				}
			}
		}
		t.obs = &o
	}
}
