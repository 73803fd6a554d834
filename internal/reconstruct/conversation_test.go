// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/tape"
)

// all derives the tapes of several traces together, in the order given and in the other one.
func all(t *testing.T, traces ...*trace) []*tape.Tape {
	t.Helper()
	derive := func(order []*trace) []*tape.Tape {
		set := evidence.NewSet()
		for _, tr := range order {
			set.AddTraces(copied(tr.td))
		}
		return reconstruct.All(set.Split(), options)
	}
	backward := make([]*trace, 0, len(traces))
	for i := len(traces) - 1; i >= 0; i-- {
		backward = append(backward, traces[i])
	}
	tapes, again := derive(traces), derive(backward)
	sound(t, tapes)
	sound(t, again)
	for i := range tapes {
		if i >= len(again) || string(tapes[i].AppendJSON(nil)) != string(again[i].AppendJSON(nil)) {
			t.Error("the order of the traces changes the tapes")
			break
		}
	}
	return tapes
}

// numbered gives all spans of the trace another trace id.
func (tr *trace) numbered(n byte) *trace {
	id := pcommon.TraceID{n, 15: n}
	for _, rs := range tr.td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				s.SetTraceID(id)
			}
		}
	}
	return tr
}

// waiting is a run that asks for a tool and ends before it has run; resumed is what went on with it.
func waiting(n byte, from int) *trace {
	tr := newTrace()
	tr.agent("clerk", 1, 0, from, from+20)
	tr.chat(2, 1, from+1, from+10, list(user("refund 7")), list(asks(call("c1", "refund", `{"id":7}`))))
	tr.tool("refund", 3, 1, from+11, from+12, "c1", `{"id":7}`, "", "error.type", "GraphInterrupt")
	return tr.numbered(n)
}

func resumed(n byte, from int, more ...string) *trace {
	tr := newTrace()
	tr.agent("clerk", 11, 0, from, from+30)
	tr.tool("refund", 12, 11, from+1, from+2, "c1", `{"id":7}`, "done")
	request := append([]string{user("refund 7"), asks(call("c1", "refund", `{"id":7}`)), shows("c1", "done")}, more...)
	tr.chat(13, 11, from+3, from+9, list(request...), list(says("refunded")))
	return tr.numbered(n)
}

func TestRunThatWaitedIsJoinedWithWhatResumedIt(t *testing.T) {
	tp := the(t, all(t, waiting(1, 0), resumed(2, 1000)))
	wantEvents(t, tp, "model_call @2", "tool_call refund @3+c by 1 = done", "model_call @d")
	if tp.Run.Status != tape.StatusOK || tp.Output.Text == nil || *tp.Output.Text != "refunded" {
		t.Errorf("status %s, output %v", tp.Run.Status, tp.Output.Text)
	}
	if len(tp.Run.Joined) != 2 || len(tp.Sources.TraceIDs) != 2 {
		t.Errorf("joined %v of %v", tp.Run.Joined, tp.Sources.TraceIDs)
	}
	if tp.Run.DurationMS != 1030 {
		t.Errorf("it took %d ms", tp.Run.DurationMS)
	}
}

func TestNewUserMessageIsNoResume(t *testing.T) {
	wantRoots(t, all(t, waiting(1, 0), resumed(2, 1000, user("and 8?"))), "1", "b")
}

func TestWhichOfTwoEqualRunsWasResumedIsNotGuessed(t *testing.T) {
	wantRoots(t, all(t, waiting(1, 0), waiting(2, 100), resumed(3, 1000)), "1", "1", "b")
}

func TestRunStillGoingOnIsNotResumed(t *testing.T) {
	wantRoots(t, all(t, waiting(1, 0), resumed(2, 15)), "1", "b")
}

func TestRunThatWaitsSaysSoAndItsCallHasNoAnswer(t *testing.T) {
	tp := the(t, all(t, waiting(1, 0)))
	wantEvents(t, tp, "model_call @2", "tool_call refund @3 by 1 (missing)")
	wantCodes(t, tp, "interrupted", "unanswered_tool_call@2")
	if tp.Run.Status != tape.StatusInterrupted {
		t.Errorf("status %s", tp.Run.Status)
	}
	if e := tp.Events[1]; e.IsError || e.Error != nil || e.Waiting != tape.WaitingResume {
		t.Errorf("a call that waits for %q failed with %v", e.Waiting, e.Error)
	}
}

func TestCallWithoutASpanWaitsWithItsRun(t *testing.T) {
	tr := newTrace()
	tr.agent("clerk", 1, 0, 0, 20, "error.type", "ApprovalRequired")
	tr.chat(2, 1, 1, 10, list(user("refund 7")), list(asks(call("c1", "refund", `{"id":7}`))))
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call @2", "tool_call refund by 1 (missing)")
	if e := tp.Events[1]; tp.Run.Status != tape.StatusInterrupted || e.Waiting != tape.WaitingApproval {
		t.Errorf("status %s, waits for %q", tp.Run.Status, e.Waiting)
	}
}

// TestFailureThatTheModelWasToldOfIsNoPause: a tool of the program may throw an exception of that name.
func TestFailureThatTheModelWasToldOfIsNoPause(t *testing.T) {
	ask := asks(call("c1", "refund", `{"id":7}`))
	tr := newTrace()
	tr.agent("clerk", 1, 0, 0, 50)
	tr.chat(2, 1, 1, 10, list(user("refund 7")), list(ask))
	s := tr.tool("refund", 3, 1, 11, 12, "c1", `{"id":7}`, "", "error.type", "ApprovalRequiredError")
	s.Status().SetCode(ptrace.StatusCodeError)
	s.Status().SetMessage("the manager has to approve order 7")
	tr.chat(5, 1, 30, 40, list(user("refund 7"), ask, shows("c1", "Error: the manager has to approve order 7")), list(says("not allowed")))
	tp := the(t, tr.runs(t))
	if e := tp.Events[1]; tp.Run.Status != tape.StatusOK || !e.IsError || e.Waiting != "" {
		t.Errorf("status %s, failed %t, waits for %q", tp.Run.Status, e.IsError, e.Waiting)
	}
}

func TestInterruptIsReadFromTheExceptionOfASpanThatIsOK(t *testing.T) {
	tr := newTrace()
	tr.agent("clerk", 1, 0, 0, 20)
	tr.chat(2, 1, 1, 10, list(user("refund 7")), list(asks(call("c1", "refund", `{"id":7}`))))
	s := tr.tool("refund", 3, 1, 11, 12, "c1", `{"id":7}`, "")
	x := s.Events().AppendEmpty()
	x.SetName("exception")
	x.Attributes().PutStr("exception.type", "langgraph.errors.GraphInterrupt")
	if tp := the(t, tr.runs(t)); tp.Run.Status != tape.StatusInterrupted {
		t.Errorf("status %s", tp.Run.Status)
	}
}

func TestCallThatWaitedAndThenRanIsOneEvent(t *testing.T) {
	ask := asks(call("c1", "refund", `{"id":7}`))
	tr := newTrace()
	tr.agent("clerk", 1, 0, 0, 50)
	tr.chat(2, 1, 1, 10, list(user("refund 7")), list(ask))
	tr.tool("refund", 3, 1, 11, 12, "c1", `{"id":7}`, "", "error.type", "GraphInterrupt")
	tr.tool("refund", 4, 1, 21, 22, "c1", `{"id":7}`, "done")
	tr.chat(5, 1, 30, 40, list(user("refund 7"), ask, shows("c1", "done")), list(says("refunded")))
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call @2", "tool_call refund @3+4 by 1 = done", "model_call @5")
	if tp.Run.Status != tape.StatusOK {
		t.Errorf("status %s", tp.Run.Status)
	}
}

// lost is a run of which the second half lies in a trace of its own, because the trace context was lost: with the calls below a step, or
// bare.
func lost(step bool, ask, user2 string) []*trace {
	first := newTrace()
	first.agent("clerk", 1, 0, 0, 100)
	first.chat(2, 1, 1, 10, list(user("refund 7")), list(ask))
	second := newTrace().numbered(7)
	up := 0
	if step {
		up = 3
		second.agent("step", 3, 0, 20, 90)
	}
	second.tool("refund", 4, up, 21, 30, "c1", `{"id":7}`, "done")
	request := list(user("refund 7"), ask, shows("c1", "done"))
	if user2 != "" {
		request = list(user("refund 7"), ask, shows("c1", "done"), user(user2))
	}
	second.chat(5, up, 40, 50, request, list(says("It is refunded.")))
	return []*trace{first, second.numbered(7)}
}

func TestRunThatLostItsTraceContextIsOne(t *testing.T) {
	ask := asks(call("c1", "refund", `{"id":7}`))
	for name, step := range map[string]bool{"bare calls": false, "a step": true} {
		t.Run(name, func(t *testing.T) {
			tp := the(t, all(t, lost(step, ask, "")...))
			if tp.Usage.ModelCalls != 2 || tp.Usage.ToolCalls != 1 || len(tp.Sources.TraceIDs) != 2 {
				t.Errorf("%+v from %v", tp.Usage, tp.Sources.TraceIDs)
			}
			if tp.Output.Text == nil || *tp.Output.Text != "It is refunded." {
				t.Errorf("output %v", tp.Output)
			}
		})
	}
}

func TestNewUserMessageInAnotherTraceIsNoPartOfTheRun(t *testing.T) {
	if got := all(t, lost(true, asks(call("c1", "refund", `{"id":7}`)), "and now 8")...); len(got) != 2 {
		t.Errorf("%d runs, want 2", len(got))
	}
	if got := all(t, lost(true, says("Which one?"), "")...); len(got) != 2 {
		t.Errorf("%d runs although nothing was asked for, want 2", len(got))
	}
}
