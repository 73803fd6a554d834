// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// pairStandIns pairs the calls of tools of a framework that answer in place of a tool that does not exist.
//
// Needs: an argument that is the name asked for; a result that is what the model was shown.
// Refuses: a tool that somebody was offered or asked for.
// Seen in: LangChain's executor of agents (invalid_tool).
func (p *pairing) pairStandIns() {
	for _, t := range p.openCalls()[0].tools {
		if p.known[ledger.NameOf(t)] || t.Obs.Args.Value.Kind() != exactjson.Object {
			continue
		}
		a := p.LatestTurn(t, ledger.EndedBefore, func(a *ledger.Asked) bool {
			return a.Model.Agent == t.Agent && ledger.Returned(t, a) && slices.ContainsFunc(t.Obs.Args.Value.Members(), func(m exactjson.Member) bool {
				return m.Value.Kind() == exactjson.String && m.Value.Str() == a.Part.Name
			})
		})
		if a == nil {
			continue
		}
		o := t.Obs.Draft()
		o.Name, o.Args = a.Part.Name, genai.Content{}
		t.Obs = o.Seal()
		pairWith(t, a)
	}
}
