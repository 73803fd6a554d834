// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape"
)

// DropEarlierAnswers takes out of an answer the answers before it.
//
// Needs: a call with the drawn id of one that an earlier answer asked for, and more behind it, or calls of
// several answers.
// Refuses: an answer that is all of one earlier answer, unless the call failed: it may come from a cache.
// Seen in: Strands under OpenInference's processor 0.1.2, which writes down all that was said since the user
// spoke.
func DropEarlierAnswers(c *ledger.Ledger) {
	models := slices.Clone(c.Models)
	slices.SortStableFunc(models, ledger.CompareCalls)
	first := map[string]*ledger.Call{} // which model call asked for the call of an id
	for _, m := range models {
		if m.Response == nil || len(m.Obs.Response) == 0 {
			continue
		}
		parts, from, earlier := m.Response.Parts, 0, map[*ledger.Call]bool{}
		for i := range parts {
			p := &parts[i]
			if p.Type != tape.PartToolCall || !chat.TellsOneCall(p) {
				continue
			}
			switch before := first[p.ID]; {
			case before == nil:
				first[p.ID] = m
			case before != m && before.End <= m.Start+spantree.ClockSlack:
				from, earlier[before] = i+1, true
			}
		}
		if from > 0 && (from < len(parts) || len(earlier) > 1 || m.Obs.StatusError) {
			answerFrom(m, parts[from:])
		}
	}
}

// answerFrom leaves of an answer its last parts alone.
func answerFrom(t *ledger.Call, parts []genai.Part) {
	o := t.Obs.Draft()
	o.Response, t.Response = nil, nil
	if len(parts) > 0 {
		said := t.Obs.Response[0]
		said.Parts = slices.Clone(parts)
		o.Response, t.Response = []genai.Message{said}, chat.NewMessage(said)
	}
	t.Obs = o.Seal()
}
