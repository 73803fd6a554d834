// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// recoverResponses takes answers that were not recorded, or not whole, from the request that continues the
// conversation.
//
// Needs: a request that repeats all messages of the call, with an answer behind them.
// Refuses: an answer with a call that another answer on record asks for: without content one conversation
// looks like another. A failed call, whose retry was answered.
// Seen in: streams, and packages that record no answer with calls.
func (c *collector) recoverResponses() {
	asking := c.askingByID()
	for i, m := range c.models {
		said := m.repeated
		switch {
		case !isOpen(m) || saidByAnother(m, said, asking):
		case m.response == nil:
			if m.obs.Error == nil && !failedCall(m) {
				m.response, m.recovered = c.withCallsApart(i, said, asking), true
			}
		case tellsMore(said, m.response):
			m.response, m.enriched = said, true
		case textOf(said) == "" && textOf(m.response) != "" && lacksCalls(m) && hasToolCall(said) && c.answersCalls(i, said):
			spoken := genai.Message{Role: said.tape.Role, Name: said.tape.Name, Parts: slices.Concat(m.response.parts, said.parts)}
			m.response, m.enriched = newMessage(spoken), true
		}
	}
}

// isOpen reports a model call that the next request shows another answer of than the recorded one.
func isOpen(m *call) bool { return m.repeated != nil && m.repeated != m.response }

// tellsMore reports a resent message that is an answer with calls, or arguments, that the recorded one lacks.
func tellsMore(said, response *message) bool {
	text := textOf(response)
	if text != textOf(said) {
		return text == "" && takesApart(said, response) // without the text beside the calls either
	}
	return !hasToolCall(response) && hasToolCall(said) || completes(said, response) || takesApart(said, response) || holdsMore(said, response)
}

// withCallsApart is an answer that was not recorded, as the next request shows it, with the calls that stand
// alone in further messages behind it, each before its own result. Calls of other answers would have model
// calls between these two requests.
//
// Needs: two model calls with spans, one after the other; drawn ids with one result each.
// Refuses: anything else that the assistant says there.
// Seen in: Pipecat, which keeps the calls of one answer so.
func (c *collector) withCallsApart(i int, said *message, asking map[string]*call) *message {
	m := c.models[i]
	if i+1 == len(c.models) || c.models[i+1].agent != m.agent || len(m.nodes) == 0 || len(c.models[i+1].nodes) == 0 {
		return said
	}
	next := c.models[i+1].request
	alone := func(m *message) bool {
		calls := callsOf(m.parts)
		return len(calls) == 1 && tellsOneCall(calls[0]) && asking[calls[0].ID] == nil && resultsOf(calls[0].ID, next) == 1
	}
	at := slices.Index(next, said)
	if at < 0 || !alone(said) {
		return said
	}
	whole := []*message{said}
	for k := at + 1; k < len(next); k++ {
		switch {
		case next[k].tape.Role == tape.RoleTool:
		case next[k].tape.Role != tape.RoleAssistant || len(next[k].parts) != 1 || next[k-1].tape.Role != tape.RoleTool || !alone(next[k]):
			return said
		default:
			whole = append(whole, next[k])
		}
	}
	return joined(whole...)
}

// saidByAnother reports a message with a call that another model call asks for, by an id that no other call
// has.
func saidByAnother(m *call, said *message, asking map[string]*call) bool {
	return slices.ContainsFunc(callsOf(said.parts), func(p *genai.Part) bool { return asking[p.ID] != nil && asking[p.ID] != m })
}

// answersCalls reports that the request that continues model call i shows a result of each call in a message,
// by its id: some packages record the text of an answer without its calls, and resend the calls without the
// text.
func (c *collector) answersCalls(i int, said *message) bool {
	for _, next := range c.models[i+1 : min(len(c.models), i+1+maxPredecessors)] {
		if slices.Contains(next.request, said) {
			return !slices.ContainsFunc(callsOf(said.parts), func(p *genai.Part) bool { return p.ID == "" || resultsOf(p.ID, next.request) == 0 })
		}
	}
	return false
}
