// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"maps"
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// ReadStates are the agents and steps whose recorded outputs are read.
func (c *Ledger) ReadStates() []*spantree.Node {
	return c.States[:min(len(c.States), chat.MaxTranscripts)]
}

// LacksCalls reports a model call whose tool calls are not known: it ended by asking for tools, does not say
// why it ended, or has no recorded answer.
func LacksCalls(m *Call) bool {
	if m.Response == nil {
		return !m.Obs.Failed
	}
	reasons := m.Obs.FinishReasons
	return !chat.HasToolCall(m.Response) && (len(reasons) == 0 || slices.ContainsFunc(reasons, tape.AsksForTools))
}

// RecordedState is a conversation that the span of an agent or of a step recorded as its state.
type RecordedState struct {
	N        *spantree.Node
	Messages []genai.Message
	Answers  []int // places of the answers that the span was not given
	Agent    *Call // nil at the run's own level
	Inner    []*RecordedState
}

// ReadState reads the state of a span. The step of a graph may return what it adds alone: that follows its
// input. A conversation that ends with a user was put together for a model: all its answers were given
// before.
func ReadState(n *spantree.Node) *RecordedState {
	s := &RecordedState{N: n, Messages: chat.ConversationIn(n.Obs.OutputData)}
	handed := chat.ConversationIn(n.Obs.InputData)
	given := chat.Count(handed, IsAssistant)
	if n.Obs.Class == genai.Structure && len(handed) > 0 && !IsAssistant(handed[0]) && len(s.Messages) > 0 && IsAssistant(s.Messages[0]) {
		s.Messages = slices.Concat(handed, s.Messages)
	}
	if len(s.Messages) > 0 && s.Messages[len(s.Messages)-1].Role == tape.RoleUser {
		return s
	}
	for i, m := range s.Messages {
		if !IsAssistant(m) {
			continue
		}
		if given--; given < 0 && i > 0 {
			s.Answers = append(s.Answers, i)
		}
	}
	return s
}

func IsAssistant(m genai.Message) bool { return m.Role == tape.RoleAssistant }

// LastAnswer is what a state with answers ends with.
func (s *RecordedState) LastAnswer() *chat.Message {
	return chat.NewMessage(s.Messages[s.Answers[len(s.Answers)-1]])
}

// PartOf reports that all answers of a state are among those of another one, in order.
func (s *RecordedState) PartOf(of *RecordedState) bool {
	rest := of.Answers
	for _, i := range s.Answers {
		id := chat.NewMessage(s.Messages[i]).ID
		at := slices.IndexFunc(rest, func(k int) bool { return chat.NewMessage(of.Messages[k]).ID == id })
		if at < 0 {
			return false
		}
		rest = rest[at+1:]
	}
	return true
}

// Times places the answers of a state within its span: evenly, and around the nested agents that they asked.
func (s *RecordedState) Times() []uint64 {
	times := make([]uint64, len(s.Answers))
	for k := range times {
		times[k] = s.N.Start
		if k > 0 {
			times[k] += (s.N.End - s.N.Start) / uint64(len(times)-1) * uint64(k)
		}
	}
	slices.SortStableFunc(s.Inner, func(a, b *RecordedState) int { return spantree.CompareNodes(a.N, b.N) })
	for _, inner := range s.Inner {
		asked := s.askedFor(inner, times)
		for k := range times {
			if k <= asked {
				times[k] = min(times[k], inner.N.Start)
			} else {
				times[k] = max(times[k], inner.N.End)
			}
		}
	}
	return times
}

// askedFor is the answer that asked for a nested agent: the one whose tool returned what the agent answered,
// else the last one before the agent.
func (s *RecordedState) askedFor(inner *RecordedState, times []uint64) (last int) {
	said := inner.LastAnswer()
	for k, i := range s.Answers {
		for _, m := range s.Messages[i+1:] {
			if IsAssistant(m) {
				break
			}
			if slices.ContainsFunc(m.Parts, func(p genai.Part) bool { return p.Type == tape.PartToolResult && SaysResult(said, p) }) {
				return k
			}
		}
		if times[k] <= inner.N.Start {
			last = k
		}
	}
	return last
}

// SaysResult reports a tool result that is the text of a message.
func SaysResult(said *chat.Message, p genai.Part) bool {
	text := chat.TextOf(said)
	return text != "" && p.Result.Kind() == exactjson.String && strings.TrimSpace(p.Result.Str()) == text
}

// ModelInStates is the only model that the responses of a server of local models name in the states of steps.
// Spans of its calls may name a class instead.
func (c *Ledger) ModelInStates() (model string) {
	names := map[string]bool{}
	for _, n := range c.ReadStates() {
		decode.OllamaModels(n.Obs.OutputData.Value, names)
	}
	return chat.Only(slices.Collect(maps.Keys(names)))
}
