// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/genai"
)

// link hangs every node below its parent and returns the local roots. A node whose parent never came hangs below the innermost call or
// agent whose time encloses it, if there is exactly one such. Spans that are no evidence (HTTP clients, the application's own) are the
// usual reason for the gap.
func link(nodes []*node) []*node {
	byID := make(map[pcommon.SpanID]*node, len(nodes))
	for _, n := range nodes {
		byID[n.id] = n
	}
	for _, n := range nodes {
		if n.parent.IsEmpty() {
			continue
		}
		if p := byID[n.parent]; p != nil && p != n {
			n.up = p
		} else {
			n.missing = true
		}
	}
	cutCycles(nodes)
	for _, n := range nodes {
		if n.up != nil {
			n.up.kids = append(n.up.kids, n)
		}
	}
	var orphans []*node
	for _, n := range nodes {
		if n.up == nil && n.missing {
			orphans = append(orphans, n)
		}
	}
	place(orphans, nodes, maxPlacing)
	var roots []*node
	for _, n := range nodes {
		if n.up == nil {
			roots = append(roots, n)
		}
	}
	for _, n := range nodes {
		if n.obs.Class == genai.Structure && n.obs.Summary && n.obs.Model != "" {
			handModel(n)
		}
	}
	return roots
}

// handModel gives the model that a span around several calls names to the calls that name none.
func handModel(n *node) {
	walk(n, func(m *node) bool {
		if m.obs.Class == genai.Model && m.obs.Model == "" && m.obs.ResponseModel == "" {
			m.obs.Model = n.obs.Model
		}
		return true
	})
}

// place hangs orphans below the nodes that enclose them, with so many steps at most, and returns how many are left.
func place(orphans, nodes []*node, steps int) (left int) {
	for _, n := range orphans {
		if p := enclosing(n, nodes, &steps); p != nil {
			n.up, n.adopted = p, true
			p.kids = append(p.kids, n)
		}
		if steps < 0 {
			break
		}
	}
	return steps
}

// cutCycles makes every parent chain end: the earliest node of a cycle loses its parent.
func cutCycles(nodes []*node) {
	state := make(map[*node]int, len(nodes)) // 1 on the path, 2 done
	for _, n := range nodes {
		var path []*node
		m := n
		for m != nil && state[m] == 0 {
			state[m] = 1
			path = append(path, m)
			m = m.up
		}
		if m != nil && state[m] == 1 {
			first := m
			for k := m.up; k != m; k = k.up {
				if compareNodes(k, first) < 0 {
					first = k
				}
			}
			first.up, first.missing = nil, true
		}
		for _, k := range path {
			state[k] = 2
		}
	}
}

// maxPlacing bounds the work of placing orphans by time; what is left then stays where it is.
const maxPlacing = 20_000_000

// enclosing finds the node below which an orphan belongs by its times.
func enclosing(n *node, nodes []*node, steps *int) *node {
	var best *node
	for _, c := range nodes {
		if c.start > n.start {
			break // nodes are in order of their start
		}
		if *steps--; *steps < 0 {
			return nil
		}
		if c == n || !n.within(c) || !canEnclose(c, n) || below(c, n) {
			continue
		}
		*steps -= c.height() // what the walks below cost
		switch {
		case best == nil || below(c, best):
			best = c
		case below(best, c):
		default: // two branches enclose it: what they have in common does
			best = common(best, c)
			if best == nil {
				return nil
			}
		}
	}
	return best
}

// canEnclose reports whether an orphan can belong to c. Siblings that miss the same parent are not in each other. An agent belongs
// to a call that delegated to it, or to an agent that is known to be the root of the trace.
func canEnclose(c, n *node) bool {
	if c.missing && c.parent == n.parent {
		return false
	}
	switch c.obs.Class {
	case genai.Tool:
		return true
	case genai.Agent, genai.Structure, genai.Entry:
		return !holdsAgent(n) || rootOf(c).parent.IsEmpty() && c.obs.Class != genai.Structure
	default:
		return false
	}
}

func rootOf(n *node) *node {
	for n.up != nil {
		n = n.up
	}
	return n
}

// height is how many nodes stand above n.
func (n *node) height() int {
	h := 0
	for n = n.up; n != nil; n = n.up {
		h++
	}
	return h
}

// below reports whether n hangs below m.
func below(n, m *node) bool {
	for n = n.up; n != nil; n = n.up {
		if n == m {
			return true
		}
	}
	return false
}

func common(a, b *node) *node {
	for ; a != nil; a = a.up {
		if a == b || below(b, a) {
			return a
		}
	}
	return nil
}

func holdsAgent(n *node) bool {
	if n.obs.Class == genai.Agent {
		return true
	}
	for _, k := range n.kids {
		if holdsAgent(k) {
			return true
		}
	}
	return false
}

// walk visits n and everything below it, parents first.
func walk(n *node, visit func(*node) (descend bool)) {
	if !visit(n) {
		return
	}
	for _, k := range n.kids {
		walk(k, visit)
	}
}
