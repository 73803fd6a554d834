// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// readSoon is how long after a stream was handed out it is read, at most, in ns.
const readSoon = 10_000_000_000

// byStream unites the span of a run that was over when it handed out a stream, before anything took place,
// with the calls that the reading of the stream made: they were asked what the run was asked, and began next.
//
// Needs: a span without calls or an answer, and within ten seconds calls of the service with its question.
// Refuses: several such spans, or several such calls, that follow each other; calls with the span of an
// agent; a span that failed.
// Seen in: agents that answer by a stream; OpenLIT's decorator around an asynchronous function, which is
// alone in its trace.
func (s *stitcher) byStream() {
	type asked struct{ service, text string }
	var parts chat.Lists[asked, *part] // spans of such runs, and the first part of each run of calls
	hollow, seen := map[*part]bool{}, map[*part]bool{}
	for _, f := range s.all {
		run := s.find(f)
		calls := len(f.turns) > 0
		if hollow[f] = !calls && run == f && endsAtOnce(f); hollow[f] || calls && !seen[run] {
			if text := f.userText(); text != "" {
				parts.Add(asked{f.service, text}, f)
			}
		}
		seen[run] = true
	}
	for _, list := range parts.InOrder() {
		for i, f := range list {
			if !hollow[f] || i+1 == len(list) || hollow[list[i+1]] || i > 0 && hollow[list[i-1]] || i+2 < len(list) && !hollow[list[i+2]] {
				continue
			}
			over := f.time().end
			if calls := list[i+1]; !calls.OwnRun() && over <= calls.earliest.Start+spantree.ClockSlack && calls.earliest.Start <= over+readSoon {
				s.propose(calls, fragment.ByContent, f)
			}
		}
	}
}

// endsAtOnce reports the span of an agent, or of a function alone in its trace, that holds no call and tells
// no answer.
func endsAtOnce(f *part) bool {
	return f.Root != nil && (f.OwnRun() || len(f.Root.Kids) == 0) && len(f.tools) == 0 && !f.Root.Failed() &&
		chat.SpokenText(spantree.OwnAnswer(f.Root)) == ""
}
