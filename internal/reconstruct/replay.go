// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/segregation"
	"github.com/tapedeck/tapedeck/internal/reconstruct/value"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// sayReplay marks the tapes of a trace that is a replay: all of them, whichever of their spans carries the
// tag.
func sayReplay(tapes []*tape.Tape, v segregation.Verdict) {
	if !v.Replay {
		return
	}
	for _, t := range tapes {
		t.Run.ReplayRunID = v.ID
		if v.Of != "" {
			of := exactjson.ObjectValue(exactjson.Member{Name: "of", Value: exactjson.StringValue(v.Of)})
			t.Extensions = exactjson.ObjectValue(append(slices.Clone(t.Extensions.Members()), exactjson.Member{Name: "replay", Value: of})...)
		}
		b := &value.Builder{Tape: t}
		if v.Conflicting {
			b.Finding(tape.CodeReplayTag, 0, "run.replay_run_id", "the evidence carries several ids; the smallest stands here")
		}
		if v.Malformed {
			b.Finding(tape.CodeReplayTag, 0, "run.replay_run_id", "a tag is empty or no id")
		}
		t.Fidelity.SortFindings()
	}
}
