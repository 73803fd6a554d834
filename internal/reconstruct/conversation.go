// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

// takeInstructions puts the instructions before a request that holds none, from another span of the same call: MLflow's span of the Agents SDK has
// the messages, and that of OpenAI's package inside it the instructions too.
func (t *call) takeInstructions() {
	if len(t.request) == 0 || len(afterSystem(t.request)) < len(t.request) {
		return
	}
	for _, n := range t.nodes {
		r := n.request()
		if system := len(r) - len(afterSystem(r)); system > 0 && commonPrefix(r[system:], t.request) == len(t.request) {
			t.request = append(slices.Clone(r[:system]), t.request...)
			return
		}
	}
}

// converse reads the conversation of the run. It settles which messages are the same, and recovers responses and results that
// only later requests show. It says which response asked for which tool call.
func (c *collector) converse() {
	c.setClocks()
	for _, m := range c.models {
		var shown *node
		for _, n := range m.nodes {
			if r := n.request(); len(r) > 0 && (shown == nil || genai.NamesCalls(n.obs.Request, shown.obs.Request)) {
				m.request, shown = slices.Clone(r), n
			}
		}
		m.takeInstructions()
		made := (*messages)(nil)
		if len(m.nodes) > 0 {
			made = m.nodes[0].made
		} else {
			for _, sent := range m.obs.Request {
				m.request = append(m.request, c.recovered.message(sent))
			}
			made = c.recovered
		}
		if len(m.obs.Response) > 0 {
			m.response = made.message(m.obs.Response[0])
		}
		if m.response != nil && m.obs.StatusError && saysNothing(m.response) { // what a framework makes of an error
			m.response = nil
		}
	}
	c.dropEarlierAnswers()
	c.splitGlued()
	c.readFollowed()
	c.recoverHeld()
	slices.SortStableFunc(c.models, compareCalls)
	c.recoverBroken()
	c.align()
	c.recoverResponses()
	c.recoverBetween()
	c.recoverBehind()
	c.readTranscripts()
	c.markEchoed()
	for _, m := range c.models {
		if m.response == nil {
			continue
		}
		for _, p := range m.response.parts {
			if p.Type == tape.PartToolCall {
				m.asked = append(m.asked, &asked{model: m, index: len(m.asked), part: p})
			}
		}
		m.markShared()
	}
	c.findResults()
	c.resultsBehind()
	c.readLoops()
	c.pair()
	c.answerLoops()
	c.nameClasses()
	c.pairFunctions()
	c.takeUnnamed()
	c.showUnasked()
	c.dropFunctions()
	c.dropSecondReports()
	c.nameFailures()
	c.settlePayloads()
	c.tellShown()
	handoffs := c.handoffs()
	c.recoverCalls()
	c.delegateRecovered()
	c.delegations(handoffs)
}

// align gives resent messages the identity of the first. A request is compared, position by position, with the latest earlier
// conversation of the same agent, else of any.
func (c *collector) align() {
	for i, m := range c.models {
		before := c.predecessor(i)
		if before == nil {
			continue
		}
		conversation := before.conversation()
		if k := len(before.request); k < len(m.request) && before.response != nil {
			if named := withCallIDs(before.response, m.request[k]); named != nil {
				before.response, conversation[k] = named, named
			}
		}
		for k := range min(len(m.request), len(conversation)) {
			if m.request[k] == conversation[k] {
				continue // of a list that was resent, most are: they need not be looked at
			}
			if k < len(before.request) && before.response != nil && answersCall(m.request[k], before.response) {
				continue // new, also where an earlier result says the same: a request may hold but what was not sent before
			}
			same, exact := conversation[k].equal(m.request[k])
			if same && !exact {
				m.notes = append(m.notes, genai.Note{Code: tape.CodeResentChanged, Field: fmt.Sprintf("request.messages.%d", k), Detail: "resent with other ids or spelling"})
			}
			if same && !conversation[k].omitted {
				m.completed = m.completed || m.request[k].omitted
				m.request[k] = conversation[k]
			}
		}
	}
	for _, m := range c.models {
		if slices.ContainsFunc(m.nodes, func(n *node) bool { return n.omits }) {
			m.request = slices.DeleteFunc(m.request, func(sent *message) bool { return sent.omitted })
		}
	}
}

// answersCall reports a message with the result, and what it is, of a call that a response asks for, by an id that no other call has.
func answersCall(sent, response *message) bool {
	return slices.ContainsFunc(sent.parts, func(r genai.Part) bool {
		return r.Type == tape.PartToolResult && !r.Result.IsAbsent() && len(r.ID) >= decode.MinDrawnID && slices.ContainsFunc(response.parts, func(p genai.Part) bool { return p.Type == tape.PartToolCall && p.ID == r.ID })
	})
}

// withCallIDs returns a response whose calls were recorded without ids with those that it has where it was sent again: the results behind it name them,
// in an order of their own. It returns nil where there is nothing to add.
func withCallIDs(response, resent *message) *message {
	if same, exact := response.equal(resent); !same || exact {
		return nil
	}
	ids := make([]string, 0, len(resent.parts))
	for _, p := range resent.parts {
		if p.Type == tape.PartToolCall {
			if p.ID == "" || slices.Contains(ids, p.ID) {
				return nil
			}
			ids = append(ids, p.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	named := genai.Message{Role: response.tape.Role, Name: response.tape.Name, Parts: slices.Clone(response.parts)}
	for i := range named.Parts {
		if p := &named.Parts[i]; p.Type == tape.PartToolCall {
			if p.ID != "" {
				return nil
			}
			p.ID, ids = ids[0], ids[1:]
		}
	}
	return newMessage(named)
}

// maxPredecessors bounds how many earlier calls a request is compared with.
const maxPredecessors = 16

// predecessor finds the call whose conversation a request continues: the one with the longest common beginning, the latest of
// equals, its own agent's first.
func (c *collector) predecessor(i int) *call {
	m := c.models[i]
	var best *call
	bestScore := 0
	tried := 0
	for j := i - 1; j >= 0 && tried < maxPredecessors; j-- {
		p := c.models[j]
		if len(p.request) == 0 {
			continue
		}
		tried++
		score := 2 * commonPrefix(p.request, m.request)
		if score > 0 && p.agent == m.agent {
			score++
		}
		if score > bestScore {
			best, bestScore = p, score
		}
		if bestScore >= 2*len(p.request) && p.agent == m.agent {
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

// conversation is the request and, where known, the response of a model call.
func (t *call) conversation() []*message {
	if t.response == nil {
		return t.request
	}
	return append(slices.Clip(t.request), t.response)
}

// turnAt is what the assistant said at the beginning of the messages, nil when it said nothing. Some packages resend its text and its calls as
// messages of their own.
func turnAt(messages []*message) *message {
	n := 0
	for n < len(messages) && messages[n].tape.Role == tape.RoleAssistant && !messages[n].omitted && (n == 0 || !hasToolCall(messages[n-1])) {
		n++
	}
	switch n {
	case 0:
		return nil
	case 1:
		return messages[0]
	}
	whole := genai.Message{Role: tape.RoleAssistant, Name: messages[0].tape.Name}
	for _, m := range messages[:n] {
		whole.Parts = append(whole.Parts, m.parts...)
	}
	return newMessage(whole)
}

// afterSystem leaves out the instructions at the beginning of a request: an agent that takes over has its own, and some change with time.
func afterSystem(request []*message) []*message {
	for len(request) > 0 && request[0].tape.Role == tape.RoleSystem {
		request = request[1:]
	}
	return request
}

func hasToolCall(m *message) bool {
	return slices.ContainsFunc(m.parts, func(p genai.Part) bool { return p.Type == tape.PartToolCall })
}

// saysNothing reports a message that is empty, or holds empty texts only.
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

// recoverCalls makes events of the calls that were asked for and have no span of their own. Calls that stand for structured output
// are never executed.
func (c *collector) recoverCalls() {
	for _, m := range c.models {
		for _, a := range m.asked {
			if a.tool != nil || slices.Contains(m.obs.OutputTools, a.part.Name) {
				continue
			}
			t := &call{
				kind:  tape.EventToolCall,
				obs:   &genai.Observation{Class: genai.Tool, Name: a.part.Name, CallID: a.part.ID},
				start: m.end, end: m.end,
				agent: m.agent,
				by:    a,
			}
			a.tool = t
			c.tools = append(c.tools, t)
		}
	}
}

// extends reports whether a request continues another one. The request repeats all messages of the other, whatever the instructions
// before them. It adds only what the assistant, the tools and other agents said.
func extends(before, after []*message) bool {
	before, after = afterSystem(before), afterSystem(after)
	if len(before) == 0 || len(after) <= len(before) {
		return false
	}
	for i := range before {
		if same, _ := before[i].equal(after[i]); !same {
			return false
		}
	}
	speaker := ""
	for _, m := range before {
		if m.tape.Role == tape.RoleUser {
			speaker = m.tape.Name
		}
	}
	for _, m := range after[len(before):] {
		another := m.tape.Role == tape.RoleUser && m.tape.Name != "" && speaker != "" && m.tape.Name != speaker // an agent of a group
		if m.tape.Role != tape.RoleAssistant && m.tape.Role != tape.RoleTool && !another {
			return false
		}
	}
	return true
}
