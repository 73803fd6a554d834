// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
)

// byNamedModel unites a model call without any content, alone in its trace, with the run that was going on
// then and names the model: the client of the provider writes spans of its own, below none of the run's.
//
// Needs: one run of the service going on, without a model call on record.
// Refuses: a second run going on; a call that names a session.
// Seen in: Anthropic's SDK in streams of Agno under Traceloop.
func (s *stitcher) byNamedModel() {
	going := goingOn(s.all, func(f *part) string { return f.service })
	for _, f := range s.all {
		n := s.contentless(f)
		if n == nil {
			continue
		}
		run := chat.Only(going.at(f.service, n.Start))
		if run != nil && run.spans(f) && run.Root.Obs.Model == n.Obs.Model && len(run.models) == 0 && s.otherTrace(run, f) {
			s.propose(f, fragment.ByTime, run)
		}
	}
}

// contentless is the only span of a part where that is a model call alone in its trace which tells no more
// than the model that was asked.
func (s *stitcher) contentless(f *part) *spantree.Node {
	n := f.alone()
	if n == nil || n.Spans == 0 || !f.onlyModelCall() || f.turns[0].n != n || session(n.Obs) != "" || s.joined(f) {
		return nil
	}
	if n.Obs.Model == "" || len(f.turns[0].sent)+len(n.Obs.Response) > 0 || n.Reports != nil {
		return nil
	}
	return n
}
