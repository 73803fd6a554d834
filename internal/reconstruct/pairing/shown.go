// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/recovery"
	"github.com/tapedeck/tapedeck/tape"
)

// FindResults looks for what came of every requested call in later requests, and in the states of the run.
// Behind the message that asked, ids or places tell. Where no request repeats that message, an id that one
// call alone has finds the result anywhere.
func FindResults(c *ledger.Ledger) {
	ids := map[string]int{}
	for a := range c.Asks {
		if a.Part.ID != "" {
			ids[a.Part.ID]++
		}
	}
	for i, m := range c.Models {
		if len(m.Asked) > 0 {
			resultsAfter(c, i, ids)
			recovery.ResultsIn(c.Transcripts[m], m)
			resultsAlone(c, i)
		}
	}
	open := map[string]*ledger.Asked{}
	for a := range c.Asks {
		if a.Shown == nil && ids[a.Part.ID] == 1 {
			open[a.Part.ID] = a
		}
	}
	if len(open) > 0 {
		resultsByID(c, open)
		resultsInStates(c, open)
	}
}

// resultsByID takes the results of calls that a later request shows anywhere.
//
// Needs: an id that one call of the run alone has.
// Refuses: a request before the answer that asked.
// Seen in: histories that were compacted; requests that send nothing but what is new.
func resultsByID(c *ledger.Ledger, open map[string]*ledger.Asked) {
	before := make(map[*ledger.Call]bool, len(c.Models))
	for _, m := range c.Models {
		for r := range chat.ToolResults(m.Request) {
			if a := open[r.ID]; a != nil && a.Shown == nil && before[a.Model] {
				a.Show(r, m)
			}
		}
		before[m] = true
	}
}

// resultsAlone takes the results of the next request of the agent, where that holds nothing else: the
// provider keeps the conversation.
//
// Needs: as many results as calls.
// Refuses: a message of any other kind; ids or names that contradict, see ShowByPosition.
// Seen in: the Responses API of OpenAI.
func resultsAlone(c *ledger.Ledger, i int) {
	m, later := c.Models[i], c.Models[i+1:]
	k := slices.IndexFunc(later, func(next *ledger.Call) bool { return next.Agent == m.Agent })
	if k < 0 {
		return
	}
	sent := chat.AfterSystem(later[k].Request)
	for _, msg := range sent {
		if slices.ContainsFunc(msg.Parts, func(p genai.Part) bool { return p.Type != tape.PartToolResult }) {
			return
		}
	}
	ledger.ShowByPosition(m, slices.Collect(chat.ToolResults(sent)), later[k])
}
