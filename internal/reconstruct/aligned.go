// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

// align gives resent messages the identity of the first. A request is compared, place by place, with the
// latest earlier conversation of the same agent, else of any.
//
// Needs: a message that was resent with other ids or spelling, or of which only the place was recorded.
// Refuses: the result of a call that the response before it asks for: it is new, also where an earlier result
// says the same.
// Seen in: most packages that number calls in their own way.
func (c *collector) align() {
	for i, m := range c.models {
		if before := c.predecessor(i); before != nil {
			m.alignWith(before)
		}
	}
	for _, m := range c.models {
		if slices.ContainsFunc(m.nodes, func(n *node) bool { return n.omits }) {
			m.request = slices.DeleteFunc(m.request, func(sent *message) bool { return sent.omitted })
		}
	}
}

func (t *call) alignWith(before *call) {
	conversation := before.conversation()
	if k := len(before.request); k < len(t.request) && before.response != nil {
		if named := withCallIDs(before.response, t.request[k]); named != nil {
			before.response, conversation[k] = named, named
		}
	}
	for k := range min(len(t.request), len(conversation)) {
		first, sent := conversation[k], t.request[k]
		if first == sent {
			continue // most messages of a list that was resent
		}
		if k < len(before.request) && before.response != nil && answersCall(sent, before.response) {
			continue // a request may hold only what was not sent before
		}
		same, exact := first.equal(sent)
		if same && !exact {
			t.note(tape.CodeResentChanged, fmt.Sprintf("request.messages.%d", k), "resent with other ids or spelling")
		}
		if same && !first.omitted {
			t.completed = t.completed || sent.omitted
			t.request[k] = first
		}
	}
}

// answersCall reports a message with the result of a call that a response asks for, by an id that no other
// call has.
func answersCall(sent, response *message) bool {
	return slices.ContainsFunc(sent.parts, func(r genai.Part) bool {
		return r.Type == tape.PartToolResult && !r.Result.IsAbsent() && len(r.ID) >= decode.MinDrawnID && asksFor(response.parts, r.ID)
	})
}

// withCallIDs is a response whose calls were recorded without ids, with the ids that they have where it was
// resent: the results behind it name them. It is nil where there is nothing to add.
func withCallIDs(response, resent *message) *message {
	if same, exact := response.equal(resent); !same || exact {
		return nil
	}
	ids := make([]string, 0, len(resent.parts))
	for _, p := range callsOf(resent.parts) {
		if p.ID == "" || slices.Contains(ids, p.ID) {
			return nil
		}
		ids = append(ids, p.ID)
	}
	if len(ids) == 0 {
		return nil
	}
	named := genai.Message{Role: response.tape.Role, Name: response.tape.Name, Parts: slices.Clone(response.parts)}
	for i, p := range callsOf(named.Parts) {
		if p.ID != "" {
			return nil
		}
		p.ID = ids[i]
	}
	return newMessage(named)
}
