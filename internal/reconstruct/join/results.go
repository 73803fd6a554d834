// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/tape"
)

// callsLost stands for the number of calls of an answer that lost them beside its text.
const callsLost = -1

// byResults unites a model call whose request holds nothing but results with the run that waits for them: the
// provider keeps the conversation.
//
// Needs: one run whose last answer, under the same instructions, asked for as many calls, whose ids are of
// another kind than those of the results; or lost the calls beside its text.
// Refuses: the id of a call that is known; several runs; another conversation; the same trace; more than ten
// minutes.
// Seen in: Traceloop with the Responses API, which records the ids of items of an answer.
func (s *stitcher) byResults() {
	type key struct {
		service, system string
		calls           int
	}
	waiting, last := map[key][]*turn{}, map[*part]*turn{}
	for _, t := range s.looseTurns() {
		system := ""
		for _, m := range t.n.Request()[:len(t.n.Request())-len(t.sent)] {
			system += m.ID
		}
		ids := resultsAlone(t)
		if len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool { return len(s.asked().byID[id]) > 0 }) {
			var fit []*turn
			for _, k := range []key{{t.service, system, len(ids)}, {t.service, system, callsLost}} {
				waiting[k] = slices.DeleteFunc(waiting[k], func(o *turn) bool { return last[s.find(o.f)] != o || o.n.End+maxToolTime < t.n.Start })
				for _, o := range atMost(waiting[k], maxAskings) {
					if s.find(o.f) != s.find(t.f) && endsBefore(o.n, t.n) && idsDiffer(o, ids) && s.oneConversation(o.f, o.n, t.f, t.n) {
						fit = append(fit, o)
					}
				}
			}
			if o := s.onlyTurn(t.f, fit); o != nil && s.otherTrace(o.f, t.f) && s.propose(t.f, fragment.ByConversation, o.f) {
				s.after(o.f, o.n, t.f, t.n)
			}
		}
		last[s.find(t.f)] = t
		calls := len(t.n.Asks())
		if calls == 0 && len(t.n.Obs.Response) > 0 && t.n.Obs.Quirks.Has(genai.OmitsCalls) {
			calls = callsLost
		}
		if calls != 0 {
			k := key{t.service, system, calls}
			waiting[k] = append(waiting[k], t)
		}
	}
}

// resultsAlone lists the ids of the results that a request consists of; none when it holds anything else.
func resultsAlone(t *turn) (ids []string) {
	for _, m := range t.sent {
		for i := range m.Parts {
			if m.Parts[i].Type != tape.PartToolResult {
				return nil
			}
			ids = append(ids, m.Parts[i].ID)
		}
	}
	return ids
}

// idsDiffer reports that none of the ids is of the kind of those that an answer asked with.
func idsDiffer(t *turn, ids []string) bool {
	asked := t.n.Asks()
	return len(asked) == 0 || !slices.ContainsFunc(ids, func(id string) bool { return !chat.OtherKind(asked[0].ID, id) })
}
