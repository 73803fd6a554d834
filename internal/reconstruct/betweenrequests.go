// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// recoverBetween makes the model calls between an answer and the request that goes on from it: only a model
// that was asked in between can have said what stands there.
//
// Needs: an answer in the request that asks for tools, with their results behind it.
// Refuses: calls whose ids answers on record have; requests that were not recorded whole.
// Seen in: samplers, and packages that lose spans of model calls.
func (c *collector) recoverBetween() {
	known := c.idsAsked()
	for i, m := range slices.Clone(c.models) {
		before := c.predecessor(i)
		if before == nil || before.agent != m.agent || before.response == nil || len(m.nodes) == 0 || m.obs.RequestLabel != "" {
			continue
		}
		at := len(before.request) + 1
		if at >= len(m.request) || commonPrefix(before.conversation(), m.request) < at {
			continue
		}
		place := c.placeByTools(before)
		c.takeAnswers(m, at, known, place, func(p *genai.Part, behind []*message) bool { return resultsOf(p.ID, behind) > 0 })
	}
}

// takeAnswers makes a model call of each answer in a request, from a place on, whose calls are new and fit.
func (c *collector) takeAnswers(m *call, from int, known idsAsked, place func(*message) uint64, fits func(p *genai.Part, behind []*message) bool) {
	rest := m.request[from:]
	for _, a := range answersIn(rest) {
		if known.takeNew(callsOf(a.said.parts), func(p *genai.Part) bool { return fits(p, rest[a.end:]) }) {
			c.models = append(c.models, m.another(min(place(a.said), m.start), slices.Clip(m.request[:from+a.at]), a.said, "no span reports this call; a later request holds its answer"))
		}
	}
}

// recoverBefore makes the model calls of a run before the first one with a span, from what the request of
// that holds of its turn.
//
// Needs: answers that ask for tools which spans of the run report by id: history has no span. Or results
// behind the text that the run was asked: what stands there came about since.
// Refuses: a first request that goes on from another one; runs whose model calls all failed, of which less is
// recorded.
// Seen in: packages that lose a model call whose answer holds tool calls.
func (c *collector) recoverBefore() {
	i := c.firstReported()
	if i < 0 || c.predecessor(i) != nil || c.models[i].obs.RequestLabel != "" || !slices.ContainsFunc(c.models, func(m *call) bool { return !failedCall(m) }) {
		return
	}
	first := c.models[i]
	ran := map[string]bool{}
	for _, t := range c.tools {
		ran[t.obs.CallID] = t.agent == first.agent && t.end <= first.start+rounding
	}
	turn := sinceUser(first.request)
	question := questionOf(c.run.root)
	since := len(turn) > 0 && question != "" && textOf(turn[0]) == question
	c.takeAnswers(first, len(first.request)-len(turn), c.idsAsked(), c.placeSince(first.agent, 0, first.start), func(p *genai.Part, behind []*message) bool {
		return ran[p.ID] || since && resultsOf(p.ID, behind) > 0
	})
}

// questionOf is what the span of a run says that a user asked, "" where it tells what was said since.
func questionOf(root *node) string {
	if root == nil || slices.ContainsFunc(root.obs.Input, func(m genai.Message) bool { return m.Role != tape.RoleUser && m.Role != tape.RoleSystem }) {
		return ""
	}
	return lastUserText(root.obs.Input)
}
