// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

func (c *Ledger) ReadConversations() {
	for _, m := range c.Models {
		c.readConversation(m)
	}
}

// readConversation reads the request and the answer of a model call, the request from the span that tells
// most of it. What a framework makes of an error is no answer.
func (c *Ledger) readConversation(m *Call) {
	var shown *spantree.Node
	for _, n := range m.Nodes {
		if r := n.Request(); len(r) > 0 && (shown == nil || genai.NamesCalls(n.Obs.Request, shown.Obs.Request)) {
			m.Request, shown = slices.Clone(r), n
		}
	}
	m.takeInstructions()
	made := c.Recovered
	if len(m.Nodes) > 0 {
		made = m.Nodes[0].Made
	} else {
		for _, sent := range m.Obs.Request {
			m.Request = append(m.Request, made.Message(sent))
		}
	}
	if len(m.Obs.Response) == 0 {
		return
	}
	if said := made.Message(m.Obs.Response[0]); !m.Obs.StatusError || !chat.SaysNothing(said) {
		m.Response = said
	}
}

// takeInstructions puts instructions before a request without any, from another span of the call that sent
// the same messages.
//
// Needs: a span whose request is instructions and then the request.
// Refuses: a request with instructions.
// Seen in: MLflow's span of the Agents SDK, which has the messages alone, around that of OpenAI's package.
func (t *Call) takeInstructions() {
	if len(t.Request) == 0 || len(chat.AfterSystem(t.Request)) < len(t.Request) {
		return
	}
	for _, n := range t.Nodes {
		r := n.Request()
		if system := len(r) - len(chat.AfterSystem(r)); system > 0 && chat.CommonPrefix(r[system:], t.Request) == len(t.Request) {
			t.Request = slices.Concat(r[:system], t.Request)
			return
		}
	}
}

// ListAsked lists the tool calls that the responses ask for.
func (c *Ledger) ListAsked() {
	for _, m := range c.Models {
		if m.Response != nil {
			m.Ask(m.Response)
			m.markShared()
		}
	}
}

// Ask lists the tool calls that a message asks for as calls of the model call.
func (t *Call) Ask(said *chat.Message) {
	for p := range chat.EachCall(said.Parts) {
		t.Asked = append(t.Asked, &Asked{Model: t, Index: len(t.Asked), Part: *p})
	}
}

// Conversation is the request and, where known, the response of a model call.
func (t *Call) Conversation() []*chat.Message {
	if t.Response == nil {
		return t.Request
	}
	return append(slices.Clip(t.Request), t.Response)
}

// MaxPredecessors bounds how many earlier calls a request is compared with.
const MaxPredecessors = 16

// Predecessor finds the call whose conversation a request continues: the one with the longest common
// beginning, the latest of equals, its own agent's first.
func (c *Ledger) Predecessor(i int) *Call {
	m := c.Models[i]
	var best *Call
	bestScore, tried := 0, 0
	for _, p := range slices.Backward(c.Models[:i]) {
		if len(p.Request) == 0 {
			continue
		}
		score := 2 * chat.CommonPrefix(p.Request, m.Request)
		if score > 0 && p.Agent == m.Agent {
			score++
		}
		if score > bestScore {
			best, bestScore = p, score
		}
		if tried++; tried == MaxPredecessors || bestScore >= 2*len(p.Request) && p.Agent == m.Agent {
			break
		}
	}
	return best
}

// spoken is an answer in a conversation, and its place there.
type spoken struct {
	At, End int
	Said    *chat.Message
}

// AnswersIn lists the answers in messages. Several messages of the assistant with nothing between them are
// one answer: a model does not go on before it has the results.
func AnswersIn(messages []*chat.Message) (answers []spoken) {
	for i := 0; i < len(messages); i++ {
		if messages[i].Tape.Role != tape.RoleAssistant {
			continue
		}
		end := i + 1
		for end < len(messages) && messages[end].Tape.Role == tape.RoleAssistant {
			end++
		}
		answers = append(answers, spoken{i, end, chat.Joined(messages[i:end]...)})
		i = end
	}
	return answers
}

// Results are the tool results in a message.
func Results(m *chat.Message) (results []*genai.Part) {
	for i := range m.Parts {
		if m.Parts[i].Type == tape.PartToolResult {
			results = append(results, &m.Parts[i])
		}
	}
	return results
}
