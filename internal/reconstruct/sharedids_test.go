// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// sharedIDs are ids as servers of local models give them: one for all calls of an answer.
var sharedIDs = map[string]string{"a constant": "call_0", "the name of the tool": "read", "as long as a drawn one": "call_0000000000000000"}

func TestCallsOfOneIDAreThoseOfTheirArguments(t *testing.T) {
	for name, id := range sharedIDs {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		ask := asks(call(id, "read", `{"path":"a"}`), call(id, "read", `{"path":"b"}`))
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("read", 3, 1, 20, 40, id, `{"path":"a"}`, "AAA")
		tr.tool("read", 4, 1, 20, 30, id, `{"path":"b"}`, "BBB") // ends first
		tr.chat(5, 1, 50, 60, list(user("q"), ask, shows(id, "AAA"), shows(id, "BBB")), list(says("end")))
		tp := the(t, tr.runs(t))
		wantResults(t, tp, name, map[string]string{"a": "AAA", "b": "BBB"})
		withoutCodes(t, tp, "args_differ@2", "args_differ@3", "result_disputed@2", "result_disputed@3")
		if tp.Fidelity.Grade != tape.GradeOffline || tp.Fidelity.Proof.Mismatched > 0 {
			t.Errorf("%s: graded %s, proof %+v", name, tp.Fidelity.Grade, tp.Fidelity.Proof)
		}
	}
}

// The results stand in the order in which the calls ended, as some programs send them.
func TestResultsOfOneIDMayStandInAnyOrder(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	ask := asks(call("call_0", "read", `{"path":"a"}`), call("call_0", "read", `{"path":"b"}`))
	tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
	tr.tool("read", 3, 1, 20, 40, "call_0", `{"path":"a"}`, "the content of a")
	tr.tool("read", 4, 1, 20, 30, "call_0", `{"path":"b"}`, "what stands in b")
	tr.chat(5, 1, 50, 60, list(user("q"), ask, shows("call_0", "what stands in b"), shows("call_0", "the content of a")), list(says("end")))
	tp := the(t, tr.runs(t))
	wantResults(t, tp, "", map[string]string{"a": "the content of a", "b": "what stands in b"})
	withoutCodes(t, tp, "result_disputed@2", "result_disputed@3", "result_rewritten@2", "result_rewritten@3")
	if ok := tp.Fidelity.Proof.OK; ok == nil || !*ok {
		t.Errorf("proof %+v", tp.Fidelity.Proof)
	}
}

// Two equal calls with one id are two calls, not one that was reported twice.
func TestEqualCallsOfOneIDAreTwo(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	ask := asks(call("call_0", "roll", `{"d":20}`), call("call_0", "roll", `{"d":20}`))
	tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
	tr.tool("roll", 3, 1, 20, 40, "call_0", `{"d":20}`, "4")
	tr.tool("roll", 4, 1, 25, 45, "call_0", `{"d":20}`, "17")
	tr.chat(5, 1, 50, 60, list(user("q"), ask, shows("call_0", "4"), shows("call_0", "17")), list(says("end")))
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call @2", "tool_call roll @3 by 1 = 4", "tool_call roll @4 by 1 = 17", "model_call @5")
	wantCodes(t, tp, "ambiguous_key@3")
}

// Without arguments on the spans, what they returned tells them apart, and without that their order.
func TestCallsOfOneIDWithoutArgumentsAreThoseOfTheirResults(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	ask := asks(call("read", "read", `{"path":"a"}`), call("read", "read", `{"path":"b"}`))
	tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
	tr.tool("read", 3, 1, 21, 40, "read", "", "the content of a")
	tr.tool("read", 4, 1, 20, 30, "read", "", "what stands in b")
	tr.chat(5, 1, 50, 60, list(user("q"), ask, shows("read", "the content of a"), shows("read", "what stands in b")), list(says("end")))
	wantResults(t, the(t, tr.runs(t)), "", map[string]string{"a": "the content of a", "b": "what stands in b"})
}

// An id that comes back in each turn tells the call of a turn.
func TestIDThatComesBackInEachTurnIsOfItsTurn(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 1000)
	history := []string{user("wait for it")}
	for i, state := range []string{"queued for later", "running for a while", "done at last"} {
		ask := asks(call("call_0", "status", `{"job":7}`))
		tr.chat(10+2*i, 1, 100*i+1, 100*i+10, list(history...), list(ask))
		tr.tool("status", 11+2*i, 1, 100*i+20, 100*i+30, "call_0", `{"job":7}`, state)
		history = append(history, ask, shows("call_0", state))
	}
	tr.chat(30, 1, 400, 410, list(history...), list(says("it is done")))
	tp := the(t, tr.runs(t))
	wantEvents(t, tp,
		"model_call @a", "tool_call status @b by 1 = queued for later",
		"model_call @c", "tool_call status @d by 3 = running for a while",
		"model_call @e", "tool_call status @f by 5 = done at last",
		"model_call @1e")
	if ok := tp.Fidelity.Proof.OK; ok == nil || !*ok || tp.Fidelity.Grade != tape.GradeOffline {
		t.Errorf("graded %s, proof %+v", tp.Fidelity.Grade, tp.Fidelity.Proof)
	}
}

// wantResults checks what the calls of a tape with a path returned.
func wantResults(t *testing.T, tp *tape.Tape, name string, want map[string]string) {
	t.Helper()
	n := 0
	for i := range tp.Events {
		e := &tp.Events[i]
		if e.Type != tape.EventToolCall {
			continue
		}
		n++
		if path := e.Args.Get("path").Str(); e.Result.Str() != want[path] || e.RequestedBy != 1 || !e.ExecutedArgs.IsAbsent() {
			t.Errorf("%s: %s returned %s, want %q; asked for by %d, executed %s", name, path, e.Result.JSON(), want[path], e.RequestedBy, e.ExecutedArgs.JSON())
		}
	}
	if n != len(want) {
		t.Errorf("%s: %d calls, want %d", name, n, len(want))
	}
}
