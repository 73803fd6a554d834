// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import "github.com/tapedeck/tapedeck/internal/reading/genai"

// placeOrphans hangs a span whose parent never came below the innermost call or agent whose time encloses it. Spans that
// are no evidence (HTTP clients, the application's own) are the usual reason for the gap. In a trace of which no span
// names a parent, all of them are placed so where their content agrees, see belongs.
//
// Needs: one such call or agent; of two branches, what they have in common.
// Refuses: siblings that miss the same parent.
// Seen in: most applications; packages that record no parents.
func placeOrphans(nodes []*node) {
	unparented := nameNoParents(nodes)
	place(filter(nodes, func(n *node) bool { return n.up == nil && (n.missing || unparented) }), nodes, maxPlacing)
}

// maxPlacing bounds the work of placing orphans by time; what is left then stays where it is.
const maxPlacing = 20_000_000

// nameNoParents reports a trace of several spans of which none names a parent: who wrote it records none.
func nameNoParents(nodes []*node) bool {
	spans := filter(nodes, func(n *node) bool { return n.spans > 0 })
	return len(spans) > 1 && len(filter(spans, func(n *node) bool { return !n.parent.IsEmpty() })) == 0
}

// place hangs orphans below the nodes that enclose them, with so many steps at most, and returns how many are left.
func place(orphans, nodes []*node, steps int) (left int) {
	agent := onlyAgent(nodes)
	for _, n := range orphans {
		p := enclosing(n, nodes, agent, 0, &steps)
		if p == nil && n.parent.IsEmpty() {
			p = enclosing(n, nodes, agent, rounding, &steps)
		}
		if p != nil {
			n.up, n.adopted = p, true
			p.kids = append(p.kids, n)
		}
		if steps < 0 {
			break
		}
	}
	return steps
}

// onlyAgent is the agent of a trace that has one.
func onlyAgent(nodes []*node) *node {
	agents := filter(nodes, is(genai.Agent))
	if len(agents) != 1 {
		return nil
	}
	return agents[0]
}

// enclosing is the node below which an orphan belongs by its times. It may end so much later, in ns.
func enclosing(n *node, nodes []*node, agent *node, slack uint64, steps *int) (best *node) {
	for _, c := range nodes {
		if c.start > n.start || c == n && n.parent.IsEmpty() {
			break // nodes are in order of their start, the longer one first
		}
		if *steps--; *steps < 0 {
			return nil
		}
		if c == n || !n.within(c) && !n.overruns(c, slack) || !canEnclose(c, n) || below(c, n) {
			continue
		}
		*steps -= c.height() // what the walks below cost
		if best == nil {
			best = c
		} else if best = inner(best, c, agent); best == nil {
			return nil
		}
	}
	return best
}

// inner is which of two nodes around an orphan it belongs to: the one below the other, else what they have in common.
// Steps of streams end after the agent around them, so the only agent of the trace comes before a step.
func inner(a, b, agent *node) *node {
	switch {
	case below(b, a):
		return b
	case below(a, b), a == agent && b.obs.Class == genai.Structure:
		return a
	case b == agent && a.obs.Class == genai.Structure:
		return b
	}
	for ; a != nil && a != b && !below(b, a); a = a.up {
	}
	return a
}

// overruns reports a span that began in the time of c and ended a little later: producers round starts to milliseconds.
// Of two layers of one model call the inner one often does.
func (n *node) overruns(c *node, slack uint64) bool {
	if c.obs.Class == genai.Model && n.obs.Class == genai.Model && n.parent.IsEmpty() {
		slack = rounding
	}
	return n.start < c.end && n.end <= c.end+slack
}

// canEnclose reports whether an orphan can belong to c. An agent belongs to a call that delegated to it, or to an agent
// that is known to be the root of the trace.
func canEnclose(c, n *node) bool {
	if c.missing && c.parent == n.parent || n.parent.IsEmpty() && !belongs(n, c) {
		return false
	}
	switch c.obs.Class {
	case genai.Tool:
		return true
	case genai.Agent, genai.Structure, genai.Entry:
		return !holdsAgent(n) || rootOf(c).parent.IsEmpty() && c.obs.Class != genai.Structure
	case genai.Model:
		return n.parent.IsEmpty() || c.sole // what hangs below something hangs below the top of its trace
	default:
		return false
	}
}

// height is how many nodes stand above n.
func (n *node) height() (h int) {
	for n = n.up; n != nil; n = n.up {
		h++
	}
	return h
}
