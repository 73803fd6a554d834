// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"
)

// reportedAgain finds the tools of parts without a model that report a call which a span elsewhere reports already: of another instrumentation, or under another name, around it in time, and
// telling the same of it. Such a span executed no other call, however well one fits that nobody executed: a model may ask once more for what it had done, and the program end there.
func (s *stitcher) reportedAgain(parts []*fragment) map[*node]bool {
	again := map[*node]bool{}
	if len(parts) == 0 || len(parts) == len(s.all) {
		return again
	}
	wanted, isPart := map[string]bool{}, map[*fragment]bool{}
	for _, f := range parts {
		isPart[f] = true
		for _, n := range f.tools() {
			wanted[n.obs.Name] = wanted[n.obs.Name] || n.obs.Name != "" && n.obs.CallID == ""
		}
	}
	reports, of := map[string][]*node{}, map[*node]*fragment{}
	for _, f := range s.all {
		if isPart[f] {
			continue
		}
		for _, n := range f.tools() {
			if wanted[n.obs.Name] {
				reports[n.obs.Name] = append(reports[n.obs.Name], n)
				of[n] = f
			}
		}
	}
	for _, list := range reports {
		slices.SortStableFunc(list, compareNodes)
	}
	for _, f := range parts {
		for _, n := range f.tools() {
			list := reports[n.obs.Name]
			if len(list) == 0 || n.obs.CallID != "" {
				continue
			}
			before, _ := slices.BinarySearchFunc(list, n.start+clockSlack+1, func(a *node, at uint64) int { return cmp.Compare(a.start, at) })
			again[n] = slices.ContainsFunc(list[max(0, before-maxOpenTurns):before], func(a *node) bool {
				same, alike := tellsSame(a, n)
				return n.end <= a.end+clockSlack && otherReporter(a, n) && same && alike && !s.sameTrace(of[a], f)
			})
		}
	}
	return again
}
