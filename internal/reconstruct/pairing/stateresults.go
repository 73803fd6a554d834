// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"maps"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// resultsInStates takes the results that no request shows from what steps of a graph recorded as their state,
// or from what agents sent each other: those of the last calls of a run, or before a model call that failed.
//
// Needs: an id that one call of the run alone has.
// Refuses: a state that was over before the model call that asked; a result without content, which is a plan
// for a call.
// Seen in: OpenLIT in JavaScript, whose span of a tool may say no more than that the result was an object.
func resultsInStates(c *ledger.Ledger, open map[string]*ledger.Asked) {
	maps.DeleteFunc(open, func(_ string, a *ledger.Asked) bool { return a.Shown != nil })
	if len(open) == 0 {
		return
	}
	look := func(n *spantree.Node, state []genai.Message) {
		for _, m := range state {
			for i := range m.Parts {
				p := &m.Parts[i]
				if p.Type != tape.PartToolResult || p.Result.IsAbsent() && p.Label == "" {
					continue
				}
				if a := open[p.ID]; a != nil && a.Shown == nil && n.End >= a.Model.Start {
					a.Show(p, nil)
				}
			}
		}
	}
	for _, n := range c.States[:min(len(c.States), chat.MaxTranscripts)] {
		look(n, chat.ConversationIn(n.Obs.OutputData))
	}
	for _, n := range c.Unfinished[:min(len(c.Unfinished), chat.MaxTranscripts)] {
		look(n, chat.ConversationIn(n.Obs.InputData))
	}
	for _, p := range c.Posts {
		look(p.N, []genai.Message{p.Message})
	}
}
