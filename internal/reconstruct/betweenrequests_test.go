// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// Some instrumentations record the calls of one answer as messages of their own. A model does not go on
// before it has the results, so they are one turn.
func TestCallsBesideEachOtherAreOfOneLostTurn(t *testing.T) {
	a, b := asks(call("call_aaaaaaaaaaaaaaaa", "f", `{"x":1}`)), asks(call("call_bbbbbbbbbbbbbbbb", "f", `{"x":2}`))
	both := list(user("q"), a, b, shows("call_aaaaaaaaaaaaaaaa", "one"), shows("call_bbbbbbbbbbbbbbbb", "two"))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.tool("f", 3, 1, 20, 30, "call_aaaaaaaaaaaaaaaa", `{"x":1}`, "one")
	tr.tool("f", 4, 1, 31, 40, "call_bbbbbbbbbbbbbbbb", `{"x":2}`, "two")
	tr.chat(5, 1, 50, 60, both, list(says("end")))
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call", "tool_call f @3 by 1 = one", "tool_call f @4 by 1 = two", "model_call @5")
	if n := len(tp.Messages[tp.Events[0].Response.Message].Parts); n != 2 {
		t.Errorf("the answer that was put back has %d parts", n)
	}
	if tp.Fidelity.Grade != tape.GradeOffline {
		t.Errorf("graded %s: %+v", tp.Fidelity.Grade, tp.Fidelity.Findings)
	}
}
