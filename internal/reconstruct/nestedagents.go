// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// nestedAgent decides what the span of an agent within a run is: a sub-agent, the run's own agent once more,
// or a step of a graph.
//
// Needs: a call below the span; for a span that only looks like an agent also a tool that ran it.
// Refuses: a span that holds no call; the second such span within one tool.
// Seen in: frameworks whose agents are nodes of a graph.
func (c *collector) nestedAgent(n *node, agent, around *call) {
	delegated := around != nil && around.kind == tape.EventToolCall
	if n.obs.WeakAgent && !(delegated && around.holds == nil) || !holdsCall(n) {
		c.function(n, agent, around)
		c.kids(n, agent, around)
		return
	}
	a := c.newCall(tape.EventAgentCall, n, agent)
	a.relation = tape.RelationSubAgent
	if delegated {
		a.via, around.holds = around, a
	}
	c.agents = append(c.agents, a)
	c.agentBody(n, a, a)
}

// agentBody reads what lies below the span of an agent. self is the nested agent, nil for the run's own. The
// span of the same agent within it is one more report of the agent.
func (c *collector) agentBody(n *node, agent, self *call) {
	inner := sameAgent(n)
	for _, k := range n.kids {
		c.agentKid(k, agent, self, inner)
	}
}

func (c *collector) agentKid(k *node, agent, self *call, inner *node) {
	switch {
	case k == inner:
		if self != nil {
			self.nodes = append(self.nodes, k)
		}
		c.agentBody(k, agent, self)
	case inner != nil && below(inner, k) && !isCall(k) && (k.obs.Class != genai.Agent || k.obs.WeakAgent):
		for _, kk := range k.kids {
			c.agentKid(kk, agent, self, inner)
		}
	default:
		c.node(k, agent, nil)
	}
}

// sameAgent returns the span of an agent below n that stands for the same agent: the only one, or the first
// one of several under the same name, or under any name where n has none. A call beside the agents
// contradicts that.
func sameAgent(n *node) *node {
	var agents []*node
	calls := false
	for _, k := range n.kids {
		walk(k, func(m *node) bool {
			if m.obs.Class == genai.Agent && !m.obs.WeakAgent && holdsCall(m) {
				agents = append(agents, m)
				return false
			}
			calls = calls || isCall(m)
			return !isCall(m)
		})
	}
	if len(agents) == 0 || calls {
		return nil
	}
	first := slices.MinFunc(agents, compareNodes)
	if name := n.obs.Agent.Name; len(agents) == 1 || name == "" || name == first.obs.Agent.Name {
		return first
	}
	return nil
}

// holdsCall reports a span with a model or tool call below it.
func holdsCall(n *node) bool {
	found := false
	walk(n, func(m *node) bool {
		found = found || m != n && (m.obs.Class == genai.Model || m.obs.Class == genai.Tool)
		return !found
	})
	return found
}
