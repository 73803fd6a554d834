// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// transcript is a conversation that an agent or a step of its graph recorded, with the place of one answer in
// it.
type transcript struct {
	messages []*message
	answer   int
}

// sortStates puts the innermost states first.
func (c *collector) sortStates() {
	slices.SortStableFunc(c.states, func(a, b *node) int { return cmp.Compare(a.end-a.start, b.end-b.start) })
}

// readTranscripts completes answers of model calls from the state around them, the innermost first.
//
// Needs: a model call whose tool calls are not known, and a state whose last answers have the texts of the
// answers on record.
// Refuses: a state with fewer answers than model calls.
// Seen in: packages that leave calls out of the answer and of every later request, or record no answer with
// calls.
func (c *collector) readTranscripts() {
	for _, n := range c.readStates() {
		var models []*call
		for _, m := range c.models {
			if c.transcripts[m].messages == nil && n.start <= m.start && m.end <= n.end && (m.response != nil || !failedCall(m)) {
				models = append(models, m)
			}
		}
		if slices.ContainsFunc(models, lacksCalls) {
			c.readTranscript(n.obs.OutputData, models)
		}
	}
	for m, t := range c.transcripts {
		t.complete(m)
	}
}

// readTranscript takes the last answers of a state as those of model calls, if their texts are the same.
func (c *collector) readTranscript(state genai.Content, models []*call) {
	messages := conversationOfState(state)
	var said []int
	for i, m := range messages {
		if m.tape.Role == tape.RoleAssistant {
			said = append(said, i)
		}
	}
	if len(said) < len(models) {
		return
	}
	said = said[len(said)-len(models):]
	for k, m := range models {
		if !mayHaveSaid(m, messages[said[k]]) {
			return
		}
	}
	for k, m := range models {
		c.transcripts[m] = transcript{messages, said[k]}
	}
}

// mayHaveSaid reports a message that does not contradict the recorded text of an answer.
func mayHaveSaid(m *call, said *message) bool {
	return m.response == nil || saysNothing(m.response) || textOf(said) == textOf(m.response)
}

// complete gives a model call its answer in a transcript, where it has none or the one on record lacks its
// calls.
func (t transcript) complete(m *call) {
	said := t.messages[t.answer]
	switch {
	case m.response == nil:
		m.response, m.recovered = said, true
	case lacksCalls(m) && hasToolCall(said):
		m.response, m.enriched = said, true
	}
}

// resultsIn takes the results that a transcript shows for calls of which no request shows one.
func (t transcript) resultsIn(m *call) {
	var results []*genai.Part
	for _, msg := range t.messages[min(t.answer+1, len(t.messages)):] {
		if msg.tape.Role == tape.RoleAssistant {
			break
		}
		results = append(results, msg.results()...)
	}
	for _, r := range results {
		m.showByID(r)
	}
	showByPosition(m, results, nil)
}

// showByID gives a result without a request to the call of its id, unless a request shows one.
func (t *call) showByID(r *genai.Part) {
	for _, a := range t.asked {
		if a.shown == nil && r.ID != "" && r.ID == a.part.ID {
			a.show(r, nil)
		}
	}
}
