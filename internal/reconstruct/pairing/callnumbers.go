// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape"
)

// byNumber pairs the calls of a turn, under names that the conversation does not know, with its open
// requests, if there are as many. The results that later requests show say which is which, else the order
// does.
//
// Needs: as many calls as open requests between one model call and the next of the agent.
// Refuses: all of them, where one was handed other arguments than were asked for at its place.
// Seen in: tools whose spans are named after a class (RunnableTool).
func (p *pairing) byNumber(_ *bundle, t *ledger.Call, a *ledger.Asked) bool {
	return p.mayDiffer(t, a) &&
		(!t.Obs.Args.Present() || t.Obs.Args.Value.IsEmpty() && a.Part.Args.IsEmpty() || ledger.SameArgs(t, a))
}

// namelessCalls are the open calls of each turn under unknown names, and its open requests in the order of
// the calls as far as results tell it.
func (p *pairing) namelessCalls() (bundles []*bundle) {
	of := map[*ledger.Call]*bundle{}
	for _, t := range p.openCalls()[0].tools {
		if p.known[ledger.NameOf(t)] {
			continue
		}
		if m := p.ModelBefore(t); m != nil {
			if of[m] == nil {
				of[m] = &bundle{}
				bundles = append(bundles, of[m])
			}
			of[m].tools = append(of[m].tools, t)
		}
	}
	for m, b := range of {
		for _, a := range m.Asked {
			if a.Tool == nil && !slices.Contains(m.Obs.OutputTools, a.Part.Name) {
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
		if !t.Obs.Result.Present() || ledger.Returned(t, b.asks[i]) {
			continue
		}
		later := b.asks[i+1:]
		if k := slices.IndexFunc(later, func(a *ledger.Asked) bool {
			return a.Shown != nil && chat.SameValue(t.Obs.Result.Value, a.Shown.Result)
		}); k >= 0 {
			b.asks[i], later[k] = later[k], b.asks[i]
		}
	}
}

// disputeResults doubts the results of several calls that order alone paired. What the model was shown is the
// result of a call; where nothing was shown, that of any of the calls may be.
func (b *bundle) disputeResults() {
	if len(b.tools) == 1 {
		return
	}
	for i, t := range b.tools {
		a := b.asks[i]
		if t.Obs.Args.Present() && !t.Obs.Args.Value.IsEmpty() || !t.Obs.Result.Present() || ledger.Returned(t, a) {
			continue
		}
		o := t.Obs.Draft()
		if a.Shown != nil && a.Shown.Label == "" {
			o.Result = genai.Content{}
		} else {
			o.Result.Label = tape.Disputed
			for _, other := range b.tools {
				if r := other.Obs.Result; other != t && r.Present() && !chat.SameValue(r.Value, o.Result.Value) {
					t.Others = append(t.Others, r.Value)
				}
			}
		}
		t.Obs = o.Seal()
	}
}
