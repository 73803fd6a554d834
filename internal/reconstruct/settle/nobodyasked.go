// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package settle

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// nobodyAsked reports a tool span that is no call, and counts it as noise: it sums up other calls, or is a
// step of the framework.
//
// Needs: a name that the conversation does not know; a result that holds several other calls, or no arguments
// and a turn in which nothing is left to answer.
// Refuses: a call that a response asked for, a hand-off, a span that holds an agent.
// Seen in: nodes of a graph that run all tools of a turn.
func nobodyAsked(c *ledger.Ledger, t *ledger.Call, known map[string]bool) bool {
	if t.By != nil || t.Obs.Handoff || t.Holds != nil || len(t.Nodes) == 0 || known[ledger.NameOf(t)] {
		return false
	}
	sums := sumsUp(c, t)
	if t.Obs.Args.Present() && !sums {
		return false
	}
	m := chat.LastOf(c.Models, func(m *ledger.Call) bool { return m.Agent == t.Agent && ledger.EndedBefore(m, t) })
	if m == nil || !sums && (len(m.Asked) == 0 || slices.ContainsFunc(m.Asked, func(a *ledger.Asked) bool { return a.Tool == nil })) {
		return false
	}
	c.Ignore(t, "tool span that nothing asked for")
	return true
}

// sumsUp reports a tool span without arguments whose result holds several other calls: by their ids, or by
// what later requests show of calls without a span.
func sumsUp(c *ledger.Ledger, t *ledger.Call) bool {
	args := t.Obs.Args.Value
	if args.Len() > 0 || args.Kind() == exactjson.String && args.Str() != "{}" || !t.Obs.Result.Present() {
		return false
	}
	text := chat.TextResult(t.Obs.Result.Value)
	holds := func(s string) bool { return len(s) >= chat.MinQuoted && strings.Contains(text, s) }
	held := chat.Count(c.Tools, func(other *ledger.Call) bool { return other != t && holds(other.Obs.CallID) })
	return held > 1 || held == 1 && slices.ContainsFunc(c.Models, func(m *ledger.Call) bool {
		return slices.ContainsFunc(m.Asked, func(a *ledger.Asked) bool {
			return a.Tool == nil && a.Shown != nil && holds(chat.TextResult(a.Shown.Result))
		})
	})
}
