// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// handoffs takes the spans of hand-offs from the tool calls, but for those that a response asked for.
//
// Needs: an open request, not begun after the hand-off, to transfer to any agent or under the name of this one.
// Refuses: nothing; a span without such a request is no call, and names an agent that took over all the same.
// Seen in: the Agents SDK of OpenAI.
func (c *collector) handoffs() []*call {
	var handoffs []*call
	kept := c.tools[:0:0]
	for _, t := range c.tools {
		if t.obs.Handoff {
			handoffs = append(handoffs, t)
			target := handoffTarget(t.obs.Name)
			a := c.latestTurn(t, turnsBefore[len(turnsBefore)-1], func(a *asked) bool {
				return strings.HasPrefix(a.part.Name, "transfer_to_") || strings.HasPrefix(a.part.Name, "handoff") || a.part.Name == target
			})
			if a == nil {
				continue
			}
			t.pairWith(a)
		}
		kept = append(kept, t)
	}
	c.tools = kept
	return handoffs
}

// delegations ties the agents of the run to the calls that handed over to them, or ran them.
//
// Needs: a call without a span that has the name of the agent, see unseen, or an earlier hand-off to the agent.
// Refuses: an agent that is tied already; a hand-off that the agent made itself.
// Seen in: the Agents SDK of OpenAI, ADK.
func (c *collector) delegations(handoffs []*call) {
	for _, t := range c.tools {
		if !t.obs.Handoff && transferTarget(t) != "" {
			handoffs = append(handoffs, t)
		}
	}
	slices.SortStableFunc(handoffs, compareCalls)
	for _, agent := range c.agents {
		if agent.via != nil || agentName(agent) == "" {
			continue
		}
		t := c.unseen(agent)
		switch {
		case t == nil:
			agent.comesAfter(handoffs)
		case c.goesOn(agent, t):
			agent.via, agent.relation = t, tape.RelationHandoff
		default:
			agent.via, t.holds = t, agent
			t.start, t.end = min(t.start, agent.start), max(t.end, agent.end)
		}
	}
}

// comesAfter ties an agent to the last hand-off to it. One that nothing asked for is no call, and ties by name alone.
func (t *call) comesAfter(handoffs []*call) {
	for _, h := range slices.Backward(handoffs) {
		if h.start > t.start+clockSlack || transferTarget(h) != normalName(agentName(t)) || within(h, t) {
			continue
		}
		t.relation = tape.RelationHandoff
		if h.by != nil || !h.obs.Handoff {
			t.via = h
		}
		return
	}
}

// unseen finds the call without a span that has the name of an agent, in the last response before the agent. The span
// of the model call may go on until the agent has answered.
func (c *collector) unseen(agent *call) *call {
	for _, m := range slices.Backward(c.models) {
		if m.start > agent.start+rounding || m.end > agent.start+rounding && m.end < agent.end || m.agent != agent.agent {
			continue
		}
		for _, a := range m.asked {
			if t := a.tool; t != nil && len(t.nodes) == 0 && t.holds == nil && normalName(a.part.Name) == normalName(agentName(agent)) {
				return t
			}
		}
		return nil
	}
	return nil
}

// goesOn reports that an agent was told the conversation with a call in it and what that returned, as one is that
// takes over. One that is a tool begins with what it was asked.
func (c *collector) goesOn(agent, t *call) bool {
	i := slices.IndexFunc(c.models, func(m *call) bool { return m.agent == agent })
	return i >= 0 && showsResult(c.models[i].obs.Request, t.by.part.ID)
}

// transferTarget names the agent that a call hands over to: by its own name, or by an argument.
func transferTarget(t *call) string {
	args := t.obs.Args.Value
	if t.by != nil && !t.by.part.Args.IsEmpty() {
		args = t.by.part.Args
	}
	return agentHandedTo(t.obs.Name, args, t.obs.Handoff)
}

// agentHandedTo names the agent that a call of this name hands over to, "" where it hands over to none. The span of a
// hand-off may have the name of the agent alone.
func agentHandedTo(name string, args exactjson.Value, handoff bool) string {
	if name == "transfer_to_agent" || name == "handoff_to_agent" {
		return normalName(args.First("agent_name", "agentName", "agent").Str())
	}
	if target := handoffTarget(name); handoff || target != normalName(name) {
		return target
	}
	return ""
}

// handoffTarget is the name of the agent in the name of a hand-off, or the whole name.
func handoffTarget(name string) string {
	for _, p := range []string{"handoff to ", "handoff_to_", "transfer_to_"} {
		if rest, ok := strings.CutPrefix(name, p); ok {
			return normalName(rest)
		}
	}
	return normalName(name)
}

// normalName is a name in lower case, with one separator.
func normalName(name string) string { return separators.Replace(strings.ToLower(name)) }

var separators = strings.NewReplacer(" ", "_", "-", "_")
