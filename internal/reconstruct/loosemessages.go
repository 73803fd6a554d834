// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// relays makes a fragment of each message on its way between agents, around which there is no run and below which none
// begins. Alone it is no run: byRelay finds whose it is.
func relays(roots []*node, loose map[*node]bool) (frags []*fragment) {
	begins := map[*node]bool{} // a run, there or below
	for _, r := range roots {
		if !relaysIn(r, nil) {
			continue
		}
		var seen []*node
		walk(r, func(n *node) bool {
			seen = append(seen, n)
			begins[n] = n.obs.Class == genai.Agent || loose[n]
			return !begins[n]
		})
		for _, n := range slices.Backward(seen) {
			if begins[n] && n != r {
				begins[n.up] = true
			}
		}
		walk(r, func(n *node) bool {
			if n.obs.Relay && !begins[n] {
				frags = append(frags, &fragment{heads: []*node{n}})
				return false
			}
			return n.obs.Class != genai.Agent && !loose[n]
		})
	}
	return frags
}
