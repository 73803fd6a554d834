// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/tape"
)

// byShownCalls unites a part with the run whose call, or whose result, its requests show among what was said
// since the last user message, and which goes on with it.
//
// Needs: an id that one answer alone has given first, in a request that does not repeat the one before: a
// history was compacted, or the provider keeps the conversation and is sent what is new.
// Refuses: another service or conversation; an answer that another call goes on with.
// Seen in: the Responses API with previous_response_id.
func (s *stitcher) byShownCalls() {
	open := map[string][]*turn{}
	for t := range s.turns() {
		if ids := chat.IdsOf(t.n.Asks()); !t.done && len(ids) > 0 {
			open[ids[0]] = append(open[ids[0]], t)
		}
	}
	for _, f := range s.all {
		if f.OwnRun() {
			continue
		}
		for _, m := range chat.SinceUser(f.longest()) {
			for _, p := range m.Parts {
				if p.Type == tape.PartToolCall || p.Type == tape.PartToolResult {
					s.goOnAfter(chat.Only(open[p.ID]), p.ID, f)
				}
			}
		}
	}
}

// goOnAfter proposes that a part goes on with the turn that asked for the call of an id.
func (s *stitcher) goOnAfter(t *turn, id string, f *part) {
	if t == nil || t.done || len(id) < chat.MinQuoted || s.find(t.f) == s.find(f) {
		return
	}
	if first := f.turns[0].n; s.sameService(t.f, f) && s.oneConversation(t.f, t.n, f, first) && s.propose(f, fragment.ByCall, t.f) {
		s.after(t.f, t.n, f, first)
		t.done = true
	}
}
