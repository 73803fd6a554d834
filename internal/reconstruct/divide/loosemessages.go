// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package divide

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// relays makes a fragment of each message on its way between agents, around which there is no run and below
// which none begins. Alone it is no run: byRelay finds whose it is.
func relays(roots []*spantree.Node, loose map[*spantree.Node]bool) (frags []*fragment.Fragment) {
	begins := map[*spantree.Node]bool{} // a run, there or below
	for _, r := range roots {
		if !fragment.RelaysIn(r, nil) {
			continue
		}
		var seen []*spantree.Node
		spantree.Walk(r, func(n *spantree.Node) bool {
			seen = append(seen, n)
			begins[n] = n.Obs.Class == genai.Agent || loose[n]
			return !begins[n]
		})
		for _, n := range slices.Backward(seen) {
			if begins[n] && n != r {
				begins[n.Up] = true
			}
		}
		spantree.Walk(r, func(n *spantree.Node) bool {
			if n.Obs.Relay && !begins[n] {
				frags = append(frags, &fragment.Fragment{Heads: []*spantree.Node{n}})
				return false
			}
			return n.Obs.Class != genai.Agent && !loose[n]
		})
	}
	return frags
}
