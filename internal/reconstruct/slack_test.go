// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import "testing"

// The clock of the tools is ahead of that of the models by more than the time between an answer and its call. No request was recorded.
func TestEqualCallsOfSeveralTurnsAreThoseThatWereAskedForInTheirOrder(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	for i, result := range []string{"queued", "running", "done"} {
		at := 20 * i
		tr.chat(10+i, 1, at+1, at+10, "", list(asks(call("c"+result, "poll", `{"job":7}`))))
		tr.tool("poll", 20+i, 1, at+4, at+11, "", `{"job":7}`, result)
	}
	tr.chat(30, 1, 61, 70, "", list(says("end")))
	wantEvents(t, the(t, tr.runs(t)), "model_call @a", "tool_call poll @14 by 1 = queued", "model_call @b", "tool_call poll @15 by 3 = running",
		"model_call @c", "tool_call poll @16 by 5 = done", "model_call @1e")
}

// Requests show results as str() writes them, and each call has a clock of its own.
func TestResultsAsPythonWritesThemTellEqualCallsApart(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	first, second := asks(call("c1", "poll", `{"job":7}`)), asks(call("c2", "poll", `{"job":7}`))
	tr.chat(2, 1, 1, 10, list(user("q")), list(first))
	tr.tool("poll", 3, 1, 25, 26, "", `{"job":7}`, `{"state":"queued"}`)
	tr.chat(4, 1, 15, 20, list(user("q"), first, shows("c1", `{'state': 'queued'}`)), list(second))
	tr.tool("poll", 5, 1, 23, 24, "", `{"job":7}`, `{"state":"done"}`)
	tr.chat(6, 1, 31, 40, list(user("q"), first, shows("c1", `{'state': 'queued'}`), second, shows("c2", `{'state': 'done'}`)), list(says("end")))
	wantEvents(t, the(t, tr.runs(t)), "model_call @2", `tool_call poll @3 by 1 = {\"state\":\"queued\"}`, "model_call @4", `tool_call poll @5 by 3 = {\"state\":\"done\"}`, "model_call @6")
}

func TestObjectOfNothingButAnErrorIsAFailureThatTheModelWasToldOf(t *testing.T) {
	for shown, failed := range map[string]bool{"Error: closed today": true, `{"status":"error","error":"closed today"}`: false, "no table": false} {
		tr := newTrace()
		ask := asks(call("c1", "book", `{"n":1}`))
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("book", 3, 1, 11, 12, "c1", `{"n":1}`, `{"status":"error","error":"closed today"}`)
		tr.chat(4, 1, 21, 30, list(user("q"), ask, shows("c1", shown)), list(says("end")))
		e := the(t, tr.runs(t)).Events[1]
		if e.IsError != failed || failed && (e.Error == nil || e.Error.Message != "closed today") {
			t.Errorf("told %q: failed %v, error %v", shown, e.IsError, e.Error)
		}
	}
}
