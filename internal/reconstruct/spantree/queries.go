// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package spantree

import (
	"iter"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// This file holds the questions that several rules ask of spans: which they are, where they hang, what lies
// below.

// Rounding is how much later than recorded a start may be, in ns: some producers round starts down to
// milliseconds.
const Rounding = 999_999

// ClockSlack is how much later than a tool call the model call that asked for it may start, in ns: the clocks
// of two processes differ.
const ClockSlack = 5_000_000

// silence is what a span says that never came. Nobody writes to it.
var silence = genai.NewReport(genai.Unclassified, func(*genai.Draft) {})

// Observed is what a span says, nothing where there is none.
func Observed(n *Node) *genai.Report {
	if n == nil {
		return silence
	}
	return n.Obs
}

// Is returns a function that reports a span of a class.
func Is(class genai.Class) func(*Node) bool {
	return func(n *Node) bool { return n.Obs.Class == class }
}

// IsAgent reports the span of an agent.
func IsAgent(n *Node) bool { return n.Obs.Class == genai.Agent }

// IsCall reports the span of a call of a model, of a tool or of a retrieval.
func IsCall(n *Node) bool {
	return n.Obs.Class == genai.Model || n.Obs.Class == genai.Tool || n.Obs.Class == genai.Retrieval
}

// IsFailure reports a record that says that the call failed.
func IsFailure(o *genai.Report) bool { return o.Failed || o.StatusError }

// Failed reports a span that says that what it stands for failed.
func (n *Node) Failed() bool { return IsFailure(n.Obs) }

// Walk visits a span and everything below it, parents first.
func Walk(n *Node, visit func(*Node) (descend bool)) {
	if !visit(n) {
		return
	}
	for _, k := range n.Kids {
		Walk(k, visit)
	}
}

// Search lists the wanted ones of some spans and of all below them, parents first. It looks below no closed
// one.
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

// SpansOf lists the wanted ones of some spans and of all below them, parents first.
func SpansOf(nodes []*Node, wanted func(*Node) bool) []*Node {
	return Search(nodes, wanted, func(*Node) bool { return false })
}

// AnySpan reports that one of some spans fits, or one below them.
func AnySpan(nodes []*Node, fits func(*Node) bool) (found bool) {
	for _, n := range nodes {
		Walk(n, func(m *Node) bool {
			found = found || fits(m)
			return !found
		})
	}
	return found
}

// HoldsAgent reports the span of an agent, or one above that of an agent.
func HoldsAgent(n *Node) bool { return IsAgent(n) || slices.ContainsFunc(n.Kids, HoldsAgent) }

// HoldsCall reports a span with a model or tool call below it.
func HoldsCall(n *Node) bool {
	return AnySpan(n.Kids, func(m *Node) bool { return m.Obs.Class == genai.Model || m.Obs.Class == genai.Tool })
}

// FirstModel is the earliest model call at or below a span, nil if there is none.
func FirstModel(n *Node) (first *Node) {
	for _, m := range SpansOf([]*Node{n}, Is(genai.Model)) {
		if first == nil || CompareNodes(m, first) < 0 {
			first = m
		}
	}
	return first
}

// Upward yields a span and those above it, the innermost first, before the first one that ends the way; nil:
// none does.
func Upward(n *Node, end func(*Node) bool) iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for ; n != nil && (end == nil || !end(n)) && yield(n); n = n.Up {
		}
	}
}

// Below reports that a span hangs below another one, however far.
func Below(n, m *Node) bool {
	for n = n.Up; n != nil && n != m; n = n.Up {
	}
	return n != nil
}

// CloseBelow reports that a span hangs below another one, and not too far: the way up costs a bounded number
// of steps.
func CloseBelow(n, m *Node) bool {
	for range MaxAbove {
		if n = n.Up; n == nil || n == m {
			break
		}
	}
	return n != nil && n == m
}

// RootOf is the span above which no other stands.
func RootOf(n *Node) *Node {
	for n.Up != nil {
		n = n.Up
	}
	return n
}

// MaxAbove bounds how many spans of a framework that are not made current are looked through.
const MaxAbove = 16

// AgentAbove is the agent around a span, nil where none is near.
func AgentAbove(n *Node) *Node {
	steps := 0
	for up := range Upward(n.Up, nil) {
		if IsAgent(up) {
			return up
		}
		if steps++; steps > MaxAbove {
			break
		}
	}
	return nil
}

// Siblings is what spans have in common that name the same parent, whether it came or not.
type Siblings struct {
	up     *Node
	parent pcommon.SpanID
}

// SiblingsOf is what a span has in common with its siblings.
func SiblingsOf(n *Node) Siblings { return Siblings{n.Up, n.Parent} }

// ByID finds the spans of a trace by their ids.
func ByID(nodes []*Node) map[pcommon.SpanID]*Node {
	found := make(map[pcommon.SpanID]*Node, len(nodes))
	for _, n := range nodes {
		found[n.ID] = n
	}
	return found
}

// Filter lists what a condition holds for.
func Filter[T any](list []T, keep func(T) bool) (kept []T) {
	for _, one := range list {
		if keep(one) {
			kept = append(kept, one)
		}
	}
	return kept
}
