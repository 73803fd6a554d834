// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Of a model call and a tool that began in the same millisecond, the one that was over at once may have asked
// for the tool; one that went on after that was made by an agent that the tool runs.
func TestCallsOfOneMillisecondStandAsTheyMayHaveCausedEachOther(t *testing.T) {
	for name, c := range map[string]struct {
		end  int
		want []string
	}{
		"it was over when the tool began": {20, []string{"model_call @2", "tool_call look @3 = r", "model_call @4"}},
		"it went on":                      {21, []string{"tool_call look @3 = r", "model_call @2", "model_call @4"}},
	} {
		tr := newTrace()
		tr.agent("clerk", 1, 0, 0, 100)
		tr.chat(2, 1, 20, c.end, "", "")
		tr.tool("look", 3, 1, 20, 30, "call_0001", `{"x":1}`, "r")
		tr.chat(4, 1, 40, 50, "", "")
		t.Run(name, func(t *testing.T) { wantEvents(t, the(t, tr.runs(t)), c.want...) })
	}
}

// Clocks of JavaScript give starts in whole milliseconds. What a tool asks a model itself begins after the
// tool, whichever ended first.
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

// A call without a span stands right behind the answer that asked for it, also where the next model call
// seems to have begun within the last millisecond of that answer; one that began before that stays before it.
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
