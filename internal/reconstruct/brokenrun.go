// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import "slices"

// question is what a fragment was asked: the last text of a user in it, else what the span of its run was started with, which may be JSON that is no message.
func (f *fragment) question() string {
	if text := f.userText(); text != "" || f.root == nil {
		return text
	}
	return given(f.root.obs.InputData)
}

// byBrokenRun unites the span of a run that failed, and holds no call, with the calls of the run in other traces (a program that never made its span the current one): they were asked
// the same, all of them lie within its time, and the last request came to no answer. Where several such spans or several such conversations fit, none is taken. A run that ended well tells
// its answer, see byAnswer.
func (s *stitcher) byBrokenRun() {
	type asked struct{ service, text string }
	runs := map[asked][]*fragment{}
	for _, f := range s.all {
		if f.ownRun() && !s.joined(f) && len(s.turns[f]) == 0 && len(f.tools()) == 0 && (f.root.obs.Failed || f.root.obs.StatusError) {
			if text := f.question(); len(text) >= minQuoted {
				k := asked{serviceOf(f.first().resource).Name, text}
				runs[k] = append(runs[k], f)
			}
		}
	}
	if len(runs) == 0 {
		return
	}
	groups := map[*fragment][]*fragment{}
	for _, f := range s.all {
		groups[s.find(f)] = append(groups[s.find(f)], f)
	}
	calls := map[*fragment][]*fragment{} // of the span of a run, the conversations that may be its calls
	for _, g := range s.all {
		var last *turn
		text := ""
		for _, f := range groups[g] {
			for _, t := range s.turns[f] {
				if last == nil || compareNodes(last.n, t.n) < 0 {
					last = t
				}
			}
			if text == "" {
				text = f.question()
			}
		}
		if last == nil || !asksTools(last.n) && !last.failed() || slices.ContainsFunc(groups[g], (*fragment).ownRun) {
			continue
		}
		var fit []*fragment
		for _, run := range runs[asked{serviceOf(g.first().resource).Name, text}] {
			if !slices.ContainsFunc(groups[g], func(f *fragment) bool { return s.sameTrace(run, f) || !run.spans(f) }) {
				fit = append(fit, run)
			}
		}
		if len(fit) == 1 {
			calls[fit[0]] = append(calls[fit[0]], g)
		}
	}
	for _, run := range s.all {
		if len(calls[run]) == 1 {
			s.unite(run, calls[run][0], byContent)
		}
	}
}
