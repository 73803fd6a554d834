// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// maxFailureGap is how long tools may take before a failed call that tells nothing else, in ns.
const maxFailureGap = 600_000_000_000

// byFailure unites a model call that failed, and of which nothing else was recorded, with the run that waits
// for it.
//
// Needs: a failed call alone in its trace, and one run of the same instrumentation, service and model that
// asked for tools last and was not gone on with.
// Refuses: a second such failure or run; a model call between the two; more than ten minutes.
// Seen in: OpenLIT for JavaScript, which writes what was sent when an answer came.
func (s *stitcher) byFailure() {
	var alone []*turn
	failures, last := map[reporterKey]int{}, map[reporterKey]map[*part]*turn{}
	for t := range s.turns() {
		k := reporterKey{t.service, t.n.Scope.Name}
		if s.failedAlone(t) {
			alone = append(alone, t)
			failures[k]++
			continue
		}
		if last[k] == nil {
			last[k] = map[*part]*turn{}
		}
		if run := s.find(t.f); last[k][run] == nil || compareTurns(last[k][run], t) < 0 {
			last[k][run] = t
		}
	}
	for _, t := range alone {
		k := reporterKey{t.service, t.n.Scope.Name}
		if of := s.waitsFor(t, last[k]); of != nil && failures[k] == 1 && s.oneConversation(of.f, of.n, t.f, t.n) {
			s.propose(t.f, fragment.ByContent, of.f)
		}
	}
}

// failedAlone reports a model call that is all of its part and tells no more than its model and that it
// failed.
func (s *stitcher) failedAlone(t *turn) bool {
	o := t.n.Obs
	tells := len(o.Request)+len(o.Response) > 0 || o.RequestLabel != ""
	return t.n.Failed() && o.Model != "" && !tells && t.f.Root == nil && t.f.onlyModelCall() && !s.joined(t.f)
}

// waitsFor is the last call of the only run that asked for tools and may have gone on with a failed call, nil
// where another run was asked something between the two.
func (s *stitcher) waitsFor(t *turn, last map[*part]*turn) *turn {
	var open []*turn
	for _, a := range last {
		if spantree.AsksTools(a.n) && !a.n.Failed() && a.f.Root == nil {
			open = append(open, a)
		}
	}
	of := s.onlyTurn(t.f, open)
	if of == nil || of.n.Obs.Model != t.n.Obs.Model || of.n.End > t.n.Start || t.n.Start-of.n.End > maxFailureGap {
		return nil
	}
	for _, a := range last {
		if a != of && a.n.End > of.n.End && a.n.Start < t.n.End {
			return nil
		}
	}
	return of
}
