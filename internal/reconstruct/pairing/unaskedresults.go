// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// ShowUnasked gives the results that a request shows, behind an answer whose calls are not on record, to the
// tools that ran in between.
//
// Needs: as many tools as results, none of which tells a result, one behind the other in time. Some programs
// keep results in the order in which tools began, some in that in which they ended.
// Refuses: an id that is known; a model call in between, but below those tools.
// Seen in: packages that record no calls in answers.
func ShowUnasked(c *ledger.Ledger) {
	known := map[string]bool{}
	for a := range c.Asks {
		known[a.Part.ID] = true
	}
	for _, t := range c.Tools {
		known[t.Obs.CallID] = true
	}
	for i, m := range c.Models {
		if len(m.Asked) > 0 || len(m.Nodes) == 0 {
			continue
		}
		next := resumed(c, i)
		if next == nil {
			continue
		}
		results, ran := unaskedResults(m, next, known), ranBetween(c, m, next)
		numbered := slices.ContainsFunc(results, func(r *genai.Part) bool { return r.ID != "" }) &&
			slices.ContainsFunc(ran, func(t *ledger.Call) bool { return t.Obs.CallID != "" })
		if numbered || len(ran) != len(results) {
			continue
		}
		for k, t := range ran {
			o := t.Obs.Draft()
			o.Result = genai.Content{Value: results[k].Result, Envelope: results[k].Envelope, Label: tape.Recovered}
			decode.FillString(&o.CallID, results[k].ID)
			t.Obs = o.Seal()
		}
	}
}

// unaskedResults are the results behind the answer of m in the next request, nil where anything else stands
// there, or what says whose they are. An answer that was not recorded need not stand in the request either.
func unaskedResults(m, next *ledger.Call, known map[string]bool) (results []*genai.Part) {
	at := len(m.Request) - 1
	if m.Response != nil {
		at = answerIn(next.Request, m)
	}
	if at < 0 {
		return nil
	}
	for _, msg := range next.Request[at+1:] {
		for k := range msg.Parts {
			p := &msg.Parts[k]
			if msg.Tape.Role != tape.RoleTool || p.Type != tape.PartToolResult || p.ID != "" && known[p.ID] || p.Name != "" || p.Label != "" {
				return nil
			}
			results = append(results, p)
		}
	}
	return results
}

// ranBetween are the tools that ran between two model calls, but for those below others. It is nil where one
// is paired, tells a result, or began or ended out of order.
func ranBetween(c *ledger.Ledger, m, next *ledger.Call) (ran []*ledger.Call) {
	var last *ledger.Call
	first, _ := slices.BinarySearchFunc(c.Tools, m.Start, func(t *ledger.Call, at uint64) int { return cmp.Compare(t.Start, at) })
	for _, t := range c.Tools[first:] {
		if t.Start >= next.Start {
			break
		}
		if t.Agent == m.Agent && ledger.BelowTool(t) {
			continue
		}
		if len(t.Nodes) == 0 || t.By != nil || t.End > next.Start+spantree.Rounding || t.Obs.Result.Present() || t.Obs.Result.Label != "" ||
			last != nil && (last.Start >= t.Start || last.End >= t.End) {
			return nil
		}
		ran, last = append(ran, t), t
	}
	return ran
}

// maxBelow bounds how many model calls below the tools of one turn are passed over.
const maxBelow = 64

// resumed is the model call of the agent whose request goes on from that of the call at i: the next one, but
// for those below a tool.
func resumed(c *ledger.Ledger, i int) *ledger.Call {
	m := c.Models[i]
	for _, next := range c.Models[i+1 : min(len(c.Models), i+1+maxBelow)] {
		switch {
		case next.Agent == m.Agent && chat.CommonPrefix(m.Request, next.Request) == len(m.Request):
			return next
		case !ledger.BelowTool(next):
			return nil
		}
	}
	return nil
}
