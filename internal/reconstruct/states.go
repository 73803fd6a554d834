// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"maps"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// maxTranscripts bounds how many recorded values are read in search of answers.
const maxTranscripts = 256

// readStates are the agents and steps whose recorded outputs are read.
func (c *collector) readStates() []*node { return c.states[:min(len(c.states), maxTranscripts)] }

// conversationIn is the conversation in a recorded value, without what a framework says again of an answer by
// a call. Where the last message of a cut value ends is not known, so it is left out. A cut result of which
// nothing is left was recorded together with its call, as in messages for a page; then the cut is in the
// call.
func conversationIn(c genai.Content) []genai.Message {
	messages := decode.Transcript(c.Value)
	n := len(messages)
	switch {
	case c.Label != tape.Truncated || n == 0:
		if echo(messages) != nil {
			n -= 2
		}
	case n > 1 && endsInLostResult(messages[n-1]):
		n -= 2
	default:
		n--
	}
	return messages[:n]
}

func endsInLostResult(m genai.Message) bool {
	if len(m.Parts) == 0 {
		return false
	}
	p := m.Parts[len(m.Parts)-1]
	return p.Type == tape.PartToolResult && p.Result.IsAbsent()
}

// conversationOfState are the messages of a recorded value, as requests hold them.
func conversationOfState(c genai.Content) (messages []*message) {
	for _, m := range conversationIn(c) {
		messages = append(messages, newMessage(m))
	}
	return messages
}

// lacksCalls reports a model call whose tool calls are not known: it ended by asking for tools, does not say
// why it ended, or has no recorded answer.
func lacksCalls(m *call) bool {
	if m.response == nil {
		return !m.obs.Failed
	}
	reasons := m.obs.FinishReasons
	return !hasToolCall(m.response) && (len(reasons) == 0 || slices.ContainsFunc(reasons, tape.AsksForTools))
}

// recordedState is a conversation that the span of an agent or of a step recorded as its state.
type recordedState struct {
	n        *node
	messages []genai.Message
	answers  []int // places of the answers that the span was not given
	agent    *call // nil at the run's own level
	inner    []*recordedState
}

// readState reads the state of a span. The step of a graph may return what it adds alone: that follows its
// input. A conversation that ends with a user was put together for a model: all its answers were given
// before.
func readState(n *node) *recordedState {
	s := &recordedState{n: n, messages: conversationIn(n.obs.OutputData)}
	handed := conversationIn(n.obs.InputData)
	given := count(handed, isAssistant)
	if n.obs.Class == genai.Structure && len(handed) > 0 && !isAssistant(handed[0]) && len(s.messages) > 0 && isAssistant(s.messages[0]) {
		s.messages = slices.Concat(handed, s.messages)
	}
	if len(s.messages) > 0 && s.messages[len(s.messages)-1].Role == tape.RoleUser {
		return s
	}
	for i, m := range s.messages {
		if !isAssistant(m) {
			continue
		}
		if given--; given < 0 && i > 0 {
			s.answers = append(s.answers, i)
		}
	}
	return s
}

func isAssistant(m genai.Message) bool { return m.Role == tape.RoleAssistant }

// lastAnswer is what a state with answers ends with.
func (s *recordedState) lastAnswer() *message {
	return newMessage(s.messages[s.answers[len(s.answers)-1]])
}

// partOf reports that all answers of a state are among those of another one, in order.
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

// askedFor is the answer that asked for a nested agent: the one whose tool returned what the agent answered,
// else the last one before the agent.
func (s *recordedState) askedFor(inner *recordedState, times []uint64) (last int) {
	said := inner.lastAnswer()
	for k, i := range s.answers {
		for _, m := range s.messages[i+1:] {
			if isAssistant(m) {
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

// saysResult reports a tool result that is the text of a message.
func saysResult(said *message, p genai.Part) bool {
	text := textOf(said)
	return text != "" && p.Result.Kind() == exactjson.String && strings.TrimSpace(p.Result.Str()) == text
}

// modelInStates is the only model that the responses of a server of local models name in the states of steps.
// Spans of its calls may name a class instead.
func (c *collector) modelInStates() (model string) {
	names := map[string]bool{}
	for _, n := range c.readStates() {
		decode.OllamaModels(n.obs.OutputData.Value, names)
	}
	return onlyOne(slices.Collect(maps.Keys(names)))
}
