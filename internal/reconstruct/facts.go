// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// This file holds what rules need. A fact is told in one pass over the calls, before the first rule that
// needs it.

func noCalls(c *collector) bool { return len(c.models)+len(c.tools)+len(c.retrievals) == 0 }

func noModels(c *collector) bool { return len(c.models) == 0 }

func hasTools(c *collector) bool { return len(c.tools) > 0 }

func hasAgents(c *collector) bool { return len(c.agents) > 0 }

func hasStates(c *collector) bool { return len(c.states) > 0 }

func hasFunctions(c *collector) bool { return len(c.functions)+len(c.holders) > 0 }

func anyModel(is func(*call) bool) func(*collector) bool {
	return func(c *collector) bool { return slices.ContainsFunc(c.models, is) }
}

func anyTool(is func(*call) bool) func(*collector) bool {
	return func(c *collector) bool { return slices.ContainsFunc(c.tools, is) }
}

func anyCall(is func(*call) bool) func(*collector) bool {
	return func(c *collector) bool { return slices.ContainsFunc(c.models, is) || slices.ContainsFunc(c.tools, is) }
}

// hasStatesAnd holds for a run with a recorded state and such a model call.
func hasStatesAnd(is func(*call) bool) func(*collector) bool {
	return func(c *collector) bool { return hasStates(c) && slices.ContainsFunc(c.models, is) }
}

func asksForTools(m *call) bool { return len(m.asked) > 0 }

// isUnexecuted reports a model call that asks for a tool call which no span reports.
func isUnexecuted(m *call) bool {
	return slices.ContainsFunc(m.asked, func(a *asked) bool { return a.tool == nil })
}

func isUnasked(t *call) bool { return t.by == nil }

func isHeld(m *call) bool { return len(m.nodes) == 1 && m.nodes[0].heldBy != nil }

// isFollowed reports a model call whose request was recorded after its answer.
func isFollowed(m *call) bool { return len(m.followed()) > 0 }

// tellsElsewhere reports a call that a span in another trace reports too.
func tellsElsewhere(k *call) bool { return k.reports() != nil }

// mayBeNoCall reports a model call without a request, of which its span may tell next to nothing.
func mayBeNoCall(m *call) bool { return len(m.obs.Request) == 0 }

// failedRun holds for a run whose own span failed with the error of a client of a model's API.
func failedRun(c *collector) bool {
	return c.run.root != nil && genai.FailedInModelClient(c.run.root.span)
}

// equalResponseIDs holds for a run with two model calls of one answer.
func equalResponseIDs(c *collector) bool {
	return hasEqual(c.models, func(m *call) string { return m.obs.ResponseID })
}

// equalCallIDs holds for a run with two tool calls of one id.
func equalCallIDs(c *collector) bool {
	return hasEqual(c.tools, func(t *call) string { return t.obs.CallID })
}

func hasEqual(calls []*call, id func(*call) string) bool {
	seen := make(map[string]bool, len(calls))
	return len(calls) > 1 && slices.ContainsFunc(calls, func(k *call) bool {
		key := id(k)
		again := key != "" && seen[key]
		seen[key] = true
		return again
	})
}

// asksTwice holds for a run in which two answers ask for the call of one id.
func asksTwice(c *collector) bool {
	first := map[string]*call{}
	return slices.ContainsFunc(c.models, func(m *call) bool {
		return m.response != nil && slices.ContainsFunc(callsOf(m.response.parts), func(p *genai.Part) bool {
			before := first[p.ID]
			first[p.ID] = m
			return before != nil && before != m && tellsOneCall(p)
		})
	})
}

// showsUnknownCalls holds for a run with a request that shows calls which no answer on record asks for, by ids that no
// other calls have.
func showsUnknownCalls(c *collector) bool {
	known := c.idsAsked()
	return c.anySent(func(sent, _ *message) bool {
		return sent.tape.Role == tape.RoleAssistant && slices.ContainsFunc(callsOf(sent.parts), func(p *genai.Part) bool { return tellsOneCall(p) && !known[p.ID] })
	})
}

// showsGlued holds for a run with a request that shows one text behind an answer with several calls.
func showsGlued(c *collector) bool {
	return hasTools(c) && c.anySent(func(sent, next *message) bool { return next != nil && mayBeGlued(sent, next) })
}

// anySent asks for each message of a request and the one behind it, nil at the end. Two that stood at this place of the
// request before are passed over.
func (c *collector) anySent(is func(sent, next *message) bool) bool {
	var before []*message
	return slices.ContainsFunc(c.models, func(m *call) bool {
		was := before
		before = m.request
		for k, sent := range m.request {
			var next *message
			if k+1 < len(m.request) {
				next = m.request[k+1]
			}
			if !(k+1 < len(was) && was[k] == sent && was[k+1] == next) && is(sent, next) {
				return true
			}
		}
		return false
	})
}

// firstShowsAnswer holds for a run whose first request with a span shows an answer.
func firstShowsAnswer(c *collector) bool {
	first := c.firstReported()
	return first >= 0 && slices.ContainsFunc(c.models[first].request, func(m *message) bool { return m.tape.Role == tape.RoleAssistant })
}

// endsWithCalls holds for a run whose last answer on record asks for tools.
func endsWithCalls(c *collector) bool {
	last := c.lastReported()
	return last != nil && last.response != nil && hasToolCall(last.response)
}
