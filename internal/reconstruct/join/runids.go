// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package join

import (
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
)

// byRunID unites what carries the same prompt, invocation or turn id.
//
// Needs: an id of a run on two parts.
// Refuses: another service, where an id may mean something else.
// Seen in: command line agents, which open a trace per step.
func (s *stitcher) byRunID() {
	type key struct{ service, id string }
	first := map[key]*part{}
	for _, f := range s.all {
		id := f.says(func(o *genai.Report) string { return o.InvocationID })
		if id == "" {
			continue
		}
		k := key{f.service, id}
		if first[k] == nil {
			first[k] = f
		}
		s.propose(f, fragment.ByRun, first[k])
	}
}
