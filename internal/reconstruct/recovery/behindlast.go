// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// RecoverBehind makes the model calls behind the last one with a span, from the state that a step or an agent
// around all calls ended with.
//
// Needs: the answer of the last call in the state, by the id of a call; behind it, results and further
// answers.
// Refuses: an answer without results before it; calls whose ids answers on record have; a text that is not
// the end, or stands there while calls that were put back have no result.
// Seen in: packages that lose the last generations of a run.
func RecoverBehind(c *ledger.Ledger) {
	last := c.LastReported()
	if last == nil || last.Response == nil || !chat.HasToolCall(last.Response) {
		return
	}
	state := stateBehind(c, last)
	if len(state) == 0 {
		return
	}
	behind, place := make([]*chat.Message, 0, len(state)), placeByTools(c, last)
	for _, read := range state {
		behind = append(behind, c.Recovered.Message(read))
	}
	known := c.IdsAsked()
	open, found := 0, false // calls that were put back and have no result yet
	for i, said := range behind {
		if said.Tape.Role != tape.RoleAssistant {
			open -= chat.Count(ledger.Results(said), func(r *genai.Part) bool { return r.ID != "" })
			continue
		}
		calls := chat.CallsOf(said.Parts)
		ends := len(calls) == 0 && i == len(behind)-1 && (!found || open <= 0)
		if i == 0 || behind[i-1].Tape.Role != tape.RoleTool || !ends && !takeNew(known, calls, func(*genai.Part) bool { return true }) {
			return
		}
		open, found = open+len(calls), true
		c.Models = append(c.Models, last.Another(max(place(said), last.End), slices.Concat(last.Conversation(), behind[:i]), said, "no span reports this call; the state of a step around it holds its answer"))
	}
	c.SortModels()
}

// stateBehind is what stands behind the answer of a model call in the conversation that the outermost step or
// agent around it ended with.
func stateBehind(c *ledger.Ledger, last *ledger.Call) (behind []genai.Message) {
	ids := chat.DrawnIDs(last.Response.Parts)
	var outermost *spantree.Node
	for _, n := range c.ReadStates() {
		if n.Start > last.Start || n.End < last.End || n.Obs.OutputData.Label != "" || outermost != nil && (outermost.End-outermost.Start > n.End-n.Start || spantree.CompareNodes(outermost, n) < 0) {
			continue
		}
		messages := chat.ConversationIn(n.Obs.OutputData)
		i := slices.IndexFunc(messages, func(m genai.Message) bool { return ledger.IsAssistant(m) && chat.AsksOne(m.Parts, ids) })
		if i >= 0 && i < len(messages)-1 {
			outermost, behind = n, messages[i+1:]
		}
	}
	return behind
}
