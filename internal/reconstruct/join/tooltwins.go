// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// byToolTwin unites a part that holds nothing but tools, and what the program wrote around them, with the run
// of which another instrumentation reports every one of these calls.
//
// Needs: for each tool one of the run, of another trace, with the same name, around it in time, and nothing
// that both tell differs; something that both tell, or the same service, and no other question of the user.
// Refuses: calls of several runs; a part that is joined already.
// Seen in: functions of a program that the framework runs in threads of its own; frameworks with a tracer of
// their own.
func (s *stitcher) byToolTwin() {
	var parts []*part
	for _, f := range s.all {
		if len(f.tools) > 0 && len(f.models) == 0 && !s.joined(f) {
			parts = append(parts, f)
		}
	}
	spans := s.toolSpansBeside(parts, func(*spantree.Node) bool { return true })
	for _, f := range parts {
		run := s.reporterOf(f, spans)
		if run == nil {
			continue
		}
		told := map[*spantree.Node]bool{}
		for _, n := range f.tools {
			for _, a := range slices.Backward(spans.twins(f, n)) { // the one that began last, each once
				if same, _ := tellsSame(a, n); same && !told[a] && s.find(spans.of[a]) == run {
					n.Reports, told[a] = a, true
					break
				}
			}
		}
		s.propose(f, fragment.ByContent, run)
	}
}

// reporterOf is the only run that reports all tools of a part, where more than their names and times says so.
func (s *stitcher) reporterOf(f *part, spans toolSpans) *part {
	var proven map[*part]bool // the runs that fit all tools so far, and whether more says so
	for i, n := range f.tools {
		fit := map[*part]bool{}
		for _, a := range spans.twins(f, n) {
			run := s.find(spans.of[a])
			before, fits := proven[run]
			if same, alike := tellsSame(a, n); same && (i == 0 || fits) {
				fit[run] = fit[run] || before || alike || spans.of[a].service == f.service
			}
		}
		proven = fit
	}
	var runs []*part
	for run := range proven {
		runs = append(runs, run)
	}
	run := s.sole(f, runs...)
	if run == nil {
		return nil
	}
	asked, said := f.userText(), run.userText()
	if same := asked == said && len(asked) >= chat.MinQuoted; same || proven[run] && (asked == "" || said == "") {
		return run
	}
	return nil
}
