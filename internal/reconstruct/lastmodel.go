// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// lastModel is the model call that ended the run: the last one of the run's own agent, else of any. Where that one
// hands over or asks for tools, it is that of an agent that went on after it and answered. An agent that is itself a
// tool answers with a result.
func (b *builder) lastModel() *call {
	last := func(is func(*call) bool) *call {
		for _, k := range slices.Backward(b.ordered) {
			if k.kind == tape.EventModelCall && is(k) {
				return k
			}
		}
		return nil
	}
	any := last(func(*call) bool { return true })
	own := last(func(k *call) bool { return k.agent == nil && !belowTool(k) })
	if own == nil {
		if own = last(func(k *call) bool { return k.agent == nil }); own != nil { // the loop's own calls are those of steps
			own = cmp.Or(last(func(k *call) bool { return !belowTool(k) && !isTool(k.agent) }), own)
		}
	}
	if own == nil || !finalAnswer(own) && own.response != nil && finalAnswer(any) && !isTool(any.agent) {
		return any
	}
	return own
}

// belowTool reports a call whose span lies below that of a tool: what it answered is for the tool, and no agent need be
// recorded between them.
func belowTool(k *call) bool {
	if k.within != nil {
		return true
	}
	for n := range k.above(isAgent) {
		if n.obs.Class == genai.Tool {
			return true
		}
	}
	return false
}

// isTool reports that an agent, or one around it, was called as a tool and returns to its caller.
func isTool(agent *call) bool {
	for ; agent != nil; agent = agent.agent {
		if agent.via != nil && agent.relation != tape.RelationHandoff && !agent.via.obs.Handoff && transferTarget(agent.via) == "" {
			return true
		}
	}
	return false
}

// finalAnswer reports that a model call ended the run by answering, not by asking for tools.
func finalAnswer(k *call) bool {
	return k != nil && k.response != nil && !hasToolCall(k.response) && !stopsForTools(k)
}

// stopsForTools reports a finish reason that tells of calls, whether they were recorded or not.
func stopsForTools(k *call) bool { return slices.ContainsFunc(k.obs.FinishReasons, tape.AsksForTools) }

// answered reports a model call that got an answer: the answer itself, or what only comes with one.
func answered(k *call) bool {
	o := k.obs
	return k.response != nil && slices.ContainsFunc(k.response.parts, isContent) || o.ResponseLabel != "" || o.ResponseID != "" ||
		slices.ContainsFunc(o.FinishReasons, func(reason string) bool { return strings.TrimSpace(reason) != "" }) ||
		o.Usage.OutputTokens != nil && *o.Usage.OutputTokens > 0
}
