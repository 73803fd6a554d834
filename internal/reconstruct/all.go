// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/tape"
)

// All rebuilds the runs of the traces: the joined ones first, then those that are no part of one.
func All(traces []evidence.Trace, opts Options) []*tape.Tape {
	var tapes []*tape.Tape
	parts := map[Root]bool{}
	for _, j := range Join(traces, opts) {
		tapes = append(tapes, j.Tape)
		for _, r := range j.Roots {
			parts[r] = true
		}
	}
	for _, t := range traces {
		found, _ := Trace(t, opts)
		for _, one := range found {
			if !parts[Root{one.Run.TraceID, one.Run.RootSpanID}] {
				tapes = append(tapes, one)
			}
		}
	}
	return tapes
}
