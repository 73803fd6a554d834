// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// loopsOver reports a model span that stands for a loop and for the first call in it: the one inside it is a
// later call.
//
// Needs: an inner request that repeats the outer one and holds an answer since; without any request, two
// spans of one name and instrumentation that tell the same answer.
// Refuses: an answer in the inner request that is the answer of both: the program appended it to the list it
// had sent.
// Seen in: streams that end with the loop that reads them.
func loopsOver(outer, inner *node) bool {
	sent, again := afterSystem(outer.request()), afterSystem(inner.request())
	if len(sent)+len(again) == 0 {
		return sameAnswer(outer, inner) && outer.scope == inner.scope && outer.source.Span.Name() == inner.source.Span.Name() && below(inner, outer)
	}
	if len(sent) == 0 || len(again) <= len(sent) || commonPrefix(sent, again) != len(sent) || again[len(sent)].tape.Role != tape.RoleAssistant {
		return false
	}
	return !sameAnswer(outer, inner) || !asksAs(again[len(sent)], outer.obs.Response)
}

// asksAs reports a message with a call of an answer, by an id that no other call has.
func asksAs(m *message, answer []genai.Message) bool {
	return slices.ContainsFunc(answer, func(said genai.Message) bool { return asksOne(m.parts, drawnIDs(said.Parts)) })
}

// sameAnswer reports two model calls with the id of one answer.
func sameAnswer(a, b *node) bool {
	return a.obs.ResponseID != "" && a.obs.ResponseID == b.obs.ResponseID
}

// hide takes from the span of a loop what it tells of the last call of the loop.
func (t *call) hide(last *node) {
	o := *t.obs
	if o.ResponseID == last.obs.ResponseID {
		o.ResponseID, o.FinishReasons, o.Usage = "", nil, tape.Usage{}
	}
	o.Response = nil
	t.obs, t.end = &o, min(t.end, last.start)
	t.note(tape.CodeModelCallHidden, "", "the span stands for a loop of model calls and holds the answer of the last")
}
