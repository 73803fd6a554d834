// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// MarkEchoed finds the tools by which models answer of which the state says so that the step or the agent
// around the last model call of an agent ended with.
//
// Needs: a response that asks for one call alone; a state that ends with an echo of it, see chat.Echo.
// Refuses: a span of a tool of the agent behind the model call.
// Seen in: LangChain's toolStrategy.
func MarkEchoed(c *ledger.Ledger) {
	last, named := c.LastModels(), map[*ledger.Call]string{} // agent → its tool
	for _, m := range c.Models {
		if last[m.Agent] == m && len(named) < chat.MaxTranscripts {
			named[m.Agent] = echoed(c, m)
		}
	}
	for _, m := range c.Models {
		if name := named[m.Agent]; name != "" {
			answersBy(m, name)
		}
	}
}

// echoed is the tool of the only call that a model asks for, where the state around it ends with an echo of
// that; "" where it does not.
func echoed(c *ledger.Ledger, m *ledger.Call) string {
	if m.Response == nil || len(m.Nodes) == 0 && m.Obs.ResponseLabel != tape.Recovered {
		return ""
	}
	calls := chat.CallsOf(m.Response.Parts)
	if len(calls) != 1 || slices.ContainsFunc(c.Tools, func(t *ledger.Call) bool { return t.Agent == m.Agent && t.End > m.End }) {
		return ""
	}
	echoes := func(n *spantree.Node) bool {
		if n.Obs.OutputData.Label != "" {
			return false
		}
		of := chat.Echo(decode.Transcript(n.Obs.OutputData.Value))
		return of != nil && of.Name == calls[0].Name && of.ID == calls[0].ID
	}
	states := c.States[:min(len(c.States), chat.MaxTranscripts)]
	if len(m.Nodes) == 0 { // when such a call was made is not known to the moment: its id tells
		if !chat.TellsOneCall(calls[0]) || !slices.ContainsFunc(states, echoes) {
			return ""
		}
		return calls[0].Name
	}
	if around := stateAround(states, m); around == nil || !echoes(around) {
		return ""
	}
	return calls[0].Name
}

// stateAround is the shortest of the spans with a state that last as long as a model call, nil if there is
// none.
func stateAround(states []*spantree.Node, m *ledger.Call) (around *spantree.Node) {
	for _, n := range states {
		if n.Start <= m.Start && m.End <= n.End && n.Obs.OutputData.Present() &&
			(around == nil || cmp.Or(cmp.Compare(n.End-n.Start, around.End-around.Start), spantree.CompareNodes(n, around)) < 0) {
			around = n
		}
	}
	return around
}
