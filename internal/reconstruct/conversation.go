// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

func (c *collector) readConversations() {
	for _, m := range c.models {
		c.readConversation(m)
	}
}

// readConversation reads the request and the answer of a model call, the request from the span that tells
// most of it. What a framework makes of an error is no answer.
func (c *collector) readConversation(m *call) {
	var shown *node
	for _, n := range m.nodes {
		if r := n.request(); len(r) > 0 && (shown == nil || genai.NamesCalls(n.obs.Request, shown.obs.Request)) {
			m.request, shown = slices.Clone(r), n
		}
	}
	m.takeInstructions()
	made := c.recovered
	if len(m.nodes) > 0 {
		made = m.nodes[0].made
	} else {
		for _, sent := range m.obs.Request {
			m.request = append(m.request, made.message(sent))
		}
	}
	if len(m.obs.Response) == 0 {
		return
	}
	if said := made.message(m.obs.Response[0]); !m.obs.StatusError || !saysNothing(said) {
		m.response = said
	}
}

// takeInstructions puts instructions before a request without any, from another span of the call that sent
// the same messages.
//
// Needs: a span whose request is instructions and then the request.
// Refuses: a request with instructions.
// Seen in: MLflow's span of the Agents SDK, which has the messages alone, around that of OpenAI's package.
func (t *call) takeInstructions() {
	if len(t.request) == 0 || len(afterSystem(t.request)) < len(t.request) {
		return
	}
	for _, n := range t.nodes {
		r := n.request()
		if system := len(r) - len(afterSystem(r)); system > 0 && commonPrefix(r[system:], t.request) == len(t.request) {
			t.request = slices.Concat(r[:system], t.request)
			return
		}
	}
}

// listAsked lists the tool calls that the responses ask for.
func (c *collector) listAsked() {
	for _, m := range c.models {
		if m.response != nil {
			m.ask(m.response)
			m.markShared()
		}
	}
}

// ask lists the tool calls that a message asks for as calls of the model call.
func (t *call) ask(said *message) {
	for _, p := range callsOf(said.parts) {
		t.asked = append(t.asked, &asked{model: t, index: len(t.asked), part: *p})
	}
}

// conversation is the request and, where known, the response of a model call.
func (t *call) conversation() []*message {
	if t.response == nil {
		return t.request
	}
	return append(slices.Clip(t.request), t.response)
}

// maxPredecessors bounds how many earlier calls a request is compared with.
const maxPredecessors = 16

// predecessor finds the call whose conversation a request continues: the one with the longest common
// beginning, the latest of equals, its own agent's first.
func (c *collector) predecessor(i int) *call {
	m := c.models[i]
	var best *call
	bestScore, tried := 0, 0
	for _, p := range slices.Backward(c.models[:i]) {
		if len(p.request) == 0 {
			continue
		}
		score := 2 * commonPrefix(p.request, m.request)
		if score > 0 && p.agent == m.agent {
			score++
		}
		if score > bestScore {
			best, bestScore = p, score
		}
		if tried++; tried == maxPredecessors || bestScore >= 2*len(p.request) && p.agent == m.agent {
			break
		}
	}
	return best
}

func commonPrefix(a, b []*message) int {
	n := min(len(a), len(b))
	for i := range n {
		if same, _ := a[i].equal(b[i]); !same {
			return i
		}
	}
	return n
}

// extends reports a request that continues another one: it repeats all messages of the other, whatever the
// instructions before them, and adds only what the assistant, the tools and other agents said.
func extends(before, after []*message) bool {
	before, after = afterSystem(before), afterSystem(after)
	if len(before) == 0 || len(after) <= len(before) || commonPrefix(before, after) < len(before) {
		return false
	}
	speaker := ""
	for _, m := range before {
		if m.tape.Role == tape.RoleUser {
			speaker = m.tape.Name
		}
	}
	return !slices.ContainsFunc(after[len(before):], func(m *message) bool {
		// another agent of a group
		another := m.tape.Role == tape.RoleUser && m.tape.Name != "" && speaker != "" && m.tape.Name != speaker
		return m.tape.Role != tape.RoleAssistant && m.tape.Role != tape.RoleTool && !another
	})
}

// turnAt is what the assistant said at the beginning of messages, nil if it said nothing. Some packages
// resend its text and its calls as messages of their own.
func turnAt(messages []*message) *message {
	n := 0
	for n < len(messages) && messages[n].tape.Role == tape.RoleAssistant && !messages[n].omitted && (n == 0 || !hasToolCall(messages[n-1])) {
		n++
	}
	if n == 0 {
		return nil
	}
	return joined(messages[:n]...)
}

// spoken is an answer in a conversation, and its place there.
type spoken struct {
	at, end int
	said    *message
}

// answersIn lists the answers in messages. Several messages of the assistant with nothing between them are
// one answer: a model does not go on before it has the results.
func answersIn(messages []*message) (answers []spoken) {
	for i := 0; i < len(messages); i++ {
		if messages[i].tape.Role != tape.RoleAssistant {
			continue
		}
		end := i + 1
		for end < len(messages) && messages[end].tape.Role == tape.RoleAssistant {
			end++
		}
		answers = append(answers, spoken{i, end, joined(messages[i:end]...)})
		i = end
	}
	return answers
}

// joined is one message with the parts of several.
func joined(messages ...*message) *message {
	if len(messages) == 1 {
		return messages[0]
	}
	whole := genai.Message{Role: messages[0].tape.Role, Name: messages[0].tape.Name}
	for _, m := range messages {
		whole.Parts = append(whole.Parts, m.parts...)
	}
	return newMessage(whole)
}

// afterSystem leaves out the instructions at the beginning of a request: an agent that takes over has its
// own, and some change with time.
func afterSystem(request []*message) []*message {
	for len(request) > 0 && request[0].tape.Role == tape.RoleSystem {
		request = request[1:]
	}
	return request
}

func hasToolCall(m *message) bool {
	return slices.ContainsFunc(m.parts, func(p genai.Part) bool { return p.Type == tape.PartToolCall })
}

// saysNothing reports a message without parts, or with empty texts only.
func saysNothing(m *message) bool {
	return !slices.ContainsFunc(m.parts, func(p genai.Part) bool { return p.Type != tape.PartText || p.Text != "" })
}

func textOf(m *message) string {
	var b strings.Builder
	for _, p := range m.parts {
		if p.Type == tape.PartText {
			b.WriteString(p.Text)
		}
	}
	return strings.TrimSpace(b.String())
}

// results are the tool results in a message.
func (m *message) results() (results []*genai.Part) {
	for i := range m.parts {
		if m.parts[i].Type == tape.PartToolResult {
			results = append(results, &m.parts[i])
		}
	}
	return results
}
