// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// dropEarlierAnswers takes out of an answer the answers before it.
//
// Needs: a call with the drawn id of one that an earlier answer asked for, and more behind it, or calls of
// several answers.
// Refuses: an answer that is all of one earlier answer, unless the call failed: it may come from a cache.
// Seen in: Strands under OpenInference's processor 0.1.2, which writes down all that was said since the user
// spoke.
func (c *collector) dropEarlierAnswers() {
	models := slices.Clone(c.models)
	slices.SortStableFunc(models, compareCalls)
	first := map[string]*call{} // which model call asked for the call of an id
	for _, m := range models {
		if m.response == nil || len(m.obs.Response) == 0 {
			continue
		}
		parts, from, earlier := m.response.parts, 0, map[*call]bool{}
		for i := range parts {
			p := &parts[i]
			if p.Type != tape.PartToolCall || !tellsOneCall(p) {
				continue
			}
			switch before := first[p.ID]; {
			case before == nil:
				first[p.ID] = m
			case before != m && before.end <= m.start+clockSlack:
				from, earlier[before] = i+1, true
			}
		}
		if from > 0 && (from < len(parts) || len(earlier) > 1 || m.obs.StatusError) {
			m.answerFrom(parts[from:])
		}
	}
}

// answerFrom leaves of an answer its last parts alone.
func (t *call) answerFrom(parts []genai.Part) {
	o := *t.obs
	o.Response, t.response = nil, nil
	if len(parts) > 0 {
		said := t.obs.Response[0]
		said.Parts = slices.Clone(parts)
		o.Response, t.response = []genai.Message{said}, newMessage(said)
	}
	t.obs = &o
}
