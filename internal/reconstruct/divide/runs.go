// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package divide

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// Divide finds the runs of a trace. Nested agents stay inside the run around them.
func Divide(roots []*spantree.Node, traceID string) []*fragment.Fragment {
	var frags []*fragment.Fragment
	loose := map[*spantree.Node]bool{}
	for _, r := range roots {
		findRuns(r, nil, &frags, loose)
	}
	apart := relays(roots, loose)
	frags = append(frags, groupLoose(groupTurns(loose), roots, loose)...)
	frags = append(gather(frags), apart...)
	for _, f := range frags {
		f.Traces = []string{traceID}
	}
	return frags
}

// findRuns descends to the outermost agent of each path. Calls that it passes are loose. An agent below a
// loose call is part of what the call did.
func findRuns(n *spantree.Node, entries []*spantree.Node, frags *[]*fragment.Fragment, loose map[*spantree.Node]bool) {
	switch {
	case spantree.IsAgent(n):
		*frags = append(*frags, &fragment.Fragment{Root: unwrapped(n), Heads: []*spantree.Node{n}, Entry: reversed(entries)})
		return
	case n.Obs.Class == genai.Entry:
		entries = append(slices.Clone(entries), n)
	case spantree.IsCall(n) && !spantree.IsWrapper(n):
		loose[n] = true
		return
	}
	for _, k := range n.Kids {
		findRuns(k, entries, frags, loose)
	}
}

func reversed(nodes []*spantree.Node) []*spantree.Node {
	out := slices.Clone(nodes)
	slices.Reverse(out)
	return out
}

// unwrapped is the span that tells of a run: the only agent inside a span that says no more than that the run
// took place.
func unwrapped(n *spantree.Node) *spantree.Node {
	for isBare(n) {
		agent := spantree.AgentInside(n)
		if agent == nil {
			break
		}
		n = agent
	}
	return n
}

// isBare reports an agent span that says nothing about the run but that it took place.
func isBare(n *spantree.Node) bool {
	o := n.Obs
	return len(o.Input) == 0 && len(o.Output) == 0 && !o.InputData.Present() && !o.OutputData.Present() &&
		(o.WeakAgent || o.Agent.Name == "")
}
