// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
)

// secondReports finds the calls that reports tell of once more.
type secondReports struct {
	known     map[string]bool // names of tools in the conversation
	mayDiffer func(*call, *asked) bool
	taken     map[*call][]reporter // who has told of a call once more
}

// dropSecondReports unites a tool span that no response asked for with the call that it tells of once more.
// What is left of such spans, and sums up other calls, is noise, see nobodyAsked.
//
// Needs: another reporter and equal arguments; or a span inside that of the call, or elsewhere at its time,
// that came to the same.
// Refuses: ids or times that say that the two are two calls; a second report by one reporter.
// Seen in: two instrumentations in one process; a framework beside its own event log.
func (c *collector) dropSecondReports() {
	s := &secondReports{c.knownNames(), c.idsMayDiffer(), map[*call][]reporter{}}
	kept := c.tools[:0:0]
	for _, t := range c.tools {
		p := s.firstReport(t, c.tools)
		if p == nil {
			kept = append(kept, t)
			continue
		}
		s.taken[p] = append(s.taken[p], t.reporter())
		if p.obs.Name != t.obs.Name && !s.known[p.obs.Name] {
			o := *p.obs
			o.Name = t.obs.Name
			p.obs = &o
		}
		p.obs = genai.Merge(p.obs, t.obs)
		p.addReport(t.nodes, t.notes)
		p.takeHeld(t)
	}
	c.tools = slices.DeleteFunc(kept, func(t *call) bool { return c.nobodyAsked(t, s.known) })
}

// firstReport finds the call that t tells of once more, nil if t is a call of its own. A call that a response
// asked for comes first, then one beside t in time, then the one that ended with t: a record is written at
// the end of a call.
func (s *secondReports) firstReport(t *call, tools []*call) *call {
	if t.by != nil || t.obs.Handoff || len(t.nodes) == 0 {
		return nil
	}
	var found *call
	for _, p := range tools {
		switch {
		case p == t || len(p.nodes) == 0 || slices.Contains(s.taken[p], t.reporter()):
		case p.by == nil:
			if retells(t, p) && (found == nil || found.by == nil && apart(p.end, t.end) < apart(found.end, t.end)) {
				found = p
			}
		case s.mayReport(t, p) && (found == nil || found.by == nil || nearer(p, found, t)):
			found = p
		}
	}
	return found
}

// nearer reports a call that is at least as near to t in time as another one.
func nearer(p, other, t *call) bool {
	if b := beside(p, t); b != beside(other, t) {
		return b
	}
	return apart(p.end, t.end) <= apart(other.end, t.end)
}

// mayReport reports that t may tell of a call that a response asked for.
func (s *secondReports) mayReport(t, p *call) bool {
	name, asked := nameOf(t), p.by.part
	switch {
	case p.reporter() == t.reporter() && !inside(t, p) && !elsewhere(t, p):
		return false
	case p.start > t.end+clockSlack:
		return false
	case name != asked.Name && name != nameOf(p) && s.known[name]:
		return false
	case t.obs.CallID != asked.ID && !s.mayDiffer(t, p.by):
		return false
	case t.obs.Args.Present():
		return sameArgs(t, p.by)
	default:
		return t.obs.Args.Label != "" || name == asked.Name // else neither name nor arguments in common
	}
}

// retells reports a tool span without an id in the time of another reporter's with one, of the same name,
// arguments and outcome: what a program writes of a function that a framework calls, where no answer on
// record asks for either.
func retells(t, p *call) bool {
	return p.obs.CallID != "" && t.obs.CallID == "" && p.reporter() != t.reporter() && nameOf(p) == nameOf(t) &&
		p.start <= t.start+rounding && t.end <= p.end+rounding && sameValue(t.obs.Args.Value, p.obs.Args.Value) && sameOutcome(t, p)
}

// inside reports a tool span with arguments right inside that of another call, which came to the same.
func inside(t, p *call) bool { return slices.Contains(p.nodes, t.nodes[0].up) && sameOutcome(t, p) }

// elsewhere reports a tool span with arguments at the time of another call, below another span, which came to
// the same. Callbacks of a framework do not make their spans the current ones; what a program writes of the
// function then hangs below whatever lies around the run.
func elsewhere(t, p *call) bool {
	return siblingsOf(t.nodes[0]) != siblingsOf(p.nodes[0]) && overlap(t, p) && sameOutcome(t, p)
}

// sameOutcome reports a call with recorded arguments whose result, or error, is that of the other one.
func sameOutcome(t, p *call) bool {
	if !t.obs.Args.Present() || failedCall(t) != failedCall(p) {
		return false
	}
	if one, two := t.obs.Error, p.obs.Error; failedCall(t) && one != nil && two != nil && sameWords(one.Message, two.Message) {
		return true
	}
	inner, outer := textResult(t.obs.Result.Value), textResult(p.obs.Result.Value)
	return t.obs.Result.Present() && (inner == outer || failedCall(t) && strings.Contains(outer, inner))
}

// knownNames are the names of tools that a request offers or a response asks for.
func (c *collector) knownNames() map[string]bool {
	names := map[string]bool{}
	for _, m := range c.models {
		for _, t := range m.obs.Tools {
			names[t.Name] = true
		}
		for _, a := range m.asked {
			names[a.part.Name] = true
		}
	}
	return names
}
