// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// recoverFromStates makes the model calls of a run without any call, one for each answer that a state holds
// beyond what its span was given.
//
// Needs: a state that an agent or a step recorded.
// Refuses: a state within another one that holds the same conversation: the longer one is read. One that
// holds another conversation is that of a nested agent.
// Seen in: instrumentations of frameworks alone, where nobody instruments the client of the provider.
func (c *collector) recoverFromStates() {
	if !noCalls(c) {
		return
	}
	for _, s := range c.outerStates() {
		if s.agent != nil {
			c.returned[s.agent] = s.lastAnswer()
		}
		times := s.times()
		for k, i := range s.answers {
			c.models = append(c.models, answeredIn(s.n, s.messages, i, s.agent, times[k]))
		}
	}
}

// outerStates are the states with answers, each within the one around it, the outermost first.
func (c *collector) outerStates() (states []*recordedState) {
	outermost := slices.SortedStableFunc(slices.Values(c.states), func(a, b *node) int {
		return cmp.Or(cmp.Compare(b.end-b.start, a.end-a.start), compareNodes(a, b))
	})
	for _, n := range outermost[:min(len(outermost), maxTranscripts)] {
		s := readState(n)
		if len(s.answers) == 0 {
			continue
		}
		// a step may end a moment after the graph around it
		around := lastOf(states, func(of *recordedState) bool {
			return of.n.start <= n.start && (n.end <= of.n.end || below(n, of.n))
		})
		switch {
		case around == nil:
			states = append(states, s)
		case s.partOf(around):
		case around.partOf(s):
			around.messages, around.answers = s.messages, s.answers
		default:
			s.agent = c.newCall(tape.EventAgentCall, n, around.agent)
			s.agent.relation = tape.RelationSubAgent
			c.agents = append(c.agents, s.agent)
			around.inner = append(around.inner, s)
			states = append(states, s)
		}
	}
	return states
}

// answeredIn is the model call whose answer stands at a place of a recorded conversation.
func answeredIn(by *node, messages []genai.Message, at int, agent *call, when uint64) *call {
	return hiddenModel(answeredAs(messages[at], messages[:at:at]), agent, when, "no span reports this call; the state of "+by.span.Name()+" holds its answer")
}

// answeredAs is what a conversation tells of a model call: its request and its answer.
func answeredAs(said genai.Message, sent []genai.Message) genai.Observation {
	return genai.Observation{
		Operation: "chat", Request: sent, RequestLabel: tape.Recovered,
		Response: []genai.Message{said}, ResponseLabel: tape.Recovered, FinishReasons: finish(said),
	}
}

func finish(m genai.Message) []string {
	if m.FinishReason == "" {
		return nil
	}
	return []string{m.FinishReason}
}

// delegateRecovered ties nested agents that were recovered from their states to the calls that returned what
// they answered.
//
// Needs: a call without a span, before the agent, whose result is the answer of the agent.
// Refuses: an agent that a call holds already.
// Seen in: as recoverFromStates.
func (c *collector) delegateRecovered() {
	for _, agent := range c.agents {
		said := c.returned[agent]
		if said == nil || agent.via != nil {
			continue
		}
		i := slices.IndexFunc(c.tools, func(t *call) bool {
			return t.holds == nil && len(t.nodes) == 0 && t.agent == agent.agent && t.start <= agent.start && t.by.shown != nil && saysResult(said, *t.by.shown)
		})
		if i >= 0 {
			agent.via, c.tools[i].holds = c.tools[i], agent
		}
	}
}
