// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape"
)

// handoffs ties hand-off spans to the calls that asked for them.
func (c *collector) handoffs() []*call {
	var handoffs []*call
	kept := c.tools[:0:0]
	for _, t := range c.tools {
		if !t.obs.Handoff {
			kept = append(kept, t)
			continue
		}
		target := handoffTarget(t.obs.Name)
		a := c.latestTurn(t, turnsBefore[len(turnsBefore)-1], func(_ *call, a *asked) bool {
			return strings.HasPrefix(a.part.Name, "transfer_to_") || strings.HasPrefix(a.part.Name, "handoff") || a.part.Name == target
		})
		if a != nil {
			t.by, a.tool = a, t
			kept = append(kept, t)
		}
		handoffs = append(handoffs, t)
	}
	c.tools = kept
	return handoffs
}

// delegations ties agents that run after a hand-off to it.
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
		if t := c.unseen(agent); t != nil && c.goesOn(agent, t) {
			agent.via, agent.relation = t, tape.RelationHandoff
			continue
		} else if t != nil {
			agent.via, t.holds = t, agent
			t.start, t.end = min(t.start, agent.start), max(t.end, agent.end)
			continue
		}
		var last *call
		for _, h := range handoffs {
			if h.start <= agent.start+clockSlack && transferTarget(h) == normalName(agentName(agent)) && !within(h, agent) {
				last = h
			}
		}
		if last != nil {
			agent.relation = tape.RelationHandoff
			if last.by != nil || !last.obs.Handoff {
				agent.via = last
			}
		}
	}
}

// unseen finds the call that no span reports of a tool with the name of an agent, which the response asked for that came last before the agent. The
// span of the model call may go on until the agent has answered.
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

// goesOn reports that an agent was told the conversation with the call in it, and what the call returned, as one is that takes over. One that is a tool begins with what it was asked.
func (c *collector) goesOn(agent, t *call) bool {
	for _, m := range c.models {
		if m.agent == agent {
			return showsResult(m.obs.Request, t.by.part.ID)
		}
	}
	return false
}

// within reports that a call was made by the agent, or by one inside it.
func within(k, agent *call) bool {
	for a := k.agent; a != nil; a = a.agent {
		if a == agent {
			return true
		}
	}
	return false
}

// transferTarget names the agent that a call hands over to: by its own name, or by an argument.
func transferTarget(t *call) string {
	name := t.obs.Name
	if name != "transfer_to_agent" && name != "handoff_to_agent" {
		if target := handoffTarget(name); t.obs.Handoff || target != normalName(name) {
			return target
		}
		return ""
	}
	args := t.obs.Args.Value
	if t.by != nil && !t.by.part.Args.IsEmpty() {
		args = t.by.part.Args
	}
	return normalName(args.First("agent_name", "agentName", "agent").Str())
}

func handoffTarget(name string) string {
	for _, p := range []string{"handoff to ", "handoff_to_", "transfer_to_"} {
		if rest, ok := strings.CutPrefix(name, p); ok {
			return normalName(rest)
		}
	}
	return normalName(name)
}

func normalName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' {
			return '_'
		}
		return r
	}, strings.ToLower(name))
}
