// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// stitcher decides which parts are one run. Rules propose; nothing else unites parts. No union is taken back.
type stitcher struct {
	all   []*part // in order of time
	facts joinFacts
	run   *rule.Run
	rule  rule.ID // of the rule whose proposals come

	calls *askings           // see asked
	ends  map[string][]*turn // by trace, see ended
	lost  map[string][]*turn // by the text of their answer, see handedOn

	hearings map[string][]hearing // see heard
}

// Why a run was refused.
const (
	severalFit     = "several runs fit"
	severalClaim   = "several parts fit"
	serviceDiffers = "another service"
	sharesTrace    = "the same trace"
	othersTalk     = "another conversation"
)

func (s *stitcher) refuse(f *part, why string, runs ...*part) (taken bool) {
	if s.run.Explain {
		s.decide(f, rule.Refused, names(runs), why)
	}
	return false
}

func (s *stitcher) decide(f *part, field, was, now string) {
	s.run.Decisions = append(s.run.Decisions, rule.Decision{Rule: s.rule, Of: f.Fragment, Field: field, Was: was, Now: now})
}

// names lists parts by their traces and the spans that name them.
func names(parts []*part) string {
	var out []string
	for _, f := range parts {
		out = append(out, f.Traces[0]+"-"+f.RootID())
	}
	return strings.Join(out, " ")
}

// propose says that a part belongs to one of some runs, each named by any of its parts. It is taken where
// these are one run: of several that fit equally well, none is known to be the one.
func (s *stitcher) propose(f *part, why string, runs ...*part) (taken bool) {
	first, later := s.sole(f, runs...), s.find(f)
	if first == nil {
		return false
	}
	if first != later {
		if later.place < first.place {
			first, later = later, first
		}
		later.above = first
		first.whys = append(append(first.whys, later.whys...), why)
		s.run.Mark(s.rule, first.Fragment)
		s.run.Mark(s.rule, later.Fragment)
		if s.run.Explain {
			s.decide(f, "run", names([]*part{later}), names([]*part{first})+", by "+why)
		}
	}
	return true
}

// sole is the first part of the run that some parts belong to, nil where these are of several runs.
func (s *stitcher) sole(f *part, runs ...*part) *part {
	if len(runs) == 0 {
		return nil
	}
	run := s.find(runs[0])
	for _, g := range runs[1:] {
		if s.find(g) != run {
			s.refuse(f, severalFit, runs...)
			return nil
		}
	}
	return run
}

// onlyTurn is the only model call that fits a part, nil where there are several, be they of one run.
func (s *stitcher) onlyTurn(f *part, fit []*turn) *turn {
	if len(fit) > 1 {
		for _, t := range fit {
			s.refuse(f, severalFit, t.f)
		}
	}
	return chat.Only(fit)
}

// claim says that a part belongs to a run, where one part alone can be what fits: a second report of a call,
// say.
type claim[T comparable] struct {
	part, run *part
	of        T
}

// proposeClaims proposes what is claimed once, and returns that.
func proposeClaims[T comparable](s *stitcher, why string, claims []claim[T]) (taken []claim[T]) {
	times := map[T]int{}
	for _, c := range claims {
		times[c.of]++
	}
	for _, c := range claims {
		if times[c.of] > 1 {
			s.refuse(c.part, severalClaim, c.run)
		} else if s.propose(c.part, why, c.run) {
			taken = append(taken, c)
		}
	}
	return taken
}

// prefer leaves of a list what is better, if there is any.
func prefer[T any](list []T, better func(T) bool) []T {
	if some := slices.DeleteFunc(slices.Clone(list), func(one T) bool { return !better(one) }); len(some) > 0 {
		return some
	}
	return list
}

// find returns the first part of the run to which a part belongs.
func (s *stitcher) find(f *part) *part {
	for f.above != nil {
		f = f.above
	}
	return f
}

// joined reports a part that is one of several of a run already.
func (s *stitcher) joined(f *part) bool { return f.above != nil || len(f.whys) > 0 }

// runs are the runs as far as they are known, and the parts of each, in order of time.
func (s *stitcher) runs() (runs [][]*part) {
	at := make([]int, len(s.all))
	for _, f := range s.all {
		first := s.find(f)
		if first == f {
			at[f.place] = len(runs)
			runs = append(runs, nil)
		}
		i := at[first.place]
		runs[i] = append(runs[i], f)
	}
	return runs
}

// sameService reports that two parts may be of one run by their services.
func (s *stitcher) sameService(run, f *part) bool {
	return run.service == f.service || s.refuse(f, serviceDiffers, run)
}

// otherTrace reports that two parts may be of one run where the parts of a trace hang together already.
func (s *stitcher) otherTrace(run, f *part) bool {
	return !sameTrace(run, f) || s.refuse(f, sharesTrace, run)
}

// oneConversation reports that two spans may be of one run by the ids of their conversations.
func (s *stitcher) oneConversation(run *part, a *spantree.Node, f *part, b *spantree.Node) bool {
	x, y := a.Obs.ConversationID, b.Obs.ConversationID
	return x == "" || y == "" || x == y || s.refuse(f, othersTalk, run)
}

func sameTrace(a, b *part) bool {
	return slices.ContainsFunc(a.Traces, func(t string) bool { return slices.Contains(b.Traces, t) })
}

// atMost is a list without what is beyond a bound.
func atMost[T any](list []T, n int) []T { return list[:min(len(list), n)] }
