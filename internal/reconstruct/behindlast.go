// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// recoverBehind makes the model calls behind the last one with a span, from the state that a step or an agent
// around all calls ended with.
//
// Needs: the answer of the last call in the state, by the id of a call; behind it, results and further
// answers.
// Refuses: an answer without results before it; calls whose ids answers on record have; a text that is not
// the end, or stands there while calls that were put back have no result.
// Seen in: packages that lose the last generations of a run.
func (c *collector) recoverBehind() {
	last := c.lastReported()
	if last == nil || last.response == nil || !hasToolCall(last.response) {
		return
	}
	state := c.stateBehind(last)
	if len(state) == 0 {
		return
	}
	behind, place := make([]*message, 0, len(state)), c.placeByTools(last)
	for _, read := range state {
		behind = append(behind, c.recovered.message(read))
	}
	known := c.idsAsked()
	open, found := 0, false // calls that were put back and have no result yet
	for i, said := range behind {
		if said.tape.Role != tape.RoleAssistant {
			open -= count(said.results(), func(r *genai.Part) bool { return r.ID != "" })
			continue
		}
		calls := callsOf(said.parts)
		ends := len(calls) == 0 && i == len(behind)-1 && (!found || open <= 0)
		if i == 0 || behind[i-1].tape.Role != tape.RoleTool || !ends && !known.takeNew(calls, func(*genai.Part) bool { return true }) {
			return
		}
		open, found = open+len(calls), true
		c.models = append(c.models, last.another(max(place(said), last.end), slices.Concat(last.conversation(), behind[:i]), said, "no span reports this call; the state of a step around it holds its answer"))
	}
	c.sortModels()
}

// stateBehind is what stands behind the answer of a model call in the conversation that the outermost step or
// agent around it ended with.
func (c *collector) stateBehind(last *call) (behind []genai.Message) {
	ids := drawnIDs(last.response.parts)
	var outermost *node
	for _, n := range c.readStates() {
		if n.start > last.start || n.end < last.end || n.obs.OutputData.Label != "" || outermost != nil && (outermost.end-outermost.start > n.end-n.start || compareNodes(outermost, n) < 0) {
			continue
		}
		messages := conversationIn(n.obs.OutputData)
		i := slices.IndexFunc(messages, func(m genai.Message) bool { return isAssistant(m) && asksOne(m.Parts, ids) })
		if i >= 0 && i < len(messages)-1 {
			outermost, behind = n, messages[i+1:]
		}
	}
	return behind
}
