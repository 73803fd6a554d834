// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/tape"
)

// GoesOnAfter reports a model call whose provider keeps the conversation: the request names the response that
// it goes on after.
func GoesOnAfter(m *ledger.Call) bool { return m.Obs.PreviousID != "" }

// ChainRequests puts the conversation that the provider kept in front of a request that holds what is new
// alone. Instructions are those of the request itself, unless a program that sends all of a conversation is
// known to record what is new alone.
//
// Needs: a request that names the response that it goes on after.
// Refuses: a request that shows that response. A response that is not on the tape is a missing model call.
// Seen in: the Responses API with previous_response_id.
func ChainRequests(c *ledger.Ledger) {
	answered := map[string]*ledger.Call{} // by the id of the response
	for _, m := range c.Models {
		p := answered[m.Obs.PreviousID]
		if id := m.Obs.ResponseID; id != "" && answered[id] == nil && m.Response != nil && len(m.Request) > 0 {
			answered[id] = m
		}
		if !GoesOnAfter(m) {
			continue
		}
		if p == nil {
			m.Note(tape.CodeModelCallHidden, "request.messages", "the request goes on after the response "+m.Obs.PreviousID+", which is not on the tape; it holds what is new alone")
			continue
		}
		if slices.ContainsFunc(m.Request, func(s *chat.Message) bool { return s.ID == p.Response.ID }) {
			continue
		}
		if !c.HasRoom(len(p.Request) + 1) {
			m.Note(tape.CodeModelCallHidden, "request.messages", "the conversation before the request is longer than is put in front of it; it holds what is new alone")
			continue
		}
		own := instructions(m.Request)
		kept := p.Request
		if own > 0 || !m.Obs.Quirks.Has(dialect.RecordsNew) {
			kept = p.Request[instructions(p.Request):]
		}
		m.Request = slices.Concat(m.Request[:own], kept, []*chat.Message{p.Response}, m.Request[own:])
		m.Obs = m.Obs.With(func(o *genai.Draft) { o.RequestLabel = cmp.Or(o.RequestLabel, tape.Recovered) })
	}
}

// instructions counts the messages of the system at the beginning of a request.
func instructions(request []*chat.Message) (n int) {
	for n < len(request) && request[n].Tape.Role == tape.RoleSystem {
		n++
	}
	return n
}
