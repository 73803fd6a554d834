// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
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
	var all []*fragment
	var described []*description
	for _, t := range traces {
		frags, apart, agents, _, _ := fragments(t)
		all = append(append(all, frags...), apart...)
		described = append(described, agents...)
	}
	var out []Joined
	index := newDescribed(described)
	for _, f := range stitch(all) {
		f.describe(index)
		if len(f.traces) < 2 || !f.isRun() {
			continue
		}
		b := &builder{fragment: f, calls: settled(f)}
		j := Joined{Tape: b.build(opts), Traces: f.traces}
		for _, part := range f.pieces() {
			j.Roots = append(j.Roots, Root{part.traces[0], part.rootID()})
		}
		out = append(out, j)
	}
	return out
}
