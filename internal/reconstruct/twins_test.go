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

// The span of a provider's SDK in a trace of its own, without content, is a second report of the call around it of which another instrumentation recorded no tokens. It has to lie in one call of that
// model, and in no other.
func TestSpanOfAClientInACallWithoutTokensIsNoRun(t *testing.T) {
	for name, c := range map[string]struct {
		start int
		model string
		two   bool
		runs  int
	}{
		"in it":         {12, "m1", false, 1},
		"after it":      {30, "m1", false, 2},
		"another model": {12, "m2", false, 2},
		"in two":        {12, "m1", true, 2},
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 10, 24, list(user("hi")), list(says("ho")))
		if c.two {
			tr.chat(3, 1, 11, 23, list(user("hi there")), list(says("ho ho")))
		}
		client := newTrace()
		client.in("client", "create", 5, 0, c.start, c.start+9, "gen_ai.operation.name", "chat", "gen_ai.request.model", c.model, "gen_ai.usage.input_tokens", int64(40), "gen_ai.usage.output_tokens", int64(12))
		if tapes := all(t, tr.numbered(1), client.numbered(2)); len(tapes) != c.runs {
			t.Errorf("%s: %d runs, want %d", name, len(tapes), c.runs)
		}
	}
}
