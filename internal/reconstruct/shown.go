// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// findResults looks for what came of every requested call in later requests, and in the states of the run. Behind the
// message that asked, ids or places tell. Where no request repeats that message, an id that one call alone has finds
// the result anywhere.
func (c *collector) findResults() {
	ids := map[string]int{}
	for a := range c.asks {
		if a.part.ID != "" {
			ids[a.part.ID]++
		}
	}
	for i, m := range c.models {
		if len(m.asked) > 0 {
			c.resultsAfter(i, ids)
			c.transcripts[m].resultsIn(m)
			c.resultsAlone(i)
		}
	}
	open := map[string]*asked{}
	for a := range c.asks {
		if a.shown == nil && ids[a.part.ID] == 1 {
			open[a.part.ID] = a
		}
	}
	if len(open) > 0 {
		c.resultsByID(open)
		c.resultsInStates(open)
	}
}

// show notes the result of a requested call, and the model call whose request shows it: nil, if none does.
func (a *asked) show(p *genai.Part, by *call) { a.shown, a.by = p, by }

// resultsByID takes the results of calls that a later request shows anywhere.
//
// Needs: an id that one call of the run alone has.
// Refuses: a request before the answer that asked.
// Seen in: histories that were compacted; requests that send nothing but what is new.
func (c *collector) resultsByID(open map[string]*asked) {
	before := make(map[*call]bool, len(c.models))
	for _, m := range c.models {
		for r := range toolResults(m.request) {
			if a := open[r.ID]; a != nil && a.shown == nil && before[a.model] {
				a.show(r, m)
			}
		}
		before[m] = true
	}
}

// resultsAlone takes the results of the next request of the agent, where that holds nothing else: the provider keeps
// the conversation.
//
// Needs: as many results as calls.
// Refuses: a message of any other kind; ids or names that contradict, see showByPosition.
// Seen in: the Responses API of OpenAI.
func (c *collector) resultsAlone(i int) {
	m, later := c.models[i], c.models[i+1:]
	k := slices.IndexFunc(later, func(next *call) bool { return next.agent == m.agent })
	if k < 0 {
		return
	}
	sent, parts := afterSystem(later[k].request), 0
	for _, msg := range sent {
		parts += len(msg.parts)
	}
	if results := slices.Collect(toolResults(sent)); len(results) == parts {
		showByPosition(m, results, later[k])
	}
}

// showByPosition gives results in the order of the calls to those, if there are as many and neither ids nor names
// contradict. Calls with an id have a result already, unless the id is of another kind.
func showByPosition(m *call, results []*genai.Part, by *call) {
	if len(results) != len(m.asked) {
		return
	}
	differ := func(a, b string) bool { return a != "" && b != "" && a != b }
	for k, a := range m.asked {
		r := results[k]
		if differ(a.part.ID, r.ID) && !otherKind(a.part.ID, r.ID) || differ(r.Name, a.part.Name) {
			return
		}
	}
	for k, a := range m.asked {
		r := results[k]
		if a.shown == nil && (r.ID == "" || a.part.ID == "" || otherKind(a.part.ID, r.ID)) {
			a.show(r, by)
			if a.part.ID == "" {
				a.part.ID = r.ID
			}
		}
	}
}

// otherKind reports two ids of different kinds, by what stands before their first underscore. The Responses API gives
// a call one as an item of the answer, and one that its result names; some packages record the first.
func otherKind(a, b string) bool {
	kindA, _, okA := strings.Cut(a, "_")
	kindB, _, okB := strings.Cut(b, "_")
	return okA && okB && kindA != kindB
}
