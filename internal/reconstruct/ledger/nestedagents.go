// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// nestedAgent decides what the span of an agent within a run is: a sub-agent, the run's own agent once more,
// or a step of a graph.
//
// Needs: a call below the span; for a span that only looks like an agent also a tool that ran it.
// Refuses: a span that holds no call; the second such span within one tool.
// Seen in: frameworks whose agents are nodes of a graph.
func (c *Ledger) nestedAgent(n *spantree.Node, agent, around *Call) {
	delegated := around != nil && around.Kind == tape.EventToolCall
	if n.Obs.WeakAgent && !(delegated && around.Holds == nil) || !spantree.HoldsCall(n) {
		c.function(n, agent, around)
		c.kids(n, agent, around)
		return
	}
	a := c.NewCall(tape.EventAgentCall, n, agent)
	a.Relation = tape.RelationSubAgent
	if delegated {
		a.Via, around.Holds = around, a
	}
	c.Agents = append(c.Agents, a)
	c.agentBody(n, a, a)
}

// agentBody reads what lies below the span of an agent. self is the nested agent, nil for the run's own. The
// span of the same agent within it is one more report of the agent.
func (c *Ledger) agentBody(n *spantree.Node, agent, self *Call) {
	inner := spantree.SameAgent(n)
	for _, k := range n.Kids {
		c.agentKid(k, agent, self, inner)
	}
}

func (c *Ledger) agentKid(k *spantree.Node, agent, self *Call, inner *spantree.Node) {
	switch {
	case k == inner:
		if self != nil {
			self.Nodes = append(self.Nodes, k)
		}
		c.agentBody(k, agent, self)
	case inner != nil && spantree.Below(inner, k) && !spantree.IsCall(k) && (k.Obs.Class != genai.Agent || k.Obs.WeakAgent):
		for _, kk := range k.Kids {
			c.agentKid(kk, agent, self, inner)
		}
	default:
		c.node(k, agent, nil)
	}
}
