// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
)

// maxToolTime is how long after an answer that asked for tools a request may come that goes on with it and
// shows nothing of them, in ns.
const maxToolTime = 10 * 60 * 1_000_000_000

// byRepeat unites a model call with the run that it goes on with where calls and results are left out of what
// is sent or recorded: it repeats the request before word for word.
//
// Needs: an answer before that asked for tools and shows none, or says nothing. Behind a step that failed the
// framework leaves out calls that were recorded too, and says so at the end of the request.
// Refuses: several runs that wait so; another conversation; the same trace; more than ten minutes.
// Seen in: OpenLIT on a provider's SDK without a span around it; smolagents.
func (s *stitcher) byRepeat() {
	type key struct {
		service, first, last string
		length               int
	}
	waiting := map[key][]*turn{}
	for _, t := range s.looseTurns() {
		if len(t.sent) == 0 {
			continue
		}
		first, last := t.sent[0], t.sent[len(t.sent)-1]
		k := key{t.service, chat.WithoutTail(first), chat.WithoutTail(last), len(t.sent)}
		waiting[k] = slices.DeleteFunc(waiting[k], func(o *turn) bool {
			return s.find(o.f) == s.find(t.f) || o.n.End+maxToolTime < t.n.Start
		})
		fit := slices.DeleteFunc(slices.Clone(waiting[k]), func(o *turn) bool {
			return !t.retries() && !(o.unsaid() && o.sent[0].ID == first.ID && o.sent[len(o.sent)-1].ID == last.ID)
		})
		before := s.onlyTurn(t.f, fit)
		if before != nil && endsBefore(before.n, t.n) && s.otherTrace(before.f, t.f) && s.oneConversation(before.f, before.n, t.f, t.n) {
			s.propose(t.f, fragment.ByConversation, before.f)
			waiting[k] = slices.DeleteFunc(waiting[k], func(o *turn) bool { return o == before })
		}
		if (t.unsaid() || t.asksForTools()) && !t.done {
			waiting[k] = append(waiting[k], t)
		}
	}
}
