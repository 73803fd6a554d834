// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/fragment"
	"github.com/tapedeck/tapedeck/internal/reconstruct/join"
	"github.com/tapedeck/tapedeck/internal/reconstruct/rule"
	"github.com/tapedeck/tapedeck/tape"
)

// Joined is what several traces hold together.
type Joined struct {
	// Tape is a run that was joined from several traces.
	Tape *tape.Tape
	// Traces are the traces it was made from, in order of time.
	Traces []string
	// Roots are the root span ids of its fragments, as trace id and root span id.
	Roots []Root
}

// Root names a run within a trace.
type Root struct{ TraceID, SpanID string }

// Join rebuilds the runs that lie in several of the traces. Runs that it does not return are left to Trace.
func Join(traces []evidence.Trace, opts Options) []Joined {
	var all []*fragment.Fragment
	var described []*fragment.Description
	var verdicts []genai.Verdict
	run := &rule.Run{Choice: opts.Choice}
	for _, t := range traces {
		frags, apart, agents, _, _ := fragments(run, t)
		all = append(append(all, frags...), apart...)
		described = append(described, agents...)
		verdicts = append(verdicts, verdictsOf(t)...)
	}
	var judged []judgedRun
	var out []Joined
	index := fragment.NewDescribed(described)
	for _, f := range join.Stitch(run, all) {
		f.Describe(index)
		if len(f.Traces) < 2 || !f.IsRun() {
			judged = append(judged, judgedRun{f, nil})
			continue
		}
		j := Joined{Tape: build(run, f, opts), Traces: f.Traces}
		for _, part := range f.Pieces() {
			j.Roots = append(j.Roots, Root{part.Traces[0], part.RootID()})
		}
		out = append(out, j)
		judged = append(judged, judgedRun{f, j.Tape})
	}
	giveVerdicts(verdicts, judged)
	return out
}
