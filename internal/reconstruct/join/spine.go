// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"cmp"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// maxOpenTurns bounds how many turns of conversations with the same beginning a request is compared with.
const maxOpenTurns = 64

// byConversation unites parts whose requests continue each other. What requests say decides which continues
// which, not their times, because clocks differ. Each turn goes on once.
//
// Needs: a request that repeats another one of the service and its answer, without a new user message.
// Refuses: a run with an agent that asked for no tool; an agent that began before the run that it would go on
// with ended.
// Seen in: steps that lost their trace context; loops without a span around them.
func (s *stitcher) byConversation() {
	type key struct{ service, opening string }
	var conversations chat.Lists[key, *turn]
	for t := range s.turns() {
		if len(t.sent) > 0 {
			conversations.Add(key{t.service, t.sent[0].ID}, t)
		}
	}
	for _, turns := range conversations.InOrder() {
		if !slices.ContainsFunc(turns, func(t *turn) bool { return t.f != turns[0].f }) {
			continue
		}
		slices.SortStableFunc(turns, func(a, b *turn) int {
			return cmp.Or(cmp.Compare(len(a.sent), len(b.sent)), compareTurns(a, b))
		})
		for _, t := range s.beginning(turns) {
			if before := s.goesOnWith(turns, t, func(a *turn) bool { return a.f != t.f && !a.done && s.mayGoOn(a, t) }); before != nil {
				before.done = before.done || !t.n.Failed()
				s.propose(t.f, fragment.ByConversation, before.f)
				s.after(before.f, before.n, t.f, t.n)
			}
		}
	}
}

// beginning are the turns that do not go on with a turn of their own part.
func (s *stitcher) beginning(turns []*turn) (first []*turn) {
	own := map[*part][]*turn{}
	for _, t := range turns {
		if before := s.goesOnWith(own[t.f], t, func(*turn) bool { return true }); before != nil {
			before.done = before.done || !t.n.Failed()
		} else {
			first = append(first, t)
		}
		own[t.f] = append(own[t.f], t)
	}
	return first
}

// goesOnWith finds the turn with which t goes on, among turns in order of their length: that with the most
// messages. Of several as long it prefers one whose calls have the ids that t repeats, then one of the same
// trace, then one that ended before t where no span stands above the two. Of several runs with a span that
// wait with the same words, none is taken.
func (s *stitcher) goesOnWith(turns []*turn, t *turn, may func(*turn) bool) *turn {
	shorter, _ := slices.BinarySearchFunc(turns, len(t.sent), func(a *turn, n int) int { return cmp.Compare(len(a.sent), n) })
	var fit []*turn
	for i := shorter - 1; i >= 0 && i >= shorter-maxOpenTurns; i-- {
		a := turns[i]
		if len(fit) > 0 && len(a.sent) < len(fit[0].sent) {
			break
		}
		if may(a) && continues(a, t) {
			fit = append(fit, a)
		}
	}
	if len(fit) < 2 {
		return chat.Only(fit)
	}
	bare := func(a *turn) bool { return a.f.Root == nil && t.f.Root == nil }
	for _, better := range []func(*turn) bool{
		func(a *turn) bool { return repeatsIDs(a.n, t) },
		func(a *turn) bool { return sameTrace(a.f, t.f) },
		func(a *turn) bool { return bare(a) && a.n.End <= t.n.Start },
	} {
		fit = prefer(fit, better)
	}
	for _, a := range fit {
		if s.find(a.f) != s.find(fit[0].f) && slices.ContainsFunc(fit, func(a *turn) bool { return !bare(a) }) {
			return nil
		}
	}
	return slices.MaxFunc(fit, compareTurns)
}

// mayGoOn reports that the part of t can belong to the run of a. Calls that nothing stands above go on with
// any. Other parts go on with a run that asked for tools or whose answer they end with. Of an agent with a
// span of its own, see afterRun.
func (s *stitcher) mayGoOn(a, t *turn) bool {
	if !s.oneConversation(a.f, a.n, t.f, t.n) {
		return false
	}
	if a.f.Root == nil && t.f.Root == nil || !a.f.OwnRun() && !t.f.OwnRun() && a.f.beside(t.f) {
		return true
	}
	said := chat.TurnAt(t.sent[len(a.sent):])
	waits := said != nil && chat.HasToolCall(said) || spantree.AsksTools(a.n) || spantree.SameAnswer(a.n, t.n)
	return waits && (!t.f.OwnRun() || afterRun(a, t))
}

// afterRun reports that the agent of t began after the run of a ended, or lies in its time. Where it seems to
// be over before the run began, the clock of its trace is behind, and what it quotes has to say so.
func afterRun(a, t *turn) bool {
	return a.f.time().end <= t.f.time().start || a.f.Root != nil && a.f.spans(t.f) ||
		!sameTrace(a.f, t.f) && t.n.End <= a.n.Start && quotes(a.n, t)
}

// quotes reports that a request repeats what a model call was answered in a way that does not come about by
// chance: the ids of its calls or, where these were not recorded with the answer, its text.
func quotes(n *spantree.Node, t *turn) bool {
	if ids := chat.IdsOf(n.Asks()); len(ids) > 0 {
		return len(ids[0]) >= chat.MinQuoted && repeatsIDs(n, t)
	}
	answer := n.Answer()
	if answer == nil {
		return false
	}
	text := chat.TextOf(answer)
	return len(text) >= chat.MinQuoted && text == chat.TextOf(afterRequest(n, t)[0])
}
