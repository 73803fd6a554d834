// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// pairStandIns pairs the calls of tools of a framework that answer in place of a tool that does not exist.
//
// Needs: an argument that is the name asked for; a result that is what the model was shown.
// Refuses: a tool that somebody was offered or asked for.
// Seen in: LangChain's executor of agents (invalid_tool).
func (p *pairing) pairStandIns() {
	for _, t := range p.openCalls()[0].tools {
		if p.known[nameOf(t)] || t.obs.Args.Value.Kind() != exactjson.Object {
			continue
		}
		a := p.latestTurn(t, endedBefore, func(a *asked) bool {
			return a.model.agent == t.agent && returned(t, a) && slices.ContainsFunc(t.obs.Args.Value.Members(), func(m exactjson.Member) bool {
				return m.Value.Kind() == exactjson.String && m.Value.Str() == a.part.Name
			})
		})
		if a == nil {
			continue
		}
		o := *t.obs
		o.Name, o.Args = a.part.Name, genai.Content{}
		t.obs = &o
		t.pairWith(a)
	}
}
