// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"slices"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// Tools run in services with clocks of their own. What seems to have ended before the span around it began is ordered by the conversation.
func TestToolsWhoseClockIsBehindBelongToTheTurnThatAskedForThem(t *testing.T) {
	for name, ids := range map[string][2]string{"by their arguments and their order": {"", ""}, "by their ids": {"call_0001", "call_0002"}} {
		tr := newTrace()
		tr.agent("main", 1, 0, 1000, 1100)
		tr.chat(2, 1, 1010, 1020, list(user("q")), list(asks(call("call_0001", "poll", `{"job":7}`))))
		tr.tool("poll", 3, 1, 23, 25, ids[0], `{"job":7}`, "running")
		tr.chat(4, 1, 1030, 1040, list(user("q"), asks(call("call_0001", "poll", `{"job":7}`)), shows("call_0001", "running")), list(asks(call("call_0002", "poll", `{"job":7}`))))
		tr.tool("poll", 5, 1, 43, 45, ids[1], `{"job":7}`, "done")
		tr.chat(6, 1, 1050, 1060, list(user("q"), asks(call("call_0001", "poll", `{"job":7}`)), shows("call_0001", "running"), asks(call("call_0002", "poll", `{"job":7}`)), shows("call_0002", "done")), list(says("done")))
		tp := the(t, tr.runs(t))
		if got, want := events(tp), []string{"model_call @2", "tool_call poll @3 by 1 = running", "model_call @4", "tool_call poll @5 by 3 = done", "model_call @6"}; !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
		if !slices.ContainsFunc(tp.Fidelity.Findings, func(f tape.Finding) bool { return f.Code == tape.CodeClockSkew && f.Seq == 2 }) {
			t.Errorf("%s: nothing says so: %v", name, tp.Fidelity.Findings)
		}
	}
}

// A stream asks for a tool before it is over: how far the clock of the tool is behind is told by when the stream began.
func TestToolsWhoseClockIsBehindThatRanWithinAStream(t *testing.T) {
	tr := newTrace()
	tr.agent("main", 1, 0, 1000, 1100)
	tr.chat(2, 1, 1010, 1030, list(user("q")), list(asks(call("call_0001", "poll", `{"job":7}`))))
	tr.tool("poll", 3, 2, 15, 28, "call_0001", `{"job":7}`, "running")
	tr.chat(4, 1, 1031, 1070, list(user("q")), list(asks(call("call_0002", "poll", `{"job":8}`))))
	tr.tool("poll", 5, 4, 35, 66, "call_0002", `{"job":8}`, "done")
	tr.chat(6, 1, 1071, 1080, list(user("q")), list(says("done")))
	wantEvents(t, the(t, tr.runs(t)), "model_call @2", "tool_call poll @3 by 1 = running", "model_call @4", "tool_call poll @5 by 3 = done", "model_call @6")
}

// A tool that ran in the time of the span around it has the clock of the others, whenever it was asked for.
func TestToolInItsTimeStaysWhereItIs(t *testing.T) {
	tr := newTrace()
	tr.agent("main", 1, 0, 1000, 1100)
	tr.tool("load", 3, 1, 1001, 1005, "", `{"job":7}`, "ready") // of the program, before it asked the model
	tr.chat(2, 1, 1010, 1020, list(user("q")), list(says("It is done.")))
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "tool_call load @3 = ready", "model_call @2")
	if slices.ContainsFunc(tp.Fidelity.Findings, func(f tape.Finding) bool { return f.Code == tape.CodeClockSkew }) {
		t.Errorf("%v", tp.Fidelity.Findings)
	}
}

// Streams lose the calls of an answer; the later request that shows them tells which tool they were for.
func TestToolsWhoseClockIsBehindBelongToTheTurnThatALaterRequestShows(t *testing.T) {
	const id = "call_0123456789abcdef"
	for name, c := range map[string]struct {
		tool, id, parent, args string
		want                   []string
	}{
		"by their arguments":                                    {"poll", "", "agent", `{"job":7}`, []string{"model_call @2", "tool_call poll @3 by 1 = done", "model_call @4"}},
		"by their arguments under the name of a class":          {"StructuredTool", "", "agent", `{"job":7}`, []string{"model_call @2", "tool_call poll @3 by 1 = done", "model_call @4"}},
		"by the id of a provider, below a span that never came": {"poll", id, "", `{"job":7}`, []string{"model_call @2", "tool_call poll @3 by 1 = done", "model_call @4"}},
		"of other arguments":                                    {"poll", "", "agent", `{"job":8}`, []string{"tool_call poll @3 = done", "model_call @2", "tool_call poll by 2 = done (recovered)", "model_call @4"}},
	} {
		tr := newTrace()
		tr.agent("main", 1, 0, 1000, 1100)
		tr.chat(2, 1, 1010, 1020, list(user("q")), list(says("One moment.")))
		up := 1
		if c.parent == "" {
			up = 99
		}
		tr.tool(c.tool, 3, up, 23, 25, c.id, c.args, "done")
		tr.chat(4, 1, 1030, 1040, list(user("q"), asks(call(id, "poll", `{"job":7}`)), shows(id, "done")), list(says("It is done.")))
		if got := events(the(t, tr.runs(t))); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
