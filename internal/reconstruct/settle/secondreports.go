// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package settle

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/ledger"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// secondReports finds the calls that reports tell of once more.
type secondReports struct {
	known     map[string]bool // names of tools in the conversation
	mayDiffer func(*ledger.Call, *ledger.Asked) bool
	taken     map[*ledger.Call][]ledger.Reporter // who has told of a call once more
}

// DropSecondReports unites a tool span that no response asked for with the call that it tells of once more.
// What is left of such spans, and sums up other calls, is noise, see nobodyAsked.
//
// Needs: another reporter and equal arguments; or a span inside that of the call, or elsewhere at its time,
// that came to the same.
// Refuses: ids or times that say that the two are two calls; a second report by one reporter.
// Seen in: two instrumentations in one process; a framework beside its own event log.
func DropSecondReports(c *ledger.Ledger) {
	s := &secondReports{KnownNames(c), c.IdsMayDiffer(), map[*ledger.Call][]ledger.Reporter{}}
	kept := c.Tools[:0:0]
	for _, t := range c.Tools {
		p := s.firstReport(t, c.Tools)
		if p == nil {
			kept = append(kept, t)
			continue
		}
		s.taken[p] = append(s.taken[p], t.Reporter())
		if p.Obs.Name != t.Obs.Name && !s.known[p.Obs.Name] {
			o := p.Obs.Draft()
			o.Name = t.Obs.Name
			p.Obs = o.Seal()
		}
		p.Obs = genai.Merge(p.Obs, t.Obs)
		p.AddReport(t.Nodes, t.Notes)
		takeHeld(p, t)
	}
	c.Tools = slices.DeleteFunc(kept, func(t *ledger.Call) bool { return nobodyAsked(c, t, s.known) })
}

// firstReport finds the call that t tells of once more, nil if t is a call of its own. A call that a response
// asked for comes first, then one beside t in time, then the one that ended with t: a record is written at
// the end of a call.
func (s *secondReports) firstReport(t *ledger.Call, tools []*ledger.Call) *ledger.Call {
	if t.By != nil || t.Obs.Handoff || len(t.Nodes) == 0 {
		return nil
	}
	var found *ledger.Call
	for _, p := range tools {
		switch {
		case p == t || len(p.Nodes) == 0 || slices.Contains(s.taken[p], t.Reporter()):
		case p.By == nil:
			if retells(t, p) && (found == nil || found.By == nil && ledger.Apart(p.End, t.End) < ledger.Apart(found.End, t.End)) {
				found = p
			}
		case s.mayReport(t, p) && (found == nil || found.By == nil || nearer(p, found, t)):
			found = p
		}
	}
	return found
}

// nearer reports a call that is at least as near to t in time as another one.
func nearer(p, other, t *ledger.Call) bool {
	if b := ledger.Beside(p, t); b != ledger.Beside(other, t) {
		return b
	}
	return ledger.Apart(p.End, t.End) <= ledger.Apart(other.End, t.End)
}

// mayReport reports that t may tell of a call that a response asked for.
func (s *secondReports) mayReport(t, p *ledger.Call) bool {
	name, asked := ledger.NameOf(t), p.By.Part
	switch {
	case p.Reporter() == t.Reporter() && !inside(t, p) && !elsewhere(t, p):
		return false
	case p.Start > t.End+spantree.ClockSlack:
		return false
	case name != asked.Name && name != ledger.NameOf(p) && s.known[name]:
		return false
	case t.Obs.CallID != asked.ID && !s.mayDiffer(t, p.By):
		return false
	case t.Obs.Args.Present():
		return ledger.SameArgs(t, p.By)
	default:
		return t.Obs.Args.Label != "" || name == asked.Name // else neither name nor arguments in common
	}
}

// retells reports a tool span without an id in the time of another reporter's with one, of the same name,
// arguments and outcome: what a program writes of a function that a framework calls, where no answer on
// record asks for either.
func retells(t, p *ledger.Call) bool {
	return p.Obs.CallID != "" && t.Obs.CallID == "" && p.Reporter() != t.Reporter() && ledger.NameOf(p) == ledger.NameOf(t) &&
		p.Start <= t.Start+spantree.Rounding && t.End <= p.End+spantree.Rounding && chat.SameValue(t.Obs.Args.Value, p.Obs.Args.Value) && sameOutcome(t, p)
}

// inside reports a tool span with arguments right inside that of another call, which came to the same.
func inside(t, p *ledger.Call) bool {
	return slices.Contains(p.Nodes, t.Nodes[0].Up) && sameOutcome(t, p)
}

// elsewhere reports a tool span with arguments at the time of another call, below another span, which came to
// the same. Callbacks of a framework do not make their spans the current ones; what a program writes of the
// function then hangs below whatever lies around the run.
func elsewhere(t, p *ledger.Call) bool {
	return spantree.SiblingsOf(t.Nodes[0]) != spantree.SiblingsOf(p.Nodes[0]) && ledger.Overlap(t, p) && sameOutcome(t, p)
}

// sameOutcome reports a call with recorded arguments whose result, or error, is that of the other one.
func sameOutcome(t, p *ledger.Call) bool {
	if !t.Obs.Args.Present() || ledger.FailedCall(t) != ledger.FailedCall(p) {
		return false
	}
	if one, two := t.Obs.Error, p.Obs.Error; ledger.FailedCall(t) && one != nil && two != nil && chat.SameWords(one.Message, two.Message) {
		return true
	}
	inner, outer := chat.TextResult(t.Obs.Result.Value), chat.TextResult(p.Obs.Result.Value)
	return t.Obs.Result.Present() && (inner == outer || ledger.FailedCall(t) && strings.Contains(outer, inner))
}

// KnownNames are the names of tools that a request offers or a response asks for.
func KnownNames(c *ledger.Ledger) map[string]bool {
	names := map[string]bool{}
	for _, m := range c.Models {
		for _, t := range m.Obs.Tools {
			names[t.Name] = true
		}
		for _, a := range m.Asked {
			names[a.Part.Name] = true
		}
	}
	return names
}
