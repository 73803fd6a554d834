// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// steppedOn reports that the program went on where nothing is known of the model, and ended well.
//
// Needs: two steps that are neither tools nor model calls nor agents, after all tools and after what the
// model was to be sent at last was ready. The first of them asks the model, and may have failed.
// Refuses: calls without a run span; more steps than are read.
// Seen in: workflows around a client that nobody instruments.
func steppedOn(o *outputFacts) bool {
	if o.last != nil || o.root == nil {
		return false
	}
	end := uint64(0)
	for _, k := range o.Ordered {
		if k.Kind == tape.EventToolCall {
			end = max(end, k.End)
		}
	}
	steps := spantree.SpansOf(o.Fragment.Heads, func(n *spantree.Node) bool { return n.Obs.Class == genai.Structure && n != o.Fragment.Root })
	if len(steps) > chat.MaxTranscripts {
		return false
	}
	for _, n := range steps {
		if sent := chat.ConversationIn(n.Obs.OutputData); len(sent) > 0 && sent[len(sent)-1].Role != tape.RoleAssistant {
			end = max(end, n.End)
		}
	}
	return chat.Count(steps, func(n *spantree.Node) bool { return n.Start >= end }) > 1
}

// askedWhileItAnswered reports a last model call that asked for tools, of which no answer was recorded: a
// tool began beside its span while that was open.
//
// Needs: all tool calls of the earlier turns, at least one, began so too: in this program a tool runs when
// the stream of the model tells of it.
// Refuses: a tool call that began beside no open model call.
// Seen in: Rig, which records what each turn said as the answer of the run.
func askedWhileItAnswered(o *outputFacts) bool {
	if o.last == nil || o.last.Response != nil || len(o.last.Nodes) == 0 {
		return false
	}
	before, now := false, false
	for _, k := range o.Ordered {
		if k.Kind != tape.EventToolCall || len(k.Nodes) == 0 || k.Agent != o.last.Agent {
			continue
		}
		i := slices.IndexFunc(o.Calls.Models, func(m *ledger.Call) bool { return openBeside(m, k) })
		if i < 0 {
			return false
		}
		before, now = before || o.Calls.Models[i] != o.last, now || o.Calls.Models[i] == o.last
	}
	return before && now
}

// openBeside reports a model call without an answer whose span was open beside a tool call when that began.
func openBeside(m, tool *ledger.Call) bool {
	return m.Agent == tool.Agent && m.Response == nil && len(m.Nodes) > 0 && m.Nodes[0].Up == tool.Nodes[0].Up && m.Start < tool.Start && tool.Start < m.End
}
