// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"github.com/tapedeck/tapedeck/internal/reconstruct/chat"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
)

// byResponse unites model calls that tell the id of a response and no message with the run that holds the
// messages: the client of the provider opened a trace of its own.
//
// Needs: the id of a response on a call without content and on one with it, which overlap in time.
// Refuses: a part with a tool, with content, or with a call of which no other report came, unless that
// failed.
// Seen in: SDKs of providers.
func (s *stitcher) byResponse() {
	full := map[string]*turn{}
	for t := range s.turns() {
		if id := t.n.Obs.ResponseID; len(id) >= chat.MinQuoted && len(t.n.Obs.Request) > 0 {
			full[id] = t
		}
	}
	for _, f := range s.all {
		if f.onlyModelCalls() {
			s.propose(f, fragment.ByContent, reportersOf(f, full)...)
		}
	}
}

// reportersOf are the parts that report the calls of a part with their content, by the ids of the responses;
// none where one is missing. Whose a failed call without an id is, the others tell.
func reportersOf(f *part, full map[string]*turn) (runs []*part) {
	for _, t := range f.turns {
		of := full[t.n.Obs.ResponseID]
		hollow := len(t.n.Obs.Request)+len(t.n.Obs.Response) == 0
		if hollow && t.n.Failed() && t.n.Obs.ResponseID == "" {
			continue
		}
		if of == nil || !hollow || !overlaps(of.n, t.n) {
			return nil
		}
		runs = append(runs, of.f)
	}
	return runs
}
