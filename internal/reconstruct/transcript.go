// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// transcript is a conversation as an agent or a step of its graph recorded it, with the place of one answer in it.
type transcript struct {
	messages []*message
	answer   int
}

// maxTranscripts bounds how many recorded values are read in search of answers.
const maxTranscripts = 256

// conversationIn is the conversation in a recorded value, without what a framework says again of an answer by a call. Of one that was cut, nobody knows where its last message ends; where
// that ends with a result of which nothing is left, the call was recorded together with it (messages of the AI SDK for a page), and it is the call that was cut.
func conversationIn(c genai.Content) []genai.Message {
	messages := decode.Transcript(c.Value)
	if n := len(messages); c.Label == tape.Truncated && n > 0 {
		if p := messages[n-1].Parts; n > 1 && len(p) > 0 && p[len(p)-1].Type == tape.PartToolResult && p[len(p)-1].Result.IsAbsent() {
			return messages[:n-2]
		}
		return messages[:n-1]
	}
	if echo(messages) != nil {
		return messages[:len(messages)-2]
	}
	return messages
}

// readTranscripts completes the answers of model calls from what agents and steps recorded as their state when they ended, the innermost
// first. Some packages leave the calls out of the answer and of every later request, or record nothing of an answer with calls.
func (c *collector) readTranscripts() {
	c.transcripts = map[*call]transcript{}
	slices.SortStableFunc(c.states, func(a, b *node) int { return cmp.Compare(a.end-a.start, b.end-b.start) })
	for _, n := range c.states[:min(len(c.states), maxTranscripts)] {
		var models []*call
		for _, m := range c.models {
			_, answered := c.transcripts[m]
			if !answered && n.start <= m.start && m.end <= n.end && (m.response != nil || !m.obs.Failed && !m.obs.StatusError) {
				models = append(models, m)
			}
		}
		if slices.ContainsFunc(models, lacksCalls) {
			c.readTranscript(n.obs.OutputData, models)
		}
	}
	c.readHanded()
	for m, t := range c.transcripts {
		said := t.messages[t.answer]
		switch {
		case m.response == nil:
			m.response, m.recovered = said, true
		case lacksCalls(m) && hasToolCall(said):
			m.response, m.enriched = said, true
		}
	}
}

// readHanded completes the answers of model calls whose calls were not recorded from what the step after each was handed: an answer with the same text and
// the calls. What came out of the step are the results.
func (c *collector) readHanded() {
	for _, n := range c.states[:min(len(c.states), maxTranscripts)] {
		if n.obs.Class != genai.Structure || !n.obs.InputData.Present() {
			continue
		}
		var before *call
		for _, m := range slices.Backward(c.models) {
			if m.end <= n.start+rounding && m.start <= n.start && len(m.nodes) > 0 && siblingsOf(m.nodes[0]) == siblingsOf(n) {
				before = m
				break
			}
		}
		if before == nil || !lacksCalls(before) {
			continue
		}
		if _, read := c.transcripts[before]; read {
			continue
		}
		said := handedAnswer(n)
		if said == nil || before.response != nil && !saysNothing(before.response) && textOf(said) != textOf(before.response) {
			continue
		}
		t := transcript{messages: []*message{said}}
		for _, m := range conversationIn(n.obs.OutputData) {
			t.messages = append(t.messages, newMessage(m))
		}
		c.transcripts[before] = t
	}
}

// handedAnswer is the answer with calls that a step was handed: the last message of what it was given. It is nil when there is none.
func handedAnswer(n *node) *message {
	handed, _ := decode.InputMessages(n.obs.InputData.Value, 0)
	if len(handed) == 0 || n.obs.InputData.Label == tape.Truncated {
		return nil
	}
	if said := handed[len(handed)-1]; said.Role == tape.RoleAssistant && len(callsOf(said.Parts)) > 0 {
		return newMessage(said)
	}
	return nil
}

// readLoops completes model spans that stand for a whole loop of model calls and hold no answer, from the last state of the conversation that a step
// beside the span recorded since it began. The calls that the state shows are those that the loop asked for.
func (c *collector) readLoops() {
	type last struct {
		n        *node
		messages []*message
	}
	for i, m := range c.models {
		if m.response != nil || len(m.nodes) != 1 || m.obs.Failed || m.obs.StatusError || !slices.ContainsFunc(m.notes, func(n genai.Note) bool { return n.Code == tape.CodeModelCallHidden }) {
			continue
		}
		var state last
		for _, n := range c.states {
			if siblingsOf(n) != siblingsOf(m.nodes[0]) || n.obs.Class != genai.Structure || n.start < m.start || state.n != nil && compareNodes(n, state.n) < 0 ||
				slices.ContainsFunc(c.models[i+1:], func(next *call) bool { return next.agent == m.agent && next.start <= n.start }) {
				continue
			}
			if messages := conversationIn(n.obs.OutputData); decode.HasRole(messages, tape.RoleAssistant) {
				state = last{n, nil}
				for _, read := range messages {
					state.messages = append(state.messages, newMessage(read))
				}
			}
		}
		said := sinceUser(state.messages)
		for k, message := range said {
			if message.tape.Role != tape.RoleAssistant {
				continue
			}
			asks := len(m.asked)
			for _, p := range callsOf(message.parts) {
				m.asked = append(m.asked, &asked{model: m, index: len(m.asked), part: *p})
			}
			if asks == len(m.asked) && k == len(said)-1 {
				m.response, m.recovered = message, true
			}
		}
		for _, message := range said {
			for k := range message.parts {
				for _, a := range m.asked {
					if p := &message.parts[k]; p.Type == tape.PartToolResult && p.ID != "" && p.ID == a.part.ID && a.shown == nil {
						a.show(p, nil)
						break
					}
				}
			}
		}
	}
}

// readTranscript reads a recorded state. Its last assistant messages are the answers of the model calls, if their texts are the same.
func (c *collector) readTranscript(state genai.Content, models []*call) {
	var messages []*message
	var said []int
	for i, m := range conversationIn(state) {
		messages = append(messages, newMessage(m))
		if m.Role == tape.RoleAssistant {
			said = append(said, i)
		}
	}
	if len(said) < len(models) {
		return
	}
	said = said[len(said)-len(models):]
	for k, m := range models {
		if m.response != nil && !saysNothing(m.response) && textOf(m.response) != textOf(messages[said[k]]) {
			return
		}
	}
	for k, m := range models {
		c.transcripts[m] = transcript{messages, said[k]}
	}
}

// lacksCalls reports a model call whose calls are unknown: it ended by asking for tools, does not say why it ended, or no answer of it was recorded.
func lacksCalls(m *call) bool {
	if m.response == nil {
		return !m.obs.Failed
	}
	reasons := m.obs.FinishReasons
	return !hasToolCall(m.response) && (len(reasons) == 0 || slices.ContainsFunc(reasons, tape.AsksForTools))
}

// resultsIn takes the results that a transcript shows for calls of which no request shows one.
func (t transcript) resultsIn(m *call) {
	var results []*genai.Part
	for _, msg := range t.messages[min(t.answer+1, len(t.messages)):] {
		if msg.tape.Role == tape.RoleAssistant {
			break
		}
		for k := range msg.parts {
			if msg.parts[k].Type == tape.PartToolResult {
				results = append(results, &msg.parts[k])
			}
		}
	}
	for _, a := range m.asked {
		for _, r := range results {
			if a.shown == nil && r.ID != "" && r.ID == a.part.ID {
				a.show(r, nil)
			}
		}
	}
	showByPosition(m, results, nil)
}

// recordedState is a conversation that the span of an agent or of a step recorded as its state.
type recordedState struct {
	n        *node
	messages []genai.Message
	answers  []int // places of the answers that the span was not given
	agent    *call // nil at the run's own level
	inner    []*recordedState
}

// recoverModels makes model calls of a run without any call of its own, from the states that its spans recorded. It makes one for each answer
// that a state holds beyond what its span was given. The state of a span inside another one may hold the same conversation, and the longer of
// both is read; or it is that of a nested agent.
func (c *collector) recoverModels() {
	if len(c.models)+len(c.retrievals) > 0 {
		return
	}
	if len(c.tools) > 0 {
		c.recoverAround()
		return
	}
	var states []*recordedState // the outermost first
	for _, n := range slices.SortedStableFunc(slices.Values(c.states), func(a, b *node) int {
		return cmp.Or(cmp.Compare(b.end-b.start, a.end-a.start), compareNodes(a, b))
	})[:min(len(c.states), maxTranscripts)] {
		s := readState(n)
		if len(s.answers) == 0 {
			continue
		}
		var around *recordedState
		for _, of := range slices.Backward(states) {
			if of.n.start <= n.start && (n.end <= of.n.end || liesUnder(n, of.n)) { // a step may end a moment after the graph around it
				around = of
				break
			}
		}
		switch {
		case around != nil && s.partOf(around):
		case around != nil && around.partOf(s):
			around.messages, around.answers = s.messages, s.answers
		default:
			if around != nil {
				s.agent = c.newCall(tape.EventAgentCall, n, around.agent)
				s.agent.relation = tape.RelationSubAgent
				c.agents = append(c.agents, s.agent)
				around.inner = append(around.inner, s)
			}
			states = append(states, s)
		}
	}
	for _, s := range states {
		if s.agent != nil {
			c.returned[s.agent] = newMessage(s.messages[s.answers[len(s.answers)-1]])
		}
		times := s.times()
		for k, i := range s.answers {
			c.models = append(c.models, answeredIn(s.n, s.messages, i, s.agent, times[k]))
		}
	}
}

// liesUnder reports a span that lies below another one in the tree.
func liesUnder(n, m *node) bool {
	for n = n.up; n != nil && n != m; n = n.up {
	}
	return n != nil
}

// recoverAround makes the model calls of a run that has no call but those of tools (Langfuse's handler for LangChain before 5.1 loses a generation whose answer is a list of parts), and of the agents
// in it: one for each answer since the user spoke in the state that holds the most of them. It is the conversation of the agent if its answers ask for all calls of its tools that have an id, and
// for one at least: other states are those of agents around or below, or hold what was said before.
func (c *collector) recoverAround() {
	ids := map[*call]map[string]bool{} // by agent
	var agents []*call
	for _, t := range c.tools {
		if len(t.obs.CallID) < decode.MinDrawnID {
			continue
		}
		if ids[t.agent] == nil {
			ids[t.agent] = map[string]bool{}
			agents = append(agents, t.agent)
		}
		ids[t.agent][t.obs.CallID] = true
	}
	if len(agents) == 0 || len(agents) > maxTranscripts {
		return
	}
	type conversation struct {
		by             *node
		messages       []genai.Message
		since, answers int
	}
	of := map[*call]conversation{}
	for _, n := range c.states[:min(len(c.states), maxTranscripts)] {
		messages := readState(n).messages
		since := len(messages)
		for since > 0 && messages[since-1].Role != tape.RoleUser {
			since--
		}
		asks, answers := map[string]bool{}, 0
		for _, m := range messages[since:] {
			if m.Role == tape.RoleAssistant {
				answers++
			}
			for _, p := range callsOf(m.Parts) {
				if tellsOneCall(p) {
					asks[p.ID] = true
				}
			}
		}
		if n.obs.OutputData.Label != "" || since == 0 {
			continue
		}
		for _, agent := range agents {
			best := of[agent]
			if answers < best.answers || answers == best.answers && best.by != nil && compareNodes(n, best.by) >= 0 {
				continue
			}
			covers := true
			for id := range ids[agent] {
				covers = covers && asks[id]
			}
			if covers {
				of[agent] = conversation{n, messages, since, answers}
			}
		}
	}
	for _, agent := range agents {
		state, known := of[agent]
		if !known {
			continue
		}
		began := slices.MinFunc(c.states, compareNodes).start // of the run itself
		if agent != nil {
			began = agent.start
		}
		place := c.placeSince(agent, 0, began)
		for k, m := range state.messages {
			if k < state.since || m.Role != tape.RoleAssistant {
				continue
			}
			c.models = append(c.models, answeredIn(state.by, state.messages, k, agent, place(newMessage(m))))
		}
	}
}

// answeredIn is the model call whose answer stands at a place of a conversation that a span recorded as its state.
func answeredIn(by *node, messages []genai.Message, at int, agent *call, when uint64) *call {
	m := messages[at]
	return &call{
		kind: tape.EventModelCall,
		obs: &genai.Observation{
			Class: genai.Model, Operation: "chat", Request: messages[:at:at], RequestLabel: tape.Recovered,
			Response: []genai.Message{m}, ResponseLabel: tape.Recovered, FinishReasons: finish(m),
		},
		agent: agent,
		start: when, end: when,
		notes: []genai.Note{{Code: tape.CodeModelCallHidden, Detail: "no span reports this call; the state of " + by.span.Name() + " holds its answer"}},
	}
}

// readState reads the state of a span. The step of a graph may return what it adds alone: that follows what it was given.
func readState(n *node) *recordedState {
	s := &recordedState{n: n, messages: conversationIn(n.obs.OutputData)}
	given := 0
	handed := conversationIn(n.obs.InputData)
	for _, m := range handed {
		if m.Role == tape.RoleAssistant {
			given++
		}
	}
	if n.obs.Class == genai.Structure && len(handed) > 0 && handed[0].Role != tape.RoleAssistant && len(s.messages) > 0 && s.messages[0].Role == tape.RoleAssistant {
		s.messages = slices.Concat(handed, s.messages)
	}
	if len(s.messages) > 0 && s.messages[len(s.messages)-1].Role == tape.RoleUser {
		return s // put together for a model: all answers in it were given before
	}
	for i, m := range s.messages {
		if m.Role == tape.RoleAssistant {
			if given--; given < 0 && i > 0 {
				s.answers = append(s.answers, i)
			}
		}
	}
	return s
}

// partOf reports that all answers of a state are among those of another one, in their order.
func (s *recordedState) partOf(of *recordedState) bool {
	rest := of.answers
	for _, i := range s.answers {
		id := newMessage(s.messages[i]).id
		at := slices.IndexFunc(rest, func(k int) bool { return newMessage(of.messages[k]).id == id })
		if at < 0 {
			return false
		}
		rest = rest[at+1:]
	}
	return true
}

// times places the answers of a state within its span: evenly, and around the nested agents that they asked.
func (s *recordedState) times() []uint64 {
	times := make([]uint64, len(s.answers))
	for k := range times {
		times[k] = s.n.start
		if k > 0 {
			times[k] += (s.n.end - s.n.start) / uint64(len(times)-1) * uint64(k)
		}
	}
	slices.SortStableFunc(s.inner, func(a, b *recordedState) int { return compareNodes(a.n, b.n) })
	for _, inner := range s.inner {
		asked := s.askedFor(inner, times)
		for k := range times {
			if k <= asked {
				times[k] = min(times[k], inner.n.start)
			} else {
				times[k] = max(times[k], inner.n.end)
			}
		}
	}
	return times
}

// askedFor returns which answer asked for a nested agent: the one whose tool returned what the agent answered, else the last one before it.
func (s *recordedState) askedFor(inner *recordedState, times []uint64) int {
	said := newMessage(inner.messages[inner.answers[len(inner.answers)-1]])
	last := 0
	for k, i := range s.answers {
		for _, m := range s.messages[i+1:] {
			if m.Role == tape.RoleAssistant {
				break
			}
			if slices.ContainsFunc(m.Parts, func(p genai.Part) bool { return p.Type == tape.PartToolResult && saysResult(said, p) }) {
				return k
			}
		}
		if times[k] <= inner.n.start {
			last = k
		}
	}
	return last
}

// saysResult reports a tool result that is what a message says.
func saysResult(said *message, p genai.Part) bool {
	text := textOf(said)
	return text != "" && p.Result.Kind() == exactjson.String && strings.TrimSpace(p.Result.Str()) == text
}

// delegateRecovered ties nested agents that were recovered from their states to the calls that returned what they answered.
func (c *collector) delegateRecovered() {
	for _, agent := range c.agents {
		said := c.returned[agent]
		if said == nil || agent.via != nil {
			continue
		}
		for _, t := range c.tools {
			if t.holds == nil && len(t.nodes) == 0 && t.agent == agent.agent && t.start <= agent.start && t.by.shown != nil && saysResult(said, *t.by.shown) {
				agent.via, t.holds = t, agent
				break
			}
		}
	}
}

func finish(m genai.Message) []string {
	if m.FinishReason == "" {
		return nil
	}
	return []string{m.FinishReason}
}

// modelInStates is the one model that Ollama's responses name in the states of steps. Spans of its calls may name a class instead (OpenLIT of LangChain.js).
func (c *collector) modelInStates() (model string) {
	names := map[string]bool{}
	for _, n := range c.states[:min(len(c.states), maxTranscripts)] {
		decode.OllamaModels(n.obs.OutputData.Value, names)
	}
	for name := range names {
		if model = name; len(names) > 1 {
			return ""
		}
	}
	return model
}
