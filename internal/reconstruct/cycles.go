// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

// cutCycles makes every chain of parents end: the earliest span of a cycle loses its parent.
//
// Needs: spans that name each other as parents.
// Refuses: nothing.
// Seen in: senders that make up ids.
func cutCycles(nodes []*node) {
	passed := make(map[*node]int, len(nodes)) // the way up that came by, counted from 1
	for i, n := range nodes {
		for n != nil && passed[n] == 0 {
			passed[n] = i + 1
			n = n.up
		}
		if n == nil || passed[n] <= i {
			continue
		}
		first := n
		for k := n.up; k != n; k = k.up {
			if compareNodes(k, first) < 0 {
				first = k
			}
		}
		first.up, first.missing = nil, true
	}
}
