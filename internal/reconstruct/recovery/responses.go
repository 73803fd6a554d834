// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/settle"
	"github.com/tapedeck/tapedeck/tape"
)

// RecoverResponses takes answers that were not recorded, or not whole, from the request that continues the
// conversation.
//
// Needs: a request that repeats all messages of the call, with an answer behind them.
// Refuses: an answer with a call that another answer on record asks for: without content one conversation
// looks like another. A failed call, whose retry was answered.
// Seen in: streams, and packages that record no answer with calls.
func RecoverResponses(c *ledger.Ledger) {
	asking := settle.AskingByID(c)
	for i, m := range c.Models {
		said := m.Repeated
		switch {
		case !IsOpen(m) || saidByAnother(m, said, asking):
		case m.Response == nil:
			if m.Obs.Error == nil && !ledger.FailedCall(m) {
				m.Response, m.Recovered = withCallsApart(c, i, said, asking), true
			}
		case tellsMore(said, m.Response):
			m.Response, m.Enriched = said, true
		case chat.TextOf(said) == "" && chat.TextOf(m.Response) != "" && ledger.LacksCalls(m) && chat.HasToolCall(said) && answersCalls(c, i, said):
			spoken := genai.Message{Role: said.Tape.Role, Name: said.Tape.Name, Parts: slices.Concat(m.Response.Parts, said.Parts)}
			m.Response, m.Enriched = chat.NewMessage(spoken), true
		}
	}
}

// IsOpen reports a model call that the next request shows another answer of than the recorded one.
func IsOpen(m *ledger.Call) bool { return m.Repeated != nil && m.Repeated != m.Response }

// tellsMore reports a resent message that is an answer with calls, or arguments, that the recorded one lacks.
func tellsMore(said, response *chat.Message) bool {
	text := chat.TextOf(response)
	if text != chat.TextOf(said) {
		return text == "" && chat.TakesApart(said, response) // without the text beside the calls either
	}
	return !chat.HasToolCall(response) && chat.HasToolCall(said) || completes(said, response) || chat.TakesApart(said, response) || holdsMore(said, response)
}

// withCallsApart is an answer that was not recorded, as the next request shows it, with the calls that stand
// alone in further messages behind it, each before its own result. Calls of other answers would have model
// calls between these two requests.
//
// Needs: two model calls with spans, one after the other; drawn ids with one result each.
// Refuses: anything else that the assistant says there.
// Seen in: Pipecat, which keeps the calls of one answer so.
func withCallsApart(c *ledger.Ledger, i int, said *chat.Message, asking map[string]*ledger.Call) *chat.Message {
	m := c.Models[i]
	if i+1 == len(c.Models) || c.Models[i+1].Agent != m.Agent || len(m.Nodes) == 0 || len(c.Models[i+1].Nodes) == 0 {
		return said
	}
	next := c.Models[i+1].Request
	alone := func(m *chat.Message) bool {
		calls := chat.CallsOf(m.Parts)
		return len(calls) == 1 && chat.TellsOneCall(calls[0]) && asking[calls[0].ID] == nil && chat.ResultsOf(calls[0].ID, next) == 1
	}
	at := slices.Index(next, said)
	if at < 0 || !alone(said) {
		return said
	}
	whole := []*chat.Message{said}
	for k := at + 1; k < len(next); k++ {
		switch {
		case next[k].Tape.Role == tape.RoleTool:
		case next[k].Tape.Role != tape.RoleAssistant || len(next[k].Parts) != 1 || next[k-1].Tape.Role != tape.RoleTool || !alone(next[k]):
			return said
		default:
			whole = append(whole, next[k])
		}
	}
	return chat.Joined(whole...)
}

// saidByAnother reports a message with a call that another model call asks for, by an id that no other call
// has.
func saidByAnother(m *ledger.Call, said *chat.Message, asking map[string]*ledger.Call) bool {
	return slices.ContainsFunc(chat.CallsOf(said.Parts), func(p *genai.Part) bool { return asking[p.ID] != nil && asking[p.ID] != m })
}

// answersCalls reports that the request that continues model call i shows a result of each call in a message,
// by its id: some packages record the text of an answer without its calls, and resend the calls without the
// text.
func answersCalls(c *ledger.Ledger, i int, said *chat.Message) bool {
	for _, next := range c.Models[i+1 : min(len(c.Models), i+1+ledger.MaxPredecessors)] {
		if slices.Contains(next.Request, said) {
			return !slices.ContainsFunc(chat.CallsOf(said.Parts), func(p *genai.Part) bool { return p.ID == "" || chat.ResultsOf(p.ID, next.Request) == 0 })
		}
	}
	return false
}
