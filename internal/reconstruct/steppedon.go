// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// steppedOn reports that the program went on where nothing is known of the model, and ended well.
//
// Needs: two steps that are neither tools nor model calls nor agents, after all tools and after what the model was to be
// sent at last was ready. The first of them asks the model, and may have failed.
// Refuses: calls without a run span; more steps than are read.
// Seen in: workflows around a client that nobody instruments.
func steppedOn(o *outputFacts) bool {
	if o.last != nil || o.root == nil {
		return false
	}
	end := uint64(0)
	for _, k := range o.ordered {
		if k.kind == tape.EventToolCall {
			end = max(end, k.end)
		}
	}
	steps := spansOf(o.fragment.heads, func(n *node) bool { return n.obs.Class == genai.Structure && n != o.fragment.root })
	if len(steps) > maxTranscripts {
		return false
	}
	for _, n := range steps {
		if sent := conversationIn(n.obs.OutputData); len(sent) > 0 && sent[len(sent)-1].Role != tape.RoleAssistant {
			end = max(end, n.end)
		}
	}
	return count(steps, func(n *node) bool { return n.start >= end }) > 1
}

// askedWhileItAnswered reports a last model call that asked for tools, of which no answer was recorded: a tool began
// beside its span while that was open.
//
// Needs: all tool calls of the earlier turns, at least one, began so too: in this program a tool runs when the stream of
// the model tells of it.
// Refuses: a tool call that began beside no open model call.
// Seen in: Rig, which records what each turn said as the answer of the run.
func askedWhileItAnswered(o *outputFacts) bool {
	if o.last == nil || o.last.response != nil || len(o.last.nodes) == 0 {
		return false
	}
	before, now := false, false
	for _, k := range o.ordered {
		if k.kind != tape.EventToolCall || len(k.nodes) == 0 || k.agent != o.last.agent {
			continue
		}
		i := slices.IndexFunc(o.calls.models, func(m *call) bool { return openBeside(m, k) })
		if i < 0 {
			return false
		}
		before, now = before || o.calls.models[i] != o.last, now || o.calls.models[i] == o.last
	}
	return before && now
}

// openBeside reports a model call without an answer whose span was open beside a tool call when that began.
func openBeside(m, tool *call) bool {
	return m.agent == tool.agent && m.response == nil && len(m.nodes) > 0 && m.nodes[0].up == tool.nodes[0].up && m.start < tool.start && tool.start < m.end
}
