// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// byBrokenRun unites the span of a run that failed, and holds no call, with the calls of the run in other
// traces. A run that ended well tells its answer, see byAnswer.
//
// Needs: the same question; calls within the time of the span, the last of which came to no answer.
// Refuses: several such spans, or several such conversations.
// Seen in: programs that never made their span the current one.
func (s *stitcher) byBrokenRun() {
	type asked struct{ service, text string }
	broken := map[asked][]*part{}
	for _, f := range s.all {
		if f.OwnRun() && !s.joined(f) && f.noCalls() && f.Root.Failed() {
			if text := f.question(); len(text) >= chat.MinQuoted {
				broken[asked{f.service, text}] = append(broken[asked{f.service, text}], f)
			}
		}
	}
	if len(broken) == 0 {
		return
	}
	var claims []claim[*part]
	for _, run := range s.runs() {
		turns := turnsOf(run, compareTurns)
		if len(turns) == 0 || slices.ContainsFunc(run, func(f *part) bool { return f.OwnRun() }) {
			continue
		}
		if last := turns[len(turns)-1].n; !spantree.AsksTools(last) && !last.Failed() {
			continue
		}
		question := ""
		for _, f := range run {
			if question == "" {
				question = f.question()
			}
		}
		fit := slices.DeleteFunc(slices.Clone(broken[asked{run[0].service, question}]), func(span *part) bool {
			return slices.ContainsFunc(run, func(f *part) bool { return sameTrace(span, f) || !span.spans(f) })
		})
		if span := s.sole(run[0], fit...); span != nil {
			claims = append(claims, claim[*part]{run[0], span, span})
		}
	}
	proposeClaims(s, fragment.ByContent, claims)
}
