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

// RecoverBetween makes the model calls between an answer and the request that goes on from it: only a model
// that was asked in between can have said what stands there.
//
// Needs: an answer in the request that asks for tools, with their results behind it.
// Refuses: calls whose ids answers on record have; requests that were not recorded whole.
// Seen in: samplers, and packages that lose spans of model calls.
func RecoverBetween(c *ledger.Ledger) {
	known := c.IdsAsked()
	for i, m := range slices.Clone(c.Models) {
		before := c.Predecessor(i)
		if before == nil || before.Agent != m.Agent || before.Response == nil || len(m.Nodes) == 0 || m.Obs.RequestLabel != "" {
			continue
		}
		at := len(before.Request) + 1
		if at >= len(m.Request) || chat.CommonPrefix(before.Conversation(), m.Request) < at {
			continue
		}
		place := placeByTools(c, before)
		takeAnswers(c, m, at, known, place, func(p *genai.Part, behind []*chat.Message) bool { return chat.ResultsOf(p.ID, behind) > 0 })
	}
}

// takeAnswers makes a model call of each answer in a request, from a place on, whose calls are new and fit.
func takeAnswers(c *ledger.Ledger, m *ledger.Call, from int, known ledger.IdsAsked, place func(*chat.Message) uint64, fits func(p *genai.Part, behind []*chat.Message) bool) {
	rest := m.Request[from:]
	for _, a := range ledger.AnswersIn(rest) {
		if takeNew(known, chat.CallsOf(a.Said.Parts), func(p *genai.Part) bool { return fits(p, rest[a.End:]) }) {
			c.Models = append(c.Models, m.Another(min(place(a.Said), m.Start), slices.Clip(m.Request[:from+a.At]), a.Said, "no span reports this call; a later request holds its answer"))
		}
	}
}

// RecoverBefore makes the model calls of a run before the first one with a span, from what the request of
// that holds of its turn.
//
// Needs: answers that ask for tools which spans of the run report by id: history has no span. Or results
// behind the text that the run was asked: what stands there came about since.
// Refuses: a first request that goes on from another one; runs whose model calls all failed, of which less is
// recorded.
// Seen in: packages that lose a model call whose answer holds tool calls.
func RecoverBefore(c *ledger.Ledger) {
	i := c.FirstReported()
	if i < 0 || c.Predecessor(i) != nil || c.Models[i].Obs.RequestLabel != "" || !slices.ContainsFunc(c.Models, func(m *ledger.Call) bool { return !ledger.FailedCall(m) }) {
		return
	}
	first := c.Models[i]
	ran := map[string]bool{}
	for _, t := range c.Tools {
		ran[t.Obs.CallID] = t.Agent == first.Agent && t.End <= first.Start+spantree.Rounding
	}
	turn := chat.SinceUser(first.Request)
	question := questionOf(c.Run.Root)
	since := len(turn) > 0 && question != "" && chat.TextOf(turn[0]) == question
	takeAnswers(c, first, len(first.Request)-len(turn), c.IdsAsked(), placeSince(c, first.Agent, 0, first.Start), func(p *genai.Part, behind []*chat.Message) bool {
		return ran[p.ID] || since && chat.ResultsOf(p.ID, behind) > 0
	})
}

// questionOf is what the span of a run says that a user asked, "" where it tells what was said since.
func questionOf(root *spantree.Node) string {
	if root == nil || slices.ContainsFunc(root.Obs.Input, func(m genai.Message) bool { return m.Role != tape.RoleUser && m.Role != tape.RoleSystem }) {
		return ""
	}
	return chat.LastUserText(root.Obs.Input)
}
