// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// releaseAttempts takes from an agent the calls again that their times alone gave it: they are of several attempts
// beside each other, and only one of these can be its own.
//
// Needs: two model calls that overlap and were told the same.
// Refuses: a call that names a parent; two spans of one loop.
// Seen in: traces without parents, of programs that ask several times at once.
func releaseAttempts(nodes []*node) {
	placed := func(k *node) bool { return k.adopted && k.parent.IsEmpty() && isCall(k) }
	for _, n := range filter(nodes, is(genai.Agent)) {
		calls := filter(n.kids, placed)
		if !areAttempts(filter(calls, is(genai.Model))) {
			continue
		}
		n.kids = slices.DeleteFunc(n.kids, placed)
		for _, k := range calls {
			k.up, k.adopted = nil, false
		}
	}
}

// areAttempts reports that two of some model calls overlap and were told the same.
func areAttempts(models []*node) bool {
	slices.SortFunc(models, compareNodes)
	for i, m := range models {
		told := lastUserText(m.obs.Request)
		for _, other := range models[i+1:] {
			if other.start+rounding >= m.end {
				break
			}
			if told != "" && told == lastUserText(other.obs.Request) && !(sameAnswer(m, other) && loopsOver(m, other)) {
				return true
			}
		}
	}
	return false
}
