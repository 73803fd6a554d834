// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/genai"
	"github.com/tapedeck/tapedeck/internal/genai/decode"
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

// readTranscripts completes the answers of model calls from what agents and steps recorded as their state when they ended, the innermost
// first. Some packages leave the calls out of the answer and of every later request.
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
			c.readTranscript(n.obs.OutputData.Value, models)
		}
	}
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

// readTranscript reads a recorded state. Its last assistant messages are the answers of the model calls, if their texts are the same.
func (c *collector) readTranscript(state exactjson.Value, models []*call) {
	var messages []*message
	var said []int
	for i, m := range decode.Transcript(state) {
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
		if m.response != nil && textOf(m.response) != textOf(messages[said[k]]) {
			return
		}
	}
	for k, m := range models {
		c.transcripts[m] = transcript{messages, said[k]}
	}
}

// lacksCalls reports a model call that ended by asking for tools, or of which no answer was recorded, and whose calls are unknown.
func lacksCalls(m *call) bool {
	return m.response == nil && !m.obs.Failed || m.response != nil && !hasToolCall(m.response) && slices.ContainsFunc(m.obs.FinishReasons, tape.AsksForTools)
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

// recoverModels makes model calls of a run without any call of its own, from the state that its outermost span recorded. It makes
// one for each answer that the state holds beyond what the span was given.
func (c *collector) recoverModels() {
	if len(c.models)+len(c.tools)+len(c.retrievals) > 0 {
		return
	}
	for _, n := range slices.Backward(slices.SortedStableFunc(slices.Values(c.states), func(a, b *node) int { return cmp.Compare(a.end-a.start, b.end-b.start) })) {
		messages := decode.Transcript(n.obs.OutputData.Value)
		given := 0
		for _, m := range decode.Transcript(n.obs.InputData.Value) {
			if m.Role == tape.RoleAssistant {
				given++
			}
		}
		for i, m := range messages {
			if m.Role != tape.RoleAssistant {
				continue
			}
			if given--; given >= 0 || i == 0 {
				continue
			}
			at := n.start + uint64(i)
			c.models = append(c.models, &call{
				kind: tape.EventModelCall,
				obs: &genai.Observation{
					Class: genai.Model, Operation: "chat", Request: messages[:i:i], RequestLabel: tape.Recovered,
					Response: []genai.Message{m}, ResponseLabel: tape.Recovered, FinishReasons: finish(m),
				},
				start: at, end: at,
				notes: []genai.Note{{Code: tape.CodeModelCallHidden, Detail: "no span reports this call; the state of " + n.span.Name() + " holds its answer"}},
			})
		}
		if len(c.models) > 0 {
			return
		}
	}
}

func finish(m genai.Message) []string {
	if m.FinishReason == "" {
		return nil
	}
	return []string{m.FinishReason}
}
