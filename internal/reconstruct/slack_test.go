// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"slices"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

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

// Clocks of JavaScript give starts in whole milliseconds. What a tool asks a model itself begins after the tool, whichever ended first.
func TestWhatAToolAsksAModelComesAfterIt(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 9, list(user("q")), list(asks(call("c1", "expert", `{"question":"r"}`))))
	tr.tool("expert", 3, 1, 10, 60, "c1", `{"question":"r"}`, "s")
	tr.chat(4, 3, 10, 20, list(user("r")), list(asks(call("c2", "look", `{}`))))
	tr.tool("look", 5, 3, 20, 30, "c2", `{}`, "here")
	tr.chat(6, 3, 30, 50, list(user("r"), asks(call("c2", "look", `{}`)), shows("c2", "here")), list(says("s")))
	tr.chat(7, 1, 60, 90, list(user("q"), asks(call("c1", "expert", `{"question":"r"}`)), shows("c1", "s")), list(says("end")))
	wantEvents(t, the(t, tr.runs(t)), "model_call @2", "tool_call expert @3 by 1 = s", "model_call @4", "tool_call look @5 by 3 = here", "model_call @6", "model_call @7")
}

// A call without a span stands right behind the answer that asked for it, also where the next model call seems to have begun within the last millisecond of that answer; one that began before
// that stays before it.
func TestCallsWithoutSpansComeBeforeWhatBeganInTheSameMillisecond(t *testing.T) {
	for before, want := range map[int][]string{
		400_000:   {"model_call @2", "tool_call expert by 1 = s (recovered)", "model_call @4", "model_call @7"},
		2_400_000: {"model_call @2", "model_call @4", "tool_call expert by 1 = s (recovered)", "model_call @7"},
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		ask := asks(call("call_X4ULTEFGUM44M4GLT6TT7S", "expert", `{"question":"r"}`))
		s := tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		s.SetEndTimestamp(s.EndTimestamp() + pcommon.Timestamp(before))
		tr.chat(4, 1, 10, 50, list(user("r")), list(says("s")))
		tr.chat(7, 1, 60, 90, list(user("q"), ask, shows("call_X4ULTEFGUM44M4GLT6TT7S", "s")), list(says("end")))
		wantEvents(t, the(t, tr.runs(t)), want...)
	}
}

// A turn that began after a tool call asked for other ones, also where it was over within the millisecond by which clocks may be rounded. Of the calls only the names were recorded.
func TestATurnThatBeganAfterACallDidNotAskForIt(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	one, two := asks(call("call_X4ULTEFGUM44M4GLT6TT7S", "look", `{"id":1}`)), asks(call("call_5OLZBA7XMEUNXTPBBW5UVO", "look", `{"id":2}`))
	tr.chat(2, 1, 1, 10, list(user("q")), list(one))
	first := tr.tool("look", 3, 1, 11, 11, "", "", "")
	first.SetStartTimestamp(first.StartTimestamp() + 100_000)
	first.SetEndTimestamp(first.StartTimestamp() + 100_000)
	turn := tr.chat(4, 1, 11, 11, list(user("q"), one, shows("call_X4ULTEFGUM44M4GLT6TT7S", "a book")), list(two))
	turn.SetStartTimestamp(turn.StartTimestamp() + 400_000)
	turn.SetEndTimestamp(turn.StartTimestamp() + 300_000)
	second := tr.tool("look", 5, 1, 12, 20, "", "", "")
	second.Status().SetCode(ptrace.StatusCodeError)
	second.Status().SetMessage("no such book")
	wantEvents(t, the(t, tr.runs(t)), "model_call @2", "tool_call look @3 by 1 = a book (recovered)", "model_call @4", "tool_call look @5 by 3 failed")
}

// A call failed and left no span. The span of the same call once more holds what the model was shown of that one, and a clock that is behind does not make it the first.
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
