// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// This file holds what rules need. A fact is told in one pass over the calls, before the first rule that
// needs it.

func NoCalls(c *Ledger) bool { return len(c.Models)+len(c.Tools)+len(c.Retrievals) == 0 }

func NoModels(c *Ledger) bool { return len(c.Models) == 0 }

func HasTools(c *Ledger) bool { return len(c.Tools) > 0 }

func HasAgents(c *Ledger) bool { return len(c.Agents) > 0 }

func HasStates(c *Ledger) bool { return len(c.States) > 0 }

func HasFunctions(c *Ledger) bool { return len(c.Functions)+len(c.Holders) > 0 }

func AnyModel(is func(*Call) bool) func(*Ledger) bool {
	return func(c *Ledger) bool { return slices.ContainsFunc(c.Models, is) }
}

func AnyTool(is func(*Call) bool) func(*Ledger) bool {
	return func(c *Ledger) bool { return slices.ContainsFunc(c.Tools, is) }
}

func AnyCall(is func(*Call) bool) func(*Ledger) bool {
	return func(c *Ledger) bool { return slices.ContainsFunc(c.Models, is) || slices.ContainsFunc(c.Tools, is) }
}

// HasStatesAnd holds for a run with a recorded state and such a model call.
func HasStatesAnd(is func(*Call) bool) func(*Ledger) bool {
	return func(c *Ledger) bool { return HasStates(c) && slices.ContainsFunc(c.Models, is) }
}

func AsksForTools(m *Call) bool { return len(m.Asked) > 0 }

// HasPayloads reports a tool call of which payloads came that disagree.
func HasPayloads(t *Call) bool {
	return slices.ContainsFunc(t.Nodes, func(n *spantree.Node) bool { return len(n.Payloads) > 0 })
}

// IsHandoff reports a tool call that hands over to another agent.
func IsHandoff(t *Call) bool { return t.Obs.Handoff }

// IsUnexecuted reports a model call that asks for a tool call which no span reports.
func IsUnexecuted(m *Call) bool {
	return slices.ContainsFunc(m.Asked, func(a *Asked) bool { return a.Tool == nil })
}

func IsUnasked(t *Call) bool { return t.By == nil }

func IsHeld(m *Call) bool { return len(m.Nodes) == 1 && m.Nodes[0].HeldBy != nil }

// IsFollowed reports a model call whose request was recorded after its answer.
func IsFollowed(m *Call) bool { return len(m.Followed()) > 0 }

// TellsElsewhere reports a call that a span in another trace reports too.
func TellsElsewhere(k *Call) bool { return k.Reports() != nil }

// MayBeNoCall reports a model call without a request, of which its span may tell next to nothing.
func MayBeNoCall(m *Call) bool { return len(m.Obs.Request) == 0 }

// FailedRun holds for a run whose own span failed with the error of a client of a model's API.
func FailedRun(c *Ledger) bool {
	return c.Run.Root != nil && genai.FailedInModelClient(c.Run.Root.Span)
}

// EqualResponseIDs holds for a run with two model calls of one answer.
func EqualResponseIDs(c *Ledger) bool {
	return hasEqual(c.Models, func(m *Call) string { return m.Obs.ResponseID })
}

// EqualCallIDs holds for a run with two tool calls of one id.
func EqualCallIDs(c *Ledger) bool {
	return hasEqual(c.Tools, func(t *Call) string { return t.Obs.CallID })
}

// maxCompared is up to how many calls each is compared with all before it.
const maxCompared = 32

func hasEqual(calls []*Call, id func(*Call) string) bool {
	if len(calls) <= maxCompared {
		for i, k := range calls {
			if key := id(k); key != "" && slices.ContainsFunc(calls[:i], func(before *Call) bool { return id(before) == key }) {
				return true
			}
		}
		return false
	}
	seen := make(map[string]bool, len(calls))
	return len(calls) > 1 && slices.ContainsFunc(calls, func(k *Call) bool {
		key := id(k)
		again := key != "" && seen[key]
		seen[key] = true
		return again
	})
}

// AsksTwice holds for a run in which two answers ask for the call of one id.
func AsksTwice(c *Ledger) bool {
	first := map[string]*Call{}
	return slices.ContainsFunc(c.Models, func(m *Call) bool {
		return m.Response != nil && chat.AnyCall(m.Response.Parts, func(p *genai.Part) bool {
			before := first[p.ID]
			first[p.ID] = m
			return before != nil && before != m && chat.TellsOneCall(p)
		})
	})
}

// ShowsUnknownCalls holds for a run with a request that shows calls which no answer on record asks for, by
// ids that no other calls have.
func ShowsUnknownCalls(c *Ledger) bool {
	known := c.IdsAsked()
	return c.anySent(func(sent, _ *chat.Message) bool {
		return sent.Tape.Role == tape.RoleAssistant && chat.AnyCall(sent.Parts, func(p *genai.Part) bool { return chat.TellsOneCall(p) && !known[p.ID] })
	})
}

// ShowsGlued holds for a run with a request that shows one text behind an answer with several calls.
func ShowsGlued(c *Ledger) bool {
	return HasTools(c) && c.anySent(func(sent, next *chat.Message) bool { return next != nil && MayBeGlued(sent, next) })
}

// anySent asks for each message of a request and the one behind it, nil at the end. Two that stood at this
// place of the request before are passed over.
func (c *Ledger) anySent(is func(sent, next *chat.Message) bool) bool {
	var before []*chat.Message
	return slices.ContainsFunc(c.Models, func(m *Call) bool {
		was := before
		before = m.Request
		for k, sent := range m.Request {
			var next *chat.Message
			if k+1 < len(m.Request) {
				next = m.Request[k+1]
			}
			if !(k+1 < len(was) && was[k] == sent && was[k+1] == next) && is(sent, next) {
				return true
			}
		}
		return false
	})
}

// FirstShowsAnswer holds for a run whose first request with a span shows an answer.
func FirstShowsAnswer(c *Ledger) bool {
	first := c.FirstReported()
	return first >= 0 && slices.ContainsFunc(c.Models[first].Request, func(m *chat.Message) bool { return m.Tape.Role == tape.RoleAssistant })
}

// EndsWithCalls holds for a run whose last answer on record asks for tools.
func EndsWithCalls(c *Ledger) bool {
	last := c.LastReported()
	return last != nil && last.Response != nil && chat.HasToolCall(last.Response)
}
