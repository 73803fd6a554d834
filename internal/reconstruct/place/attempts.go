// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package place

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// isPlacedByTime reports a call without a parent that its times alone placed.
func isPlacedByTime(k *spantree.Node) bool {
	return k.Adopted && k.Parent.IsEmpty() && spantree.IsCall(k)
}

// releaseAttempts takes from an agent the calls again that their times alone gave it: they are of several
// attempts beside each other, and only one of these can be its own.
//
// Needs: two model calls that overlap and were told the same.
// Refuses: a call that names a parent; two spans of one loop.
// Seen in: traces without parents, of programs that ask several times at once.
func releaseAttempts(nodes []*spantree.Node) {
	for _, n := range spantree.Filter(nodes, spantree.IsAgent) {
		calls := spantree.Filter(n.Kids, isPlacedByTime)
		if !areAttempts(spantree.Filter(calls, spantree.Is(genai.Model))) {
			continue
		}
		n.Kids = slices.DeleteFunc(n.Kids, isPlacedByTime)
		for _, k := range calls {
			k.Up, k.Adopted = nil, false
		}
	}
}

// areAttempts reports that two of some model calls overlap and were told the same.
func areAttempts(models []*spantree.Node) bool {
	slices.SortFunc(models, spantree.CompareNodes)
	for i, m := range models {
		told := chat.LastUserText(m.Obs.Request)
		for _, other := range models[i+1:] {
			if other.Start+spantree.Rounding >= m.End {
				break
			}
			if told != "" && told == chat.LastUserText(other.Obs.Request) && !(spantree.SameAnswer(m, other) && spantree.LoopsOver(m, other)) {
				return true
			}
		}
	}
	return false
}
