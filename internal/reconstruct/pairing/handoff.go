// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package pairing

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// Handoffs takes the spans of hand-offs from the tool calls, but for those that a response asked for.
//
// Needs: an open request, not begun after the hand-off, to transfer to any agent or under the name of this
// one.
// Refuses: nothing; a span without such a request is no call, and names an agent that took over all the same.
// Seen in: the Agents SDK of OpenAI.
func Handoffs(c *ledger.Ledger) []*ledger.Call {
	var handoffs []*ledger.Call
	kept := c.Tools[:0:0]
	for _, t := range c.Tools {
		if t.Obs.Handoff {
			handoffs = append(handoffs, t)
			target := chat.HandoffTarget(t.Obs.Name)
			a := c.LatestTurn(t, ledger.TurnsBefore[len(ledger.TurnsBefore)-1], func(a *ledger.Asked) bool {
				return strings.HasPrefix(a.Part.Name, "transfer_to_") || strings.HasPrefix(a.Part.Name, "handoff") || a.Part.Name == target
			})
			if a == nil {
				continue
			}
			pairWith(t, a)
		}
		kept = append(kept, t)
	}
	c.Tools = kept
	return handoffs
}

// Delegations ties the agents of the run to the calls that handed over to them, or ran them.
//
// Needs: a call without a span that has the name of the agent, see unseen, or an earlier hand-off to the
// agent.
// Refuses: an agent that is tied already; a hand-off that the agent made itself.
// Seen in: the Agents SDK of OpenAI, ADK.
func Delegations(c *ledger.Ledger, handoffs []*ledger.Call) {
	for _, t := range c.Tools {
		if !t.Obs.Handoff && ledger.TransferTarget(t) != "" {
			handoffs = append(handoffs, t)
		}
	}
	slices.SortStableFunc(handoffs, ledger.CompareCalls)
	for _, agent := range c.Agents {
		if agent.Via != nil || ledger.AgentName(agent) == "" {
			continue
		}
		t := unseen(c, agent)
		switch {
		case t == nil:
			comesAfter(agent, handoffs)
		case goesOn(c, agent, t):
			agent.Via, agent.Relation = t, tape.RelationHandoff
		default:
			agent.Via, t.Holds = t, agent
			t.Start, t.End = min(t.Start, agent.Start), max(t.End, agent.End)
		}
	}
}

// comesAfter ties an agent to the last hand-off to it. One that nothing asked for is no call, and ties by
// name alone.
func comesAfter(t *ledger.Call, handoffs []*ledger.Call) {
	for _, h := range slices.Backward(handoffs) {
		if h.Start > t.Start+spantree.ClockSlack || ledger.TransferTarget(h) != chat.NormalName(ledger.AgentName(t)) || ledger.Within(h, t) {
			continue
		}
		t.Relation = tape.RelationHandoff
		if h.By != nil || !h.Obs.Handoff {
			t.Via = h
		}
		return
	}
}

// unseen finds the call without a span that has the name of an agent, in the last response before the agent.
// The span of the model call may go on until the agent has answered.
func unseen(c *ledger.Ledger, agent *ledger.Call) *ledger.Call {
	for _, m := range slices.Backward(c.Models) {
		if m.Start > agent.Start+spantree.Rounding || m.End > agent.Start+spantree.Rounding && m.End < agent.End || m.Agent != agent.Agent {
			continue
		}
		for _, a := range m.Asked {
			if t := a.Tool; t != nil && len(t.Nodes) == 0 && t.Holds == nil && chat.NormalName(a.Part.Name) == chat.NormalName(ledger.AgentName(agent)) {
				return t
			}
		}
		return nil
	}
	return nil
}

// goesOn reports that an agent was told the conversation with a call in it and what that returned, as one is
// that takes over. One that is a tool begins with what it was asked.
func goesOn(c *ledger.Ledger, agent, t *ledger.Call) bool {
	i := slices.IndexFunc(c.Models, func(m *ledger.Call) bool { return m.Agent == agent })
	return i >= 0 && chat.ShowsResult(c.Models[i].Obs.Request, t.By.Part.ID)
}
