// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"math"
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// after says that a model call of one part led to a span of another. A model call was also led to by the
// tools that ran before it. Where the times say otherwise, the clock of the later part's trace is behind.
func (s *stitcher) after(f *part, cause *spantree.Node, g *part, effect *spantree.Node) {
	if sameTrace(f, g) {
		return
	}
	end := cause.End
	if effect.Obs.Class == genai.Model {
		next := uint64(math.MaxUint64)
		for _, t := range f.turns {
			if t.n.Start > cause.Start {
				next = min(next, t.n.Start)
			}
		}
		for _, n := range f.tools {
			if n.Start >= cause.Start && n.Start < next {
				end = max(end, n.End)
			}
		}
	}
	if end += f.Behind; end > effect.Start+g.Behind+spantree.ClockSlack {
		s.delay(g, end-effect.Start)
	}
}

// delay sets how far the clock of a part's trace is behind, in ns.
func (s *stitcher) delay(f *part, behind uint64) {
	for _, one := range s.all {
		if sameTrace(one, f) {
			one.Behind = behind
			for _, leaf := range one.Leaves() {
				leaf.Behind = behind
			}
		}
	}
}

// clocks finds a lower bound on how far the clock of each trace lags behind, from what the parts of a run
// hold together. A tool runs after the response that asked for it, and an agent begins after it was handed
// the conversation. A part that seems to have begun before the run did, and of which nothing says more, comes
// last.
func (s *stitcher) clocks() {
	for _, run := range s.runs() {
		if !slices.ContainsFunc(run, func(f *part) bool { return !sameTrace(f, run[0]) }) {
			continue
		}
		for _, f := range run {
			for _, n := range f.tools {
				if a := s.cause(n, run[0]); a != nil {
					s.after(a.f, a.n, f, n)
				}
			}
		}
		if whole := s.mainAgent(run); whole != nil {
			s.beginAfter(whole, run)
		}
	}
}

// mainAgent is the part of a run with the agent that began it: the first, unless one of the others handed
// over to it.
func (s *stitcher) mainAgent(run []*part) (whole *part) {
	for _, f := range run {
		if f.OwnRun() && !f.AsTool && (whole == nil || handsOverTo(f, whole)) {
			whole = f
		}
	}
	return whole
}

// beginAfter moves parts in other traces that seem to have begun before the agent of the run did behind the
// last call of that agent's trace. A step without a call may be what the run began with.
func (s *stitcher) beginAfter(whole *part, run []*part) {
	last := whole.Root.Start
	for _, f := range run {
		if sameTrace(f, whole) {
			for _, t := range f.turns {
				last = max(last, t.n.End)
			}
			for _, n := range f.tools {
				last = max(last, n.End)
			}
		}
	}
	for _, f := range run {
		if start := f.earliest.Start; f.Behind == 0 && !sameTrace(f, whole) && start+spantree.ClockSlack < whole.Root.Start && (f.Root != nil || f.IsRun()) {
			s.delay(f, last-start)
		}
	}
}

// cause finds the only response of a run that asked for what a tool span executed.
func (s *stitcher) cause(n *spantree.Node, run *part) *asking {
	for _, list := range [][]*asking{s.asked().byID[n.Obs.CallID], s.asked().byName[n.Obs.Name]} {
		var fit []*asking
		for _, a := range atMost(list, maxAskings) {
			same := a.part.ID != "" && a.part.ID == n.Obs.CallID || chat.EqualArgs(n.Obs.Args.Value, a.part.Args, chat.SameValue)
			if a.response && s.find(a.f) == run && same {
				fit = append(fit, a)
			}
		}
		if a := chat.Only(fit); a != nil {
			return a
		}
	}
	return nil
}

// handsOverTo reports that a response of f hands the conversation over to the agent of g.
func handsOverTo(f, g *part) bool {
	agent := chat.NormalName(g.Root.Obs.Agent.Name)
	return agent != "" && slices.ContainsFunc(f.turns, func(t *turn) bool {
		return slices.ContainsFunc(t.n.Asks(), func(p *genai.Part) bool {
			return chat.AgentHandedTo(p.Name, p.Args, false) == agent
		})
	})
}
