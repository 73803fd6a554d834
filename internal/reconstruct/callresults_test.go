// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"slices"
	"testing"
)

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

// A call failed and left no span. The span of the same call once more holds what the model was shown of that
// one, and a clock that is behind does not make it the first.
func TestCallIsTheOneOfWhichARequestShowsWhatItHolds(t *testing.T) {
	one, two := asks(call("toolu_01dppJtv4xn6", "fetch", `{"id":"R-404"}`)), asks(call("toolu_01tL7NLizRBH", "fetch", `{"id":"R-404"}`))
	for result, want := range map[string]string{"Dana Scully": "tool_call fetch @5 by 3 = Dana Scully", "no answer in 2 s": "tool_call fetch @5 by 1 = no answer in 2 s"} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 200)
		tr.chat(2, 1, 50, 60, list(user("q")), list(one))
		tr.chat(3, 1, 80, 90, list(user("q"), one, shows("toolu_01dppJtv4xn6", "no answer in 2 s")), list(two))
		tr.tool("fetch", 5, 1, 70, 75, "", `{"id":"R-404"}`, result)
		tr.chat(4, 1, 120, 130, list(user("q"), one, shows("toolu_01dppJtv4xn6", "no answer in 2 s"), two, shows("toolu_01tL7NLizRBH", "Dana Scully")), list(says("end")))
		if got := events(the(t, tr.runs(t))); !slices.Contains(got, want) {
			t.Errorf("%v, want %s", got, want)
		}
	}
}
