// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// splitAtAnswer divides a recorded request before the answer to it, which no request can hold. What follows
// was said later: the program appended to the list that it had handed to the client, and the list was written
// down afterwards.
//
// Needs: a call in the request with the drawn id of one that the response asks for.
// Refuses: an answer at the beginning of a request.
// Seen in: instrumentations that write a span when the call, or a whole batch of spans, is done.
func splitAtAnswer(request []*message, response []genai.Message) (sent, followed []*message) {
	if len(response) == 0 || len(request) < 2 {
		return request, nil
	}
	ids := drawnIDs(response[0].Parts)
	if len(ids) == 0 {
		return request, nil
	}
	at := slices.IndexFunc(request, func(m *message) bool { return m.tape.Role == tape.RoleAssistant && asksOne(m.parts, ids) })
	if at < 1 {
		return request, nil
	}
	said := textOf(newMessage(response[0]))
	for at > 1 && request[at-1].tape.Role == tape.RoleAssistant && !hasToolCall(request[at-1]) && said != "" && strings.Contains(said, textOf(request[at-1])) {
		at-- // its text stands before its calls
	}
	return request[:at:at], request[at:]
}

// followed is what stands behind the answer in the request of a model call.
func (t *call) followed() []*message {
	for _, n := range t.nodes {
		if n.request(); len(n.followed) > 0 {
			return n.followed
		}
	}
	return nil
}

// firstReported is the place of the first model call with a span at the run's own level, -1 if there is none.
func (c *collector) firstReported() int {
	return slices.IndexFunc(c.models, func(m *call) bool { return m.agent == nil && len(m.nodes) > 0 })
}

// lastReported is the last model call with a span at the run's own level, nil if there is none.
func (c *collector) lastReported() (last *call) {
	for _, m := range c.models {
		if m.agent == nil && len(m.nodes) > 0 && (last == nil || m.start >= last.start) {
			last = m
		}
	}
	return last
}

// readFollowed makes the model calls behind the last one with a span: further answers behind the answer in
// its own request.
//
// Needs: a request that was recorded after its answer, see splitAtAnswer.
// Refuses: the first answer there, which is that of the call itself.
// Seen in: as splitAtAnswer.
func (c *collector) readFollowed() {
	last := c.lastReported()
	if last == nil {
		return
	}
	followed := last.followed()
	if len(followed) == 0 {
		return
	}
	end := uint64(0)
	for _, k := range slices.Concat(c.models, c.tools) {
		end = max(end, k.end)
	}
	answers, ran := 0, c.placeByTools(last)
	for i, m := range followed {
		if m.tape.Role != tape.RoleAssistant || i > 0 && followed[i-1].tape.Role == tape.RoleAssistant {
			continue
		}
		if answers++; answers < 2 {
			continue
		}
		said, at := turnAt(followed[i:]), end
		if said == nil {
			return
		}
		if hasToolCall(said) {
			at = ran(said)
		}
		c.models = append(c.models, last.another(at, slices.Concat(last.request, followed[:i]), said, "no span reports this call; the request of an earlier one was recorded after it and holds its answer"))
	}
}

// resultsBehind takes the results that stand behind the answer in the request of the call itself.
func (c *collector) resultsBehind() {
	for _, m := range c.models {
		for _, msg := range m.followed() {
			for _, r := range msg.results() {
				m.showByID(r)
			}
		}
	}
}
