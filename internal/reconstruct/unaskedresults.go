// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

// showUnasked gives the results that a request shows, behind an answer whose calls are not on record, to the tools that
// ran in between.
//
// Needs: as many tools as results, none of which tells a result, one behind the other in time. Some programs keep
// results in the order in which tools began, some in that in which they ended.
// Refuses: an id that is known; a model call in between, but below those tools.
// Seen in: packages that record no calls in answers.
func (c *collector) showUnasked() {
	known := map[string]bool{}
	for a := range c.asks {
		known[a.part.ID] = true
	}
	for _, t := range c.tools {
		known[t.obs.CallID] = true
	}
	for i, m := range c.models {
		if len(m.asked) > 0 || len(m.nodes) == 0 {
			continue
		}
		next := c.resumed(i)
		if next == nil {
			continue
		}
		results, ran := unaskedResults(m, next, known), c.ranBetween(m, next)
		numbered := slices.ContainsFunc(results, func(r *genai.Part) bool { return r.ID != "" }) &&
			slices.ContainsFunc(ran, func(t *call) bool { return t.obs.CallID != "" })
		if numbered || len(ran) != len(results) {
			continue
		}
		for k, t := range ran {
			o := *t.obs
			o.Result = genai.Content{Value: results[k].Result, Envelope: results[k].Envelope, Label: tape.Recovered}
			decode.FillString(&o.CallID, results[k].ID)
			t.obs = &o
		}
	}
}

// unaskedResults are the results behind the answer of m in the next request, nil where anything else stands there, or
// what says whose they are. An answer that was not recorded need not stand in the request either.
func unaskedResults(m, next *call, known map[string]bool) (results []*genai.Part) {
	at := len(m.request) - 1
	if m.response != nil {
		at = answerIn(next.request, m)
	}
	if at < 0 {
		return nil
	}
	for _, msg := range next.request[at+1:] {
		for k := range msg.parts {
			p := &msg.parts[k]
			if msg.tape.Role != tape.RoleTool || p.Type != tape.PartToolResult || p.ID != "" && known[p.ID] || p.Name != "" || p.Label != "" {
				return nil
			}
			results = append(results, p)
		}
	}
	return results
}

// ranBetween are the tools that ran between two model calls, but for those below others. It is nil where one is paired,
// tells a result, or began or ended out of order.
func (c *collector) ranBetween(m, next *call) (ran []*call) {
	var last *call
	first, _ := slices.BinarySearchFunc(c.tools, m.start, func(t *call, at uint64) int { return cmp.Compare(t.start, at) })
	for _, t := range c.tools[first:] {
		if t.start >= next.start {
			break
		}
		if t.agent == m.agent && belowTool(t) {
			continue
		}
		if len(t.nodes) == 0 || t.by != nil || t.end > next.start+rounding || t.obs.Result.Present() || t.obs.Result.Label != "" ||
			last != nil && (last.start >= t.start || last.end >= t.end) {
			return nil
		}
		ran, last = append(ran, t), t
	}
	return ran
}

// maxBelow bounds how many model calls below the tools of one turn are passed over.
const maxBelow = 64

// resumed is the model call of the agent whose request goes on from that of the call at i: the next one, but for those
// below a tool.
func (c *collector) resumed(i int) *call {
	m := c.models[i]
	for _, next := range c.models[i+1 : min(len(c.models), i+1+maxBelow)] {
		switch {
		case next.agent == m.agent && commonPrefix(m.request, next.request) == len(m.request):
			return next
		case !belowTool(next):
			return nil
		}
	}
	return nil
}
