// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// ReadLoops completes the span of a model call that stands for a whole loop and holds no answer, from the
// last state that a step beside it recorded since it began. The calls in the state are those that the loop
// asked for.
//
// Needs: a span that says that it hides calls.
// Refuses: a state behind the next model call of the agent.
// Seen in: agents whose memory is a step of its own.
func ReadLoops(c *ledger.Ledger) {
	for i, m := range c.Models {
		if !IsOpenLoop(m) {
			continue
		}
		said := chat.SinceUser(chat.ConversationOfState(stateOfLoop(c, m, c.Models[i+1:])))
		for k, answer := range said {
			if answer.Tape.Role != tape.RoleAssistant {
				continue
			}
			m.Ask(answer)
			if !chat.HasToolCall(answer) && k == len(said)-1 {
				m.Response, m.Recovered = answer, true
			}
		}
		for _, msg := range said {
			for _, r := range ledger.Results(msg) {
				if i := slices.IndexFunc(m.Asked, func(a *ledger.Asked) bool { return r.ID != "" && r.ID == a.Part.ID && a.Shown == nil }); i >= 0 {
					m.Asked[i].Show(r, nil)
				}
			}
		}
	}
}

// IsOpenLoop reports a model call without an answer whose only span says that it hides calls.
func IsOpenLoop(m *ledger.Call) bool {
	return m.Response == nil && len(m.Nodes) == 1 && !ledger.FailedCall(m) && slices.ContainsFunc(m.Notes, isHiddenCall)
}

// stateOfLoop is the last state with an answer that a step beside a model call recorded between it and the
// next one of its agent.
func stateOfLoop(c *ledger.Ledger, m *ledger.Call, after []*ledger.Call) genai.Content {
	var state *spantree.Node
	for _, n := range c.States {
		if spantree.SiblingsOf(n) != spantree.SiblingsOf(m.Nodes[0]) || n.Obs.Class != genai.Structure || n.Start < m.Start || state != nil && spantree.CompareNodes(n, state) < 0 {
			continue
		}
		if slices.ContainsFunc(after, func(next *ledger.Call) bool { return next.Agent == m.Agent && next.Start <= n.Start }) {
			continue
		}
		if decode.HasRole(chat.ConversationIn(n.Obs.OutputData), tape.RoleAssistant) {
			state = n
		}
	}
	if state == nil {
		return genai.Content{}
	}
	return state.Obs.OutputData
}
