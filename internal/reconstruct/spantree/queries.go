// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spantree

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// Walk visits a span and everything below it, parents first.
func Walk(n *Node, visit func(*Node) (descend bool)) {
	if !visit(n) {
		return
	}
	for _, k := range n.Kids {
		Walk(k, visit)
	}
}

// Search lists the wanted ones of some spans and of all below them, parents first. It looks below no closed one.
func Search(nodes []*Node, wanted, closed func(*Node) bool) (found []*Node) {
	for _, n := range nodes {
		Walk(n, func(m *Node) bool {
			if wanted(m) {
				found = append(found, m)
			}
			return !closed(m)
		})
	}
	return found
}

// Is returns a function that reports a span of a class.
func Is(class genai.Class) func(*Node) bool {
	return func(n *Node) bool { return n.Obs.Class == class }
}

// Never closes no span, see search.
func Never(*Node) bool { return false }

// IsCall reports the span of a call of a model, of a tool or of a retrieval.
func IsCall(n *Node) bool {
	return n.Obs.Class == genai.Model || n.Obs.Class == genai.Tool || n.Obs.Class == genai.Retrieval
}

// isCallOrAgent reports the span of a call or of an agent.
func isCallOrAgent(n *Node) bool { return IsCall(n) || n.Obs.Class == genai.Agent }

// HoldsAgent reports the span of an agent, or one above that of an agent.
func HoldsAgent(n *Node) bool {
	return n.Obs.Class == genai.Agent || slices.ContainsFunc(n.Kids, HoldsAgent)
}

// Below reports that a span hangs below another one, however far.
func Below(n, m *Node) bool {
	for n = n.Up; n != nil && n != m; n = n.Up {
	}
	return n != nil
}

// RootOf is the span above which no other stands.
func RootOf(n *Node) *Node {
	for n.Up != nil {
		n = n.Up
	}
	return n
}

// AgentAbove is the agent around a span, nil where none is near.
func AgentAbove(n *Node) *Node {
	n = n.Up
	for steps := 0; n != nil && n.Obs.Class != genai.Agent && steps < MaxAbove; steps++ {
		n = n.Up
	}
	if n == nil || n.Obs.Class != genai.Agent {
		return nil
	}
	return n
}

// Siblings is what spans have in common that name the same parent, whether it came or not.
type Siblings struct {
	up     *Node
	parent pcommon.SpanID
}

func SiblingsOf(n *Node) Siblings { return Siblings{n.Up, n.Parent} }

// Filter lists what a condition holds for.
func Filter[T any](list []T, keep func(T) bool) (kept []T) {
	for _, one := range list {
		if keep(one) {
			kept = append(kept, one)
		}
	}
	return kept
}
