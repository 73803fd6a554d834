// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// nobodyAsked reports a tool span that is no call, and counts it as noise: it sums up other calls, or is a
// step of the framework.
//
// Needs: a name that the conversation does not know; a result that holds several other calls, or no arguments
// and a turn in which nothing is left to answer.
// Refuses: a call that a response asked for, a hand-off, a span that holds an agent.
// Seen in: nodes of a graph that run all tools of a turn.
func (c *collector) nobodyAsked(t *call, known map[string]bool) bool {
	if t.by != nil || t.obs.Handoff || t.holds != nil || len(t.nodes) == 0 || known[nameOf(t)] {
		return false
	}
	sums := c.sumsUp(t)
	if t.obs.Args.Present() && !sums {
		return false
	}
	m := lastOf(c.models, func(m *call) bool { return m.agent == t.agent && endedBefore(m, t) })
	if m == nil || !sums && (len(m.asked) == 0 || slices.ContainsFunc(m.asked, func(a *asked) bool { return a.tool == nil })) {
		return false
	}
	c.ignore(t, "tool span that nothing asked for")
	return true
}

// sumsUp reports a tool span without arguments whose result holds several other calls: by their ids, or by
// what later requests show of calls without a span.
func (c *collector) sumsUp(t *call) bool {
	args := t.obs.Args.Value
	if args.Len() > 0 || args.Kind() == exactjson.String && args.Str() != "{}" || !t.obs.Result.Present() {
		return false
	}
	text := textResult(t.obs.Result.Value)
	holds := func(s string) bool { return len(s) >= minQuoted && strings.Contains(text, s) }
	held := count(c.tools, func(other *call) bool { return other != t && holds(other.obs.CallID) })
	return held > 1 || held == 1 && slices.ContainsFunc(c.models, func(m *call) bool {
		return slices.ContainsFunc(m.asked, func(a *asked) bool { return a.tool == nil && a.shown != nil && holds(textResult(a.shown.Result)) })
	})
}
