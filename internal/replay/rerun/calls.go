// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package rerun

import "github.com/tapedeck/tapedeck/tape"

// HasModelCalls reports whether a tape holds model calls; one of a snapshot of waza holds tool calls alone.
func HasModelCalls(t *tape.Tape) bool {
	for i := range t.Events {
		if t.Events[i].Type == tape.EventModelCall {
			return true
		}
	}
	return false
}

// ToolCalls is the tool calls of runs that came one after the other, as one run that can be compared with a tape that holds nothing else:
// without callers and what asked for them.
func ToolCalls(runs []*tape.Tape) *tape.Tape {
	if len(runs) == 0 {
		return nil
	}
	all := *runs[0]
	all.Output, all.Run.Status = runs[len(runs)-1].Output, runs[len(runs)-1].Run.Status
	all.Events = nil
	for _, run := range runs {
		for i := range run.Events {
			e := run.Events[i]
			if e.Type != tape.EventToolCall {
				continue
			}
			e.Seq, e.Parent, e.RequestedBy, e.Caller = len(all.Events)+1, 0, 0, ""
			all.Events = append(all.Events, e)
		}
	}
	return &all
}
