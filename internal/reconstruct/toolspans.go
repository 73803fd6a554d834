// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"cmp"
	"slices"
)

// toolSpans are the spans of tools outside of some parts, under the names that are looked for.
type toolSpans struct {
	s      *stitcher
	byName map[string][]*node // in order of their start
	of     map[*node]*fragment
}

func (s *stitcher) toolSpansBeside(parts []*fragment, wanted map[string]bool) toolSpans {
	spans := toolSpans{s, map[string][]*node{}, map[*node]*fragment{}}
	within := map[*fragment]bool{}
	for _, f := range parts {
		within[f] = true
	}
	for _, f := range s.all {
		if within[f] {
			continue
		}
		for _, n := range f.tools() {
			if wanted[n.obs.Name] {
				spans.byName[n.obs.Name] = append(spans.byName[n.obs.Name], n)
				spans.of[n] = f
			}
		}
	}
	for _, list := range spans.byName {
		slices.SortStableFunc(list, compareNodes)
	}
	return spans
}

// around lists those of other traces than a part's that lie around one of its tools in time, in order of their start.
func (t toolSpans) around(f *fragment, n *node) (fit []*node) {
	list := t.byName[n.obs.Name]
	before, _ := slices.BinarySearchFunc(list, n.start+clockSlack+1, func(a *node, at uint64) int { return cmp.Compare(a.start, at) })
	for _, a := range list[max(0, before-maxOpenTurns):before] {
		if n.end <= a.end+clockSlack && !t.s.sameTrace(t.of[a], f) {
			fit = append(fit, a)
		}
	}
	return fit
}

// reportedAgain finds the tools of parts without a model that report a call which a span elsewhere reports already: of another instrumentation, or under another name, around it in time, and
// telling the same of it. Such a span executed no other call, however well one fits that nobody executed: a model may ask once more for what it had done, and the program end there.
func (s *stitcher) reportedAgain(parts []*fragment) map[*node]bool {
	again := map[*node]bool{}
	if len(parts) == 0 || len(parts) == len(s.all) {
		return again
	}
	wanted := map[string]bool{}
	for _, f := range parts {
		for _, n := range f.tools() {
			wanted[n.obs.Name] = wanted[n.obs.Name] || n.obs.Name != "" && n.obs.CallID == ""
		}
	}
	spans := s.toolSpansBeside(parts, wanted)
	for _, f := range parts {
		for _, n := range f.tools() {
			again[n] = n.obs.CallID == "" && slices.ContainsFunc(spans.around(f, n), func(a *node) bool {
				same, alike := tellsSame(a, n)
				return otherReporter(a, n) && same && alike
			})
		}
	}
	return again
}
