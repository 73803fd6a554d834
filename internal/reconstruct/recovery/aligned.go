// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"fmt"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// Align gives resent messages the identity of the first. A request is compared, place by place, with the
// latest earlier conversation of the same agent, else of any.
//
// Needs: a message that was resent with other ids or spelling, or of which only the place was recorded.
// Refuses: the result of a call that the response before it asks for: it is new, also where an earlier result
// says the same.
// Seen in: most packages that number calls in their own way.
func Align(c *ledger.Ledger) {
	for i, m := range c.Models {
		if before := c.Predecessor(i); before != nil {
			alignWith(m, before)
		}
	}
	for _, m := range c.Models {
		if slices.ContainsFunc(m.Nodes, func(n *spantree.Node) bool { return n.Omits }) {
			m.Request = slices.DeleteFunc(m.Request, func(sent *chat.Message) bool { return sent.Omitted })
		}
	}
}

func alignWith(t *ledger.Call, before *ledger.Call) {
	conversation := before.Conversation()
	if k := len(before.Request); k < len(t.Request) && before.Response != nil {
		if named := withCallIDs(before.Response, t.Request[k]); named != nil {
			before.Response, conversation[k] = named, named
		}
	}
	for k := range min(len(t.Request), len(conversation)) {
		first, sent := conversation[k], t.Request[k]
		if first == sent {
			continue // most messages of a list that was resent
		}
		if k < len(before.Request) && before.Response != nil && answersCall(sent, before.Response) {
			continue // a request may hold only what was not sent before
		}
		same, exact := first.Equal(sent)
		if same && !exact {
			t.Note(tape.CodeResentChanged, fmt.Sprintf("request.messages.%d", k), "resent with other ids or spelling")
		}
		if same && !first.Omitted {
			t.Completed = t.Completed || sent.Omitted
			t.Request[k] = first
		}
	}
}

// answersCall reports a message with the result of a call that a response asks for, by an id that no other
// call has.
func answersCall(sent, response *chat.Message) bool {
	return slices.ContainsFunc(sent.Parts, func(r genai.Part) bool {
		return r.Type == tape.PartToolResult && !r.Result.IsAbsent() && len(r.ID) >= decode.MinDrawnID && asksFor(response.Parts, r.ID)
	})
}

// withCallIDs is a response whose calls were recorded without ids, with the ids that they have where it was
// resent: the results behind it name them. It is nil where there is nothing to add.
func withCallIDs(response, resent *chat.Message) *chat.Message {
	if same, exact := response.Equal(resent); !same || exact {
		return nil
	}
	ids := make([]string, 0, len(resent.Parts))
	for p := range chat.EachCall(resent.Parts) {
		if p.ID == "" || slices.Contains(ids, p.ID) {
			return nil
		}
		ids = append(ids, p.ID)
	}
	if len(ids) == 0 {
		return nil
	}
	named := genai.Message{Role: response.Tape.Role, Name: response.Tape.Name, Parts: slices.Clone(response.Parts)}
	for i, p := range chat.CallsOf(named.Parts) {
		if p.ID != "" {
			return nil
		}
		p.ID = ids[i]
	}
	return chat.NewMessage(named)
}
