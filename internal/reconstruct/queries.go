// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// This file holds the questions that several rules ask: where a span hangs, what lies below it, whose call it is,
// and which model call is before a tool call.

// rounding is how much later than it was a start may be recorded earlier: some producers round starts down to
// milliseconds.
const rounding = 999_999

// clockSlack is how much later than a tool call the model call that asked for it may start: the clocks of two
// processes differ.
const clockSlack = 5_000_000

// walk visits a span and everything below it, parents first.
func walk(n *node, visit func(*node) (descend bool)) {
	if !visit(n) {
		return
	}
	for _, k := range n.kids {
		walk(k, visit)
	}
}

// search lists the wanted ones of some spans and of all below them, parents first. It looks below no closed one.
func search(nodes []*node, wanted, closed func(*node) bool) (found []*node) {
	for _, n := range nodes {
		walk(n, func(m *node) bool {
			if wanted(m) {
				found = append(found, m)
			}
			return !closed(m)
		})
	}
	return found
}

// is returns a function that reports a span of a class.
func is(class genai.Class) func(*node) bool {
	return func(n *node) bool { return n.obs.Class == class }
}

// never closes no span, see search.
func never(*node) bool { return false }

// isCall reports the span of a call of a model, of a tool or of a retrieval.
func isCall(n *node) bool {
	return n.obs.Class == genai.Model || n.obs.Class == genai.Tool || n.obs.Class == genai.Retrieval
}

// isCallOrAgent reports the span of a call or of an agent.
func isCallOrAgent(n *node) bool { return isCall(n) || n.obs.Class == genai.Agent }

// holdsAgent reports the span of an agent, or one above that of an agent.
func holdsAgent(n *node) bool {
	return n.obs.Class == genai.Agent || slices.ContainsFunc(n.kids, holdsAgent)
}

// below reports that a span hangs below another one, however far.
func below(n, m *node) bool {
	for n = n.up; n != nil && n != m; n = n.up {
	}
	return n != nil
}

// rootOf is the span above which no other stands.
func rootOf(n *node) *node {
	for n.up != nil {
		n = n.up
	}
	return n
}

// agentAbove is the agent around a span, nil where none is near.
func agentAbove(n *node) *node {
	n = n.up
	for steps := 0; n != nil && n.obs.Class != genai.Agent && steps < maxAbove; steps++ {
		n = n.up
	}
	if n == nil || n.obs.Class != genai.Agent {
		return nil
	}
	return n
}

// siblings is what spans have in common that name the same parent, whether it came or not.
type siblings struct {
	up     *node
	parent pcommon.SpanID
}

func siblingsOf(n *node) siblings { return siblings{n.up, n.parent} }

// liesBelow reports a call of which a span hangs below a given one.
func liesBelow(k *call, up *node) bool {
	return slices.ContainsFunc(k.nodes, func(n *node) bool { return below(n, up) })
}

// hangsBelow reports that the span of t hangs below the span of m.
func hangsBelow(m, t *call) bool {
	return slices.ContainsFunc(m.nodes, func(up *node) bool { return liesBelow(t, up) })
}

// aroundCall reports an agent around a call, however many stand between, that a condition holds for.
func aroundCall(k *call, is func(agent *call) bool) bool {
	for a := k.agent; a != nil; a = a.agent {
		if is(a) {
			return true
		}
	}
	return false
}

// under reports that a model call belongs to an agent that the tool call itself runs.
func under(m, t *call) bool {
	return aroundCall(m, func(agent *call) bool { return agent.via == t })
}

// within reports that a call was made by an agent, or by one inside it.
func within(k, agent *call) bool {
	return aroundCall(k, func(a *call) bool { return a == agent })
}

// asks yields the calls that the responses of the run ask for, in the order of its model calls.
func (c *collector) asks(yield func(*asked) bool) {
	for _, m := range c.models {
		for _, a := range m.asked {
			if !yield(a) {
				return
			}
		}
	}
}

// mayCall reports that a model was offered a tool, or asked for it.
func mayCall(m *call, name string) bool {
	return isOffered(m, name) || slices.Contains(m.obs.Offered, name) ||
		slices.ContainsFunc(m.asked, func(a *asked) bool { return a.part.Name == name })
}

// isOffered reports that a model call was sent the definition of a tool.
func isOffered(m *call, name string) bool {
	return slices.ContainsFunc(m.obs.Tools, func(t tape.Tool) bool { return t.Name == name })
}

// lastModels are the last model calls of the agents of the run.
func (c *collector) lastModels() map[*call]*call {
	last := map[*call]*call{}
	for _, m := range c.models {
		if l := last[m.agent]; l == nil || l.start <= m.start {
			last[m.agent] = m
		}
	}
	return last
}

// turnsBefore say which turns come before a tool call, the surest first: the turn that the tool's span hangs below,
// turns that had ended, turns that had begun, turns that had begun within the slack of clocks. A turn that began
// after the call asked for nothing before.
var turnsBefore = []func(m, t *call) bool{
	hangsBelow,
	hadEnded,
	func(m, t *call) bool { return m.start <= t.start },
	func(m, t *call) bool { return m.start <= t.start+clockSlack },
}

// hadEnded reports that a model call was over when a tool call began, rounded starts allowed for.
func hadEnded(m, t *call) bool { return m.start <= t.start && m.end <= t.start+rounding }

// endedBefore reports that a model call had ended when a tool call began, or that the tool's span hangs below it.
func endedBefore(m, t *call) bool { return hadEnded(m, t) || hangsBelow(m, t) }

// modelBefore is the last model call of the agent of a tool call that had ended when that began, nil if there is
// none.
func (c *collector) modelBefore(t *call) *call {
	for _, m := range slices.Backward(c.models) {
		if m.agent == t.agent && endedBefore(m, t) && !under(m, t) {
			return m
		}
	}
	return nil
}

// latestTurn is the first open request that fits a tool call, in the latest turn before the call that has one.
func (c *collector) latestTurn(t *call, before func(m, t *call) bool, fits func(*asked) bool) *asked {
	for _, m := range slices.Backward(c.models) {
		if !before(m, t) {
			continue
		}
		for _, a := range m.asked {
			if a.tool == nil && fits(a) && !under(m, t) {
				return a
			}
		}
	}
	return nil
}

// filter lists what a condition holds for.
func filter[T any](list []T, keep func(T) bool) (kept []T) {
	for _, one := range list {
		if keep(one) {
			kept = append(kept, one)
		}
	}
	return kept
}
