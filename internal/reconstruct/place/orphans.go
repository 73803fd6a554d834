// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package place

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// placeOrphans hangs a span whose parent never came below the innermost call or agent whose time encloses it.
// Spans that are no evidence (HTTP clients, the application's own) are the usual reason for the gap. In a
// trace of which no span names a parent, all of them are placed so where their content agrees, see belongs.
//
// Needs: one such call or agent; of two branches, what they have in common.
// Refuses: siblings that miss the same parent.
// Seen in: most applications; packages that record no parents.
func placeOrphans(nodes []*spantree.Node) {
	unparented := nameNoParents(nodes)
	place(spantree.Filter(nodes, func(n *spantree.Node) bool { return n.Up == nil && (n.Missing || unparented) }), nodes, maxPlacing)
}

// hasOrphans reports a trace with a span whose parent never came, or of which no span names a parent.
func hasOrphans(nodes []*spantree.Node) bool {
	return slices.ContainsFunc(nodes, func(n *spantree.Node) bool { return n.Missing }) || nameNoParents(nodes)
}

// maxPlacing bounds the work of placing orphans by time; what is left then stays where it is.
const maxPlacing = 20_000_000

// nameNoParents reports a trace of several spans of which none names a parent: who wrote it records none.
func nameNoParents(nodes []*spantree.Node) bool {
	spans := 0
	for _, n := range nodes {
		switch {
		case n.Spans == 0:
		case !n.Parent.IsEmpty():
			return false
		default:
			spans++
		}
	}
	return spans > 1
}

// place hangs orphans below the nodes that enclose them, with so many steps at most, and returns how many are
// left.
func place(orphans, nodes []*spantree.Node, steps int) (left int) {
	agent := onlyAgent(nodes)
	for _, n := range orphans {
		p := enclosing(n, nodes, agent, 0, &steps)
		if p == nil && n.Parent.IsEmpty() {
			p = enclosing(n, nodes, agent, spantree.Rounding, &steps)
		}
		if p != nil {
			n.Up, n.Adopted = p, true
			p.Kids = append(p.Kids, n)
		}
		if steps < 0 {
			break
		}
	}
	return steps
}

// onlyAgent is the agent of a trace that has one.
func onlyAgent(nodes []*spantree.Node) *spantree.Node {
	agents := spantree.Filter(nodes, spantree.IsAgent)
	if len(agents) != 1 {
		return nil
	}
	return agents[0]
}

// enclosing is the node below which an orphan belongs by its times. It may end so much later, in ns.
func enclosing(n *spantree.Node, nodes []*spantree.Node, agent *spantree.Node, slack uint64, steps *int) (best *spantree.Node) {
	for _, c := range nodes {
		if c.Start > n.Start || c == n && n.Parent.IsEmpty() {
			break // nodes are in order of their start, the longer one first
		}
		if *steps--; *steps < 0 {
			return nil
		}
		if c == n || !n.Within(c) && !overruns(n, c, slack) || !canEnclose(c, n) || spantree.Below(c, n) {
			continue
		}
		*steps -= height(c) // what the walks below cost
		if best == nil {
			best = c
		} else if best = inner(best, c, agent); best == nil {
			return nil
		}
	}
	return best
}

// inner is which of two nodes around an orphan it belongs to: the one below the other, else what they have in
// common. Steps of streams end after the agent around them, so the only agent of the trace comes before a
// step.
func inner(a, b, agent *spantree.Node) *spantree.Node {
	switch {
	case spantree.Below(b, a):
		return b
	case spantree.Below(a, b), a == agent && b.Obs.Class == genai.Structure:
		return a
	case b == agent && a.Obs.Class == genai.Structure:
		return b
	}
	for ; a != nil && a != b && !spantree.Below(b, a); a = a.Up {
	}
	return a
}

// overruns reports a span that began in the time of c and ended a little later: producers round starts to
// milliseconds. Of two layers of one model call the inner one often does.
func overruns(n *spantree.Node, c *spantree.Node, slack uint64) bool {
	if c.Obs.Class == genai.Model && n.Obs.Class == genai.Model && n.Parent.IsEmpty() {
		slack = spantree.Rounding
	}
	return n.Start < c.End && n.End <= c.End+slack
}

// canEnclose reports whether an orphan can belong to c. An agent belongs to a call that delegated to it, or
// to an agent that is known to be the root of the trace.
func canEnclose(c, n *spantree.Node) bool {
	if c.Missing && c.Parent == n.Parent || n.Parent.IsEmpty() && !belongs(n, c) {
		return false
	}
	switch c.Obs.Class {
	case genai.Tool:
		return true
	case genai.Agent, genai.Structure, genai.Entry:
		return !spantree.HoldsAgent(n) || spantree.RootOf(c).Parent.IsEmpty() && c.Obs.Class != genai.Structure
	case genai.Model:
		return n.Parent.IsEmpty() || c.Sole // what hangs below something hangs below the top of its trace
	default:
		return false
	}
}

// height is how many nodes stand above n.
func height(n *spantree.Node) (h int) {
	for n = n.Up; n != nil; n = n.Up {
		h++
	}
	return h
}
