// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"iter"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// silence is what a span says that never came. Nobody writes to it.
var silence genai.Observation

// observed is what a span says, nothing where there is none.
func observed(n *node) *genai.Observation {
	if n == nil {
		return &silence
	}
	return n.obs
}

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

// upward yields a span and those above it, the innermost first, before the first one that ends the way; nil: none does.
func upward(n *node, end func(*node) bool) iter.Seq[*node] {
	return func(yield func(*node) bool) {
		for ; n != nil && (end == nil || !end(n)) && yield(n); n = n.up {
		}
	}
}

// above yields the spans above the outermost report of a call.
func (t *call) above(end func(*node) bool) iter.Seq[*node] {
	if len(t.nodes) == 0 {
		return upward(nil, end)
	}
	return upward(t.nodes[0].up, end)
}

func isAgent(n *node) bool { return n.obs.Class == genai.Agent }

// failedSpan reports a span that says that what it stands for failed.
func failedSpan(n *node) bool { return n.obs.Failed || n.obs.StatusError }
