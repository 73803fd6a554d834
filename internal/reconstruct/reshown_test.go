// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// Results without ids that stand in the order in which the tools ended, as LlamaIndex's record of a conversation has them.
func TestResultsWithoutIDsAreOfTheCallsThatTellThem(t *testing.T) {
	run := func(first, second string) *tape.Tape {
		tr := newTrace()
		tr.chat(1, 0, 0, 10, list(user("go")), list(asks(call("call_AAAAAAAAAAAAAAAA", "f", `{"x":1}`), call("call_BBBBBBBBBBBBBBBB", "f", `{"x":2}`))))
		tr.tool("f", 2, 0, 11, 40, "call_AAAAAAAAAAAAAAAA", `{"x":1}`, "the first of them")
		tr.tool("f", 3, 0, 12, 20, "call_BBBBBBBBBBBBBBBB", `{"x":2}`, "another of them")
		tr.chat(4, 0, 50, 60, list(user("go"), asks(call("call_AAAAAAAAAAAAAAAA", "f", `{"x":1}`), call("call_BBBBBBBBBBBBBBBB", "f", `{"x":2}`)), shows("", first), shows("", second)), list(says("done")))
		return the(t, tr.runs(t))
	}
	for _, order := range [][2]string{{"another of them", "the first of them"}, {"the first of them", "another of them"}} {
		tp := run(order[0], order[1])
		wantEvents(t, tp, "model_call @1", "tool_call f @2 by 1 = the first of them", "tool_call f @3 by 1 = another of them", "model_call @4")
		if len(tp.Events[1].Provenance)+len(tp.Events[2].Provenance) > 0 || !tp.Fidelity.Replayable.Tools {
			t.Errorf("%v: %v, %v, tools %t", order, tp.Events[1].Provenance, tp.Events[2].Provenance, tp.Fidelity.Replayable.Tools)
		}
	}
	if tp := run("another of them", "nothing of the kind"); tp.Fidelity.Replayable.Tools {
		t.Error("one of the results is nobody's")
	}
}
