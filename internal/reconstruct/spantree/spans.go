// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spantree

import (
	"iter"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// silence is what a span says that never came. Nobody writes to it.
var silence = genai.NewReport(genai.Unclassified, func(*genai.Draft) {})

// Observed is what a span says, nothing where there is none.
func Observed(n *Node) *genai.Observation {
	if n == nil {
		return silence
	}
	return n.Obs
}

// SpansOf lists the spans that fit among the heads and all below them, in the order of the tree.
func SpansOf(heads []*Node, is func(*Node) bool) (found []*Node) {
	for _, h := range heads {
		Walk(h, func(n *Node) bool {
			if is(n) {
				found = append(found, n)
			}
			return true
		})
	}
	return found
}

// AnySpan reports that one of the heads fits, or a span below them.
func AnySpan(heads []*Node, is func(*Node) bool) (found bool) {
	for _, h := range heads {
		Walk(h, func(n *Node) bool {
			found = found || is(n)
			return !found
		})
	}
	return found
}

// Upward yields a span and those above it, the innermost first, before the first one that ends the way; nil:
// none does.
func Upward(n *Node, end func(*Node) bool) iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for ; n != nil && (end == nil || !end(n)) && yield(n); n = n.Up {
		}
	}
}

func IsAgent(n *Node) bool { return n.Obs.Class == genai.Agent }

// FailedSpan reports a span that says that what it stands for failed.
func FailedSpan(n *Node) bool { return n.Obs.Failed || n.Obs.StatusError }
