// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// SortStates puts the innermost states first.
func SortStates(c *ledger.Ledger) {
	slices.SortStableFunc(c.States, func(a, b *spantree.Node) int { return cmp.Compare(a.End-a.Start, b.End-b.Start) })
}

// ReadTranscripts completes answers of model calls from the state around them, the innermost first.
//
// Needs: a model call whose tool calls are not known, and a state whose last answers have the texts of the
// answers on record.
// Refuses: a state with fewer answers than model calls.
// Seen in: packages that leave calls out of the answer and of every later request, or record no answer with
// calls.
func ReadTranscripts(c *ledger.Ledger) {
	for _, n := range c.ReadStates() {
		var models []*ledger.Call
		for _, m := range c.Models {
			if c.Transcripts[m].Messages == nil && n.Start <= m.Start && m.End <= n.End && (m.Response != nil || !ledger.FailedCall(m)) {
				models = append(models, m)
			}
		}
		if slices.ContainsFunc(models, ledger.LacksCalls) {
			readTranscript(c, n.Obs.OutputData, models)
		}
	}
	for m, t := range c.Transcripts {
		complete(t, m)
	}
}

// readTranscript takes the last answers of a state as those of model calls, if their texts are the same.
func readTranscript(c *ledger.Ledger, state genai.Content, models []*ledger.Call) {
	messages := chat.ConversationOfState(state)
	var said []int
	for i, m := range messages {
		if m.Tape.Role == tape.RoleAssistant {
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
		c.Transcripts[m] = ledger.Transcript{Messages: messages, Answer: said[k]}
	}
}

// mayHaveSaid reports a message that does not contradict the recorded text of an answer.
func mayHaveSaid(m *ledger.Call, said *chat.Message) bool {
	return m.Response == nil || chat.SaysNothing(m.Response) || chat.TextOf(said) == chat.TextOf(m.Response)
}

// complete gives a model call its answer in a transcript, where it has none or the one on record lacks its
// calls.
func complete(t ledger.Transcript, m *ledger.Call) {
	said := t.Messages[t.Answer]
	switch {
	case m.Response == nil:
		m.Response, m.Recovered = said, true
	case ledger.LacksCalls(m) && chat.HasToolCall(said):
		m.Response, m.Enriched = said, true
	}
}

// ResultsIn takes the results that a transcript shows for calls of which no request shows one.
func ResultsIn(t ledger.Transcript, m *ledger.Call) {
	var results []*genai.Part
	for _, msg := range t.Messages[min(t.Answer+1, len(t.Messages)):] {
		if msg.Tape.Role == tape.RoleAssistant {
			break
		}
		results = append(results, ledger.Results(msg)...)
	}
	for _, r := range results {
		showByID(m, r)
	}
	ledger.ShowByPosition(m, results, nil)
}

// showByID gives a result without a request to the call of its id, unless a request shows one.
func showByID(t *ledger.Call, r *genai.Part) {
	for _, a := range t.Asked {
		if a.Shown == nil && r.ID != "" && r.ID == a.Part.ID {
			a.Show(r, nil)
		}
	}
}
