// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// RecoverFromStates makes the model calls of a run without any call, one for each answer that a state holds
// beyond what its span was given.
//
// Needs: a state that an agent or a step recorded.
// Refuses: a state within another one that holds the same conversation: the longer one is read. One that
// holds another conversation is that of a nested agent.
// Seen in: instrumentations of frameworks alone, where nobody instruments the client of the provider.
func RecoverFromStates(c *ledger.Ledger) {
	if !ledger.NoCalls(c) {
		return
	}
	for _, s := range outerStates(c) {
		if s.Agent != nil {
			c.Returned[s.Agent] = s.LastAnswer()
		}
		times := s.Times()
		for k, i := range s.Answers {
			c.Models = append(c.Models, answeredIn(s.N, s.Messages, i, s.Agent, times[k]))
		}
	}
}

// outerStates are the states with answers, each within the one around it, the outermost first.
func outerStates(c *ledger.Ledger) (states []*ledger.RecordedState) {
	outermost := slices.SortedStableFunc(slices.Values(c.States), func(a, b *spantree.Node) int {
		return cmp.Or(cmp.Compare(b.End-b.Start, a.End-a.Start), spantree.CompareNodes(a, b))
	})
	for _, n := range outermost[:min(len(outermost), chat.MaxTranscripts)] {
		s := ledger.ReadState(n)
		if len(s.Answers) == 0 {
			continue
		}
		// a step may end a moment after the graph around it
		around := chat.LastOf(states, func(of *ledger.RecordedState) bool {
			return of.N.Start <= n.Start && (n.End <= of.N.End || spantree.Below(n, of.N))
		})
		switch {
		case around == nil:
			states = append(states, s)
		case s.PartOf(around):
		case around.PartOf(s):
			around.Messages, around.Answers = s.Messages, s.Answers
		default:
			s.Agent = c.NewCall(tape.EventAgentCall, n, around.Agent)
			s.Agent.Relation = tape.RelationSubAgent
			c.Agents = append(c.Agents, s.Agent)
			around.Inner = append(around.Inner, s)
			states = append(states, s)
		}
	}
	return states
}

// answeredIn is the model call whose answer stands at a place of a recorded conversation.
func answeredIn(by *spantree.Node, messages []genai.Message, at int, agent *ledger.Call, when uint64) *ledger.Call {
	return ledger.HiddenModel(answeredAs(messages[at], messages[:at:at]), agent, when, "no span reports this call; the state of "+by.Span.Name()+" holds its answer")
}

// answeredAs is what a conversation tells of a model call: its request and its answer.
func answeredAs(said genai.Message, sent []genai.Message) func(*genai.Draft) {
	return func(o *genai.Draft) {
		o.Operation, o.Request, o.RequestLabel = "chat", sent, tape.Recovered
		o.Response, o.ResponseLabel, o.FinishReasons = []genai.Message{said}, tape.Recovered, ledger.Finish(said)
	}
}

// DelegateRecovered ties nested agents that were recovered from their states to the calls that returned what
// they answered.
//
// Needs: a call without a span, before the agent, whose result is the answer of the agent.
// Refuses: an agent that a call holds already.
// Seen in: as RecoverFromStates.
func DelegateRecovered(c *ledger.Ledger) {
	for _, agent := range c.Agents {
		said := c.Returned[agent]
		if said == nil || agent.Via != nil {
			continue
		}
		i := slices.IndexFunc(c.Tools, func(t *ledger.Call) bool {
			return t.Holds == nil && len(t.Nodes) == 0 && t.Agent == agent.Agent && t.Start <= agent.Start && t.By.Shown != nil && ledger.SaysResult(said, *t.By.Shown)
		})
		if i >= 0 {
			agent.Via, c.Tools[i].Holds = c.Tools[i], agent
		}
	}
}
