// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// nestedAgent decides what the span of an agent within a run is: a sub-agent, the run's own agent once more,
// or a step of a graph.
//
// Needs: a call below the span, or its own request and answer; for a span that only looks like an agent a
// call and a tool that ran it.
// Refuses: any other span that holds no call; one without calls below a model call, beside a call within its
// time, which may be its own, or among a thousand others; the second such span within one tool.
// Seen in: frameworks whose agents are nodes of a graph.
func (c *Ledger) nestedAgent(n *spantree.Node, agent, around *Call) {
	delegated := around != nil && around.Kind == tape.EventToolCall
	elsewhere := (around == nil || delegated) && runsElsewhere(n)
	if n.Obs.WeakAgent && !(delegated && around.Holds == nil) || !elsewhere && !spantree.HoldsCall(n) {
		c.function(n, agent, around)
		c.kids(n, agent, around)
		return
	}
	a := c.NewCall(tape.EventAgentCall, n, agent)
	a.Relation = tape.RelationSubAgent
	if delegated {
		a.Via, around.Holds = around, a
	}
	if elsewhere {
		a.Note(tape.CodeModelCallHidden, "events", "the span tells what the agent was asked and answered, and no span tells its calls")
	}
	c.Agents = append(c.Agents, a)
	c.agentBody(n, a, a)
}

// runsElsewhere reports the span of an agent whose calls nobody reports: it holds none, and its own request
// and answer.
func runsElsewhere(n *spantree.Node) bool {
	o := n.Obs
	tells := !o.WeakAgent && len(o.Input) > 0 && len(o.Output) > 0 && o.Agent.Name != ""
	return tells && n.Up != nil && !n.Span.ParentSpanID().IsEmpty() && !spantree.HoldsCall(n) && !besideCall(n) && !isAbove(n.Up, o.Agent.Name)
}

// besideCall reports a span beside which a call lies, within its time. More than a thousand neighbours are
// not looked at.
func besideCall(n *spantree.Node) bool {
	const most = 1000
	return len(n.Up.Kids) > most || slices.ContainsFunc(n.Up.Kids, func(k *spantree.Node) bool {
		return spantree.IsCall(k) && k.Start >= n.Start && k.End <= n.End
	})
}

// isAbove reports that a span, or one above it, is that of an agent of a name.
func isAbove(n *spantree.Node, name string) bool {
	for range spantree.MaxAbove {
		if n == nil {
			return false
		}
		if n.Obs.Class == genai.Agent && n.Obs.Agent.Name == name {
			return true
		}
		n = n.Up
	}
	return false
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
