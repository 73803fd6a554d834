// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

// readLoops completes the span of a model call that stands for a whole loop and holds no answer, from the
// last state that a step beside it recorded since it began. The calls in the state are those that the loop
// asked for.
//
// Needs: a span that says that it hides calls.
// Refuses: a state behind the next model call of the agent.
// Seen in: agents whose memory is a step of its own.
func (c *collector) readLoops() {
	for i, m := range c.models {
		if !isOpenLoop(m) {
			continue
		}
		said := sinceUser(conversationOfState(c.stateOfLoop(m, c.models[i+1:])))
		for k, answer := range said {
			if answer.tape.Role != tape.RoleAssistant {
				continue
			}
			m.ask(answer)
			if !hasToolCall(answer) && k == len(said)-1 {
				m.response, m.recovered = answer, true
			}
		}
		for _, msg := range said {
			for _, r := range msg.results() {
				if i := slices.IndexFunc(m.asked, func(a *asked) bool { return r.ID != "" && r.ID == a.part.ID && a.shown == nil }); i >= 0 {
					m.asked[i].show(r, nil)
				}
			}
		}
	}
}

// isOpenLoop reports a model call without an answer whose only span says that it hides calls.
func isOpenLoop(m *call) bool {
	return m.response == nil && len(m.nodes) == 1 && !failedCall(m) && slices.ContainsFunc(m.notes, isHiddenCall)
}

// stateOfLoop is the last state with an answer that a step beside a model call recorded between it and the
// next one of its agent.
func (c *collector) stateOfLoop(m *call, after []*call) genai.Content {
	var state *node
	for _, n := range c.states {
		if siblingsOf(n) != siblingsOf(m.nodes[0]) || n.obs.Class != genai.Structure || n.start < m.start || state != nil && compareNodes(n, state) < 0 {
			continue
		}
		if slices.ContainsFunc(after, func(next *call) bool { return next.agent == m.agent && next.start <= n.start }) {
			continue
		}
		if decode.HasRole(conversationIn(n.obs.OutputData), tape.RoleAssistant) {
			state = n
		}
	}
	if state == nil {
		return genai.Content{}
	}
	return state.obs.OutputData
}
