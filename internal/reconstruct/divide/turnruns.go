// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package divide

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// groupTurns makes runs of the loose calls that number their turns, and takes these from the loose ones. A
// first turn begins a run, and a later one belongs to a run beside it.
//
// Needs: a first turn that encloses the later one; where it never came, the same conversation.
// Refuses: nothing; a later turn without either begins a run.
// Seen in: waza.
func groupTurns(loose map[*spantree.Node]bool) (frags []*fragment.Fragment) {
	var turns []*spantree.Node
	for n := range loose {
		if n.Obs.Turn > 0 {
			turns = append(turns, n)
			delete(loose, n)
		}
	}
	slices.SortFunc(turns, spantree.CompareNodes)
	beside := map[spantree.Siblings][]*fragment.Fragment{}
	for _, n := range turns {
		key := spantree.SiblingsOf(n)
		f := runOfTurn(beside[key], n)
		if f == nil {
			f = &fragment.Fragment{Own: true}
			for up := range spantree.Upward(n.Up, nil) {
				if up.Obs.Class == genai.Entry {
					f.Entry = append(f.Entry, up)
				}
			}
			beside[key] = append(beside[key], f)
			frags = append(frags, f)
		}
		f.Heads = append(f.Heads, n)
	}
	return frags
}

// runOfTurn is the latest of some runs that a turn belongs to, nil if it begins one.
func runOfTurn(runs []*fragment.Fragment, n *spantree.Node) *fragment.Fragment {
	for _, f := range slices.Backward(runs) {
		first := f.Heads[0]
		if n.Obs.Turn > 1 && (n.Within(first) || first.Obs.Turn > 1 && first.Obs.ConversationID == n.Obs.ConversationID) {
			return f
		}
	}
	return nil
}
