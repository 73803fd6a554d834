// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// Spans that name a class, without ids and arguments, are the calls of the turn before them if there are as many.
func TestSpansWithoutNameAndArgumentsAreTheCallsOfTheirTurn(t *testing.T) {
	build := func(spans ...string) *tape.Tape {
		ask := asks(call("c1", "f", `{}`), call("c2", "g", `{}`))
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		for i, result := range spans {
			tr.tool("RunnableTool", 3+i, 1, 11+2*i, 12+2*i, "", "", result)
		}
		tr.chat(9, 1, 50, 60, list(user("q"), ask, shows("c1", "result of f"), shows("c2", "result of g")), list(says("end")))
		return the(t, tr.runs(t))
	}
	wantEvents(t, build("result of f", "result of g"), "model_call @2", "tool_call f @3 by 1 = result of f", "tool_call g @4 by 1 = result of g", "model_call @9")
	wantEvents(t, build("result of g", "result of f"), "model_call @2", "tool_call g @3 by 1 = result of g", "tool_call f @4 by 1 = result of f", "model_call @9")
	if got := events(build("result of f")); len(got) != 5 { // one span for two calls tells of neither
		t.Errorf("events %v", got)
	}
}

// A failed call may be known by its class and by a number of the reporter's own, where calls that went well have the ids that the model gave them.
func TestFailureUnderTheNameOfAClassIsTheCallWithTheSameArguments(t *testing.T) {
	first, second := asks(call("c1", "f", `{"x":1}`)), asks(call("c2", "f", `{"x":1}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(first))
	tr.tool("DynamicTool", 3, 1, 11, 12, "run-1", `{"x":1}`, "", "error.type", "timeout")
	tr.chat(4, 1, 20, 30, list(user("q"), first, shows("c1", "Error: timeout")), list(second))
	tr.tool("f", 5, 1, 31, 32, "c2", `{"x":1}`, "r")
	tr.chat(6, 1, 40, 50, list(user("q"), first, shows("c1", "Error: timeout"), second, shows("c2", "r")), list(says("end")))
	got := events(the(t, tr.runs(t)))
	if len(got) != 5 || !strings.HasPrefix(got[1], "tool_call f @3 by 1") {
		t.Errorf("events %q", got)
	}
}

// A failure under the name of a class is the call with its arguments before a call of that tool with others is.
func TestCallOfAClassWithTheArgumentsComesBeforeANamedOneWithOthers(t *testing.T) {
	ask := asks(call("", "f", `{"x":1}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
	tr.tool("DynamicTool", 3, 1, 11, 12, "", `{"x":1}`, "", "error.type", "timeout")
	tr.chat(4, 1, 20, 30, list(user("q"), ask, shows("", "Error: timeout")), "")
	tr.tool("f", 5, 1, 31, 32, "", `{"x":2}`, "r")
	tr.chat(6, 1, 40, 50, list(user("q"), ask, shows("", "Error: timeout"), says("once more")), list(says("end")))
	if got := events(the(t, tr.runs(t))); len(got) < 2 || got[1] != "tool_call f @3 by 1 failed" {
		t.Errorf("events %q", got)
	}
}

// Without arguments the words of the failure tell whose it is.
func TestFailureUnderTheNameOfAClassIsTheCallThatFailedInItsWords(t *testing.T) {
	for told, want := range map[string]string{"Error: timeout": "tool_call f @3 by 1 failed", "Error: no such order": "", "ready": ""} {
		ask := asks(call("c0", "g", `{}`), call("c1", "f", `{}`))
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		span := tr.tool("DynamicTool", 3, 1, 11, 12, "run-1", `{}`, "")
		span.Status().SetCode(ptrace.StatusCodeError)
		span.Status().SetMessage("Error: timeout")
		tr.chat(4, 1, 20, 30, list(user("q"), ask, shows("c0", "r"), shows("c1", told)), list(says("end")))
		if got := events(the(t, tr.runs(t))); slices.Contains(got, "tool_call f @3 by 1 failed") != (want != "") {
			t.Errorf("%s: %q", told, got)
		}
	}
}

// Some packages record neither the text beside calls in the answer nor the calls in what is resent.
func TestResultsBehindTheTextOfAnAnswerWhoseCallsAloneWereRecordedAreTheirs(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(asks(call("c1", "f", `{"x":1}`))))
	tr.chat(4, 1, 20, 30, list(user("q"), says("let me look"), shows("", "r")), list(says("end")))
	if got := events(the(t, tr.runs(t))); len(got) != 3 || !strings.HasPrefix(got[1], "tool_call f by 1 = r") {
		t.Errorf("events %q", got)
	}
}

// Which of equal calls returned what is not claimed where nothing tells them apart.
func TestResultsThatNothingTellsApartAreDisputed(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(asks(call("c1", "f", `{}`), call("c2", "g", `{}`))))
	tr.tool("RunnableTool", 3, 1, 11, 12, "", "", "one result")
	tr.tool("RunnableTool", 4, 1, 11, 13, "", "", "another one")
	tr.chat(5, 1, 20, 30, list(user("and now?")), list(says("end")))
	for _, e := range the(t, tr.runs(t)).Events {
		if e.Type == tape.EventToolCall && (e.Provenance["result"] != tape.Disputed || len(e.OtherResults) != 1) {
			t.Errorf("%s returned %s, label %q, others %v", e.Name, e.Result.JSON(), e.Provenance["result"], e.OtherResults)
		}
	}
}

// Of equal calls that failed, what the model was told says which is which. Where it was told the same of both, they stand in their order.
func TestEqualCallsThatFailedAreToldApartByTheirErrors(t *testing.T) {
	const early, late = "10228", "no answer within 2 s" // the first call to begin fails with early
	for name, c := range map[string]struct{ told, failed [2]string }{
		"by what each says":  {[2]string{"ToolError: " + late + "\n Please fix your mistakes.", "ToolError: " + early + "\n Please fix your mistakes."}, [2]string{late, early}},
		"both say the same":  {[2]string{"ToolError: " + late, "ToolError: " + late}, [2]string{early, late}},
		"neither says which": {[2]string{"it failed", "it failed"}, [2]string{early, late}},
	} {
		ask := asks(call("c1", "f", `{}`), call("c2", "f", `{}`))
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		for i, message := range []string{early, late} {
			status := tr.tool("f", 3+i, 1, 11+i, 15, "", `{}`, "").Status()
			status.SetCode(ptrace.StatusCodeError)
			status.SetMessage(message + "\n\nToolError: " + message + "\n    at run")
		}
		tr.chat(5, 1, 20, 30, list(user("q"), ask, shows("c1", c.told[0]), shows("c2", c.told[1])), list(says("end")))
		for _, e := range the(t, tr.runs(t)).Events {
			if e.Type != tape.EventToolCall {
				continue
			}
			if want := c.failed[e.ToolCallID[1]-'1']; e.Error == nil || !strings.HasPrefix(e.Error.Message, want) {
				t.Errorf("%s: %s failed with %v, want %q", name, e.ToolCallID, e.Error, want)
			}
		}
	}
}

func TestToolSpanThatNothingAskedForIsNoCall(t *testing.T) {
	build := func(args string) *tape.Tape {
		ask := asks(call("c1", "f", `{"x":1}`))
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("f", 3, 1, 11, 12, "c1", `{"x":1}`, "r")
		tr.tool("(all tools)", 4, 1, 13, 14, "", args, `{"f":"r"}`)
		tr.chat(5, 1, 20, 30, list(user("q"), ask, shows("c1", "r")), list(says("end")))
		return the(t, tr.runs(t))
	}
	wantEvents(t, build(""), "model_call @2", "tool_call f @3 by 1 = r", "model_call @5")
	if got := events(build(`{"y":2}`)); len(got) != 4 { // arguments that nobody asked with prove a call of its own
		t.Errorf("events %v", got)
	}
}

// The text and the calls of one answer come back as two messages.
func TestAnswerThatIsResentInPartsIsOne(t *testing.T) {
	ask := asks(call("c1", "f", `{"x":1}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(says("one moment")))
	tr.tool("RunnableTool", 3, 1, 11, 12, "", `{"x":1}`, "r")
	tr.chat(4, 1, 20, 30, list(user("q"), says("one moment"), ask, shows("c1", "r")), list(says("end")))
	wantEvents(t, the(t, tr.runs(t)), "model_call @2", "tool_call f @3 by 1 = r", "model_call @4")
}

// A sub-agent is asked in the words of the user: its answer is not that of the agent around it.
func TestAnswerIsLookedForWithTheSameAgentFirst(t *testing.T) {
	ask := asks(call("c1", "helper", `{"question":"q"}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(says("asking")))
	tr.tool("helper", 3, 1, 11, 40, "", `{"question":"q"}`, "found")
	tr.agent("helper", 4, 3, 12, 39)
	tr.chat(5, 4, 13, 20, list(user("q")), list(says("found")))
	tr.chat(6, 1, 50, 60, list(user("q"), strings.Replace(ask, `"parts":[`, `"parts":[{"type":"text","content":"asking"},`, 1), shows("c1", "found")), list(says("end")))
	tp := the(t, tr.runs(t))
	for _, e := range tp.Events {
		if e.Type == tape.EventToolCall && (e.RequestedBy != 1 || e.ToolCallID != "c1") {
			t.Errorf("the call was asked for by %d with id %q", e.RequestedBy, e.ToolCallID)
		}
	}
}

// Of two equal calls one threw, and its span was lost: what the model was told of each says which of them the other span is, however little it returned.
func TestSpanOfOneOfTwoEqualCallsIsThatOfTheAnswerItHas(t *testing.T) {
	const first, second = "call_X4ULTEFGUM44M4GLT6TT7S", "call_Q32JSEKI7K5TMDQDB3QZ2F"
	for _, c := range []struct{ toldFirst, toldSecond, want string }{
		{"Error: no such city", "{}", second},
		{"{}", "Error: no such city", first},
	} {
		ask := asks(call(first, "f", `{"n":1}`), call(second, "f", `{"n":1}`))
		tr := newTrace()
		tr.agent("main", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.in("@traceloop/node-server-sdk", "f.tool", 3, 1, 11, 15, "traceloop.span.kind", "tool", "traceloop.entity.name", "f", "traceloop.entity.input", `{"args":[{"n":1}],"kwargs":{}}`, "traceloop.entity.output", "{}")
		tr.chat(4, 1, 20, 30, list(user("q"), ask, shows(first, c.toldFirst), shows(second, c.toldSecond)), list(says("done")))
		for _, e := range the(t, tr.runs(t)).Events {
			if e.Type == tape.EventToolCall && len(e.SpanIDs) > 0 && e.ToolCallID != c.want {
				t.Errorf("told %q and %q: the span is that of %s", c.toldFirst, c.toldSecond, e.ToolCallID)
			}
		}
	}
}
