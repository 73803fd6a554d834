// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// twice writes a run below a span: an answer of the model that asks for a tool twice with equal arguments, both calls at the same time with the
// same result, and the final answer.
func twice(tr *trace, first, parent int) {
	ask := asks(call("", "dice", `{}`), call("", "dice", `{}`))
	tr.agent("a", first, parent, 0, 100)
	tr.chat(first+1, first, 1, 10, list(user("q")), list(ask))
	tr.tool("dice", first+2, first, 20, 20, "", `{}`, "six")
	tr.tool("dice", first+3, first, 20, 20, "", `{}`, "six")
	tr.chat(first+4, first, 40, 50, list(user("q"), ask, shows("", "six"), shows("", "six")), list(says("end")))
}

func TestSpansReportedTwiceWithOtherIDsAreOneRun(t *testing.T) {
	for name, parents := range map[string][2]int{"roots": {0, 0}, "one parent that never came": {90, 90}, "two parents that never came": {90, 91}} {
		t.Run(name, func(t *testing.T) {
			once, again := newTrace(), newTrace()
			twice(once, 1, parents[0])
			twice(again, 1, parents[0])
			twice(again, 21, parents[1])
			want, got := the(t, once.runs(t)), the(t, again.runs(t))
			wantEvents(t, got, events(want)...)
			if len(got.Events) != 4 {
				t.Errorf("%d events, want 4", len(got.Events))
			}
			found := false
			for _, f := range got.Fidelity.Findings {
				found = found || f.Code == tape.CodeDuplicateReport
			}
			if !found {
				t.Error("nothing says that the spans came twice")
			}
		})
	}
}

func TestEqualCallsBelowOneParentAreTwo(t *testing.T) {
	tr := newTrace()
	twice(tr, 1, 0)
	if n := the(t, tr.runs(t)).Usage.ToolCalls; n != 2 {
		t.Errorf("%d tool calls, want 2", n)
	}
}
