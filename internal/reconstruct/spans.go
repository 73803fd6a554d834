// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import "iter"

// spansOf lists the spans that fit among the heads and all below them, in the order of the tree.
func spansOf(heads []*node, is func(*node) bool) (found []*node) {
	for _, h := range heads {
		walk(h, func(n *node) bool {
			if is(n) {
				found = append(found, n)
			}
			return true
		})
	}
	return found
}

// anySpan reports that one of the heads fits, or a span below them.
func anySpan(heads []*node, is func(*node) bool) (found bool) {
	for _, h := range heads {
		walk(h, func(n *node) bool {
			found = found || is(n)
			return !found
		})
	}
	return found
}

// above yields the spans above the outermost report of a call, the innermost first, up to the one named; nil: all.
func above(k *call, to *node) iter.Seq[*node] {
	return func(yield func(*node) bool) {
		if len(k.nodes) == 0 {
			return
		}
		for n := k.nodes[0].up; n != nil && n != to && yield(n); n = n.up {
		}
	}
}
