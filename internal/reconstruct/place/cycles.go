// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package place

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// isBeforeParent reports a span that stands before its parent in the order of time. Each cycle has one.
func isBeforeParent(n *spantree.Node) bool { return n.Up != nil && spantree.CompareNodes(n, n.Up) <= 0 }

// cutCycles makes every chain of parents end: the earliest span of a cycle loses its parent.
// Every stage behind it walks up and down the tree, so it is a step of the straight way.
func cutCycles(nodes []*spantree.Node) {
	passed := make(map[*spantree.Node]int, len(nodes)) // the way up that came by, counted from 1
	for i, n := range nodes {
		for n != nil && passed[n] == 0 {
			passed[n] = i + 1
			n = n.Up
		}
		if n == nil || passed[n] <= i {
			continue
		}
		first := n
		for k := n.Up; k != n; k = k.Up {
			if spantree.CompareNodes(k, first) < 0 {
				first = k
			}
		}
		first.Up, first.Missing = nil, true
	}
}
