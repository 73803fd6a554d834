// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// A step of a graph that lost its trace context belongs to the only run of that time that holds what the step was given, or what it recorded as
// the answer.
func TestStepsInATraceOfTheirOwnBelongToTheRunThatHoldsTheirContent(t *testing.T) {
	run := func(n byte, from int) *trace {
		tr := newTrace()
		ask := asks(call("call_4711", "find", `{"n":1}`))
		tr.agent("clerk", 1, 0, from, from+100)
		tr.chat(2, 1, from+1, from+10, list(user("where is it")), list(ask))
		tr.tool("find", 3, 1, from+11, from+12, "call_4711", `{"n":1}`, "r")
		tr.chat(4, 1, from+31, from+40, list(user("where is it"), ask, shows("call_4711", "r")), list(says("on the third shelf")))
		return tr.numbered(n)
	}
	asked := list(user("where is it"))
	calls := list(user("where is it"), asks(call("call_4711", "find", `{"n":1}`)))
	for _, c := range []struct {
		name           string
		input, output  string
		start, another int // of the step, of a second run with the same content; 0: none
		want           int
	}{
		{"the user's message", asked, "", 20, 0, 1},
		{"a state with the call", asked, calls, 20, 0, 1},
		{"a state with another call", asked, list(user("where is it"), asks(call("call_4712", "find", `{"n":1}`))), 20, 0, 2},
		{"given the call", calls, "", 20, 0, 1},
		{"given another call", list(user("where is it"), asks(call("call_4712", "find", `{"n":1}`))), "", 20, 0, 2},
		{"another message", list(user("who are you")), "", 20, 0, 2},
		{"long after the run", asked, "", 90_000, 0, 2},
		{"beside two runs", asked, "", 20, 5, 3},
	} {
		step := newTrace()
		s := step.step(9, 0, c.start, c.start+5, c.input)
		if c.output != "" {
			s.Attributes().PutStr("output.value", `{"messages":`+c.output+`}`)
			s.Attributes().PutStr("output.mime_type", "application/json")
		}
		traces := []*trace{run(1, 0), step.numbered(9)}
		if c.another > 0 {
			traces = append(traces, run(2, c.another))
		}
		tapes := all(t, traces...)
		if len(tapes) != c.want {
			t.Errorf("%s: %d runs, want %d: %v", c.name, len(tapes), c.want, roots(tapes))
		}
	}
}

// Where answers lack their calls, what a model was told next says whose tool ran; a failed call under the name of a class is the open one whose failure
// was told.
func TestToolInATraceOfItsOwnBelongsToTheRunThatWasToldItsResult(t *testing.T) {
	const result, failure = `{"shelf":3,"row":"c","left":true}`, "the index did not answer"
	run := func(lost bool) *trace {
		tr := newTrace()
		ask, told := asks(call("call_4711", "find", `{"n":1}`)), result
		if lost {
			ask = says("one moment")
		} else {
			told = "Error: " + failure + ", try again"
		}
		tr.chat(2, 0, 1, 10, list(user("where is it")), list(ask), "gen_ai.response.finish_reasons", []any{"tool_calls"})
		tr.chat(4, 0, 31, 40, list(user("where is it"), ask, shows("", told)), list(says("on the third shelf")))
		return tr.numbered(1)
	}
	for _, c := range []struct {
		name                     string
		lost                     bool
		tool, args, result, fail string
		start, want              int
	}{
		{"what was told", true, "find", `{"n":1}`, result, "", 12, 1},
		{"another result", true, "find", `{"n":1}`, `{"shelf":4}`, "", 12, 2},
		{"after the request that tells", true, "find", `{"n":1}`, result, "", 60, 2},
		{"the failure of the open call", false, "Tool", `{"n":1}`, "", failure, 12, 1},
		{"the failure under its type", false, "Tool", `{"n":1}`, "", "IndexError: " + failure, 12, 1},
		{"a failure with other arguments", false, "Tool", `{"n":2}`, "", failure, 12, 2},
		{"another failure", false, "Tool", `{"n":1}`, "", "no such index here", 12, 2},
	} {
		apart := newTrace()
		s := apart.tool(c.tool, 9, 0, c.start, c.start+2, "", c.args, c.result)
		if c.fail != "" {
			s.Status().SetCode(ptrace.StatusCodeError)
			s.Status().SetMessage(c.fail)
			if kind, _, typed := strings.Cut(c.fail, ": "); typed {
				s.Attributes().PutStr("error.type", kind)
			}
		}
		if tapes := all(t, run(c.lost), apart.numbered(9)); len(tapes) != c.want {
			t.Errorf("%s: %d runs, want %d", c.name, len(tapes), c.want)
		}
	}
}

// Another instrumentation whose spans lost their context reports each model call once more in a trace of its own.
func TestModelCallThatIsReportedAgainInAnotherTraceIsOne(t *testing.T) {
	q, a := list(user("where is it")), list(says("on the third shelf"))
	for _, c := range []struct {
		name       string
		scope      string
		answer     string
		start, end int
		want       int
	}{
		{"the same call", "client", a, 3, 9, 1},
		{"another answer", "client", list(says("on the fourth shelf")), 3, 9, 2},
		{"of the same instrumentation", "test", a, 3, 9, 2},
		{"later", "client", a, 30, 39, 2},
	} {
		first, again := newTrace(), newTrace()
		first.agent("clerk", 1, 0, 0, 100)
		first.chat(2, 1, 2, 10, q, a)
		again.in(c.scope, "POST", 3, 0, c.start, c.end, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1", "gen_ai.input.messages", q, "gen_ai.output.messages", c.answer)
		tapes := all(t, first.numbered(1), again.numbered(2))
		if len(tapes) != c.want || tapes[0].Usage.ModelCalls != 1 {
			t.Errorf("%s: %d runs, want %d: %v", c.name, len(tapes), c.want, events(tapes[0]))
		}
	}
}

// A provider that keeps the conversation is sent the results alone; the ids of the calls say whose they are.
func TestRequestOfResultsAloneGoesOnWithTheRunThatAsked(t *testing.T) {
	for id, want := range map[string]int{"call_4711_a": 1, "call_4712_b": 2} {
		first, second := newTrace(), newTrace()
		first.chat(2, 0, 1, 10, list(user("where is it")), list(asks(call("call_4711_a", "find", `{"n":1}`))))
		second.chat(4, 0, 31, 40, list(shows(id, "r")), list(says("on the third shelf")))
		tapes := all(t, first.numbered(1), second.numbered(2))
		if len(tapes) != want {
			t.Errorf("%s: %d runs, want %d", id, len(tapes), want)
		}
		if want == 1 && (tapes[0].Usage.ToolCalls != 1 || tapes[0].Output.Text == nil) {
			t.Errorf("%v", events(tapes[0]))
		}
	}
}

// Where neither calls nor results are recorded, a request that repeats the one before goes on with the answer to that which asked for tools.
func TestRepeatedRequestGoesOnWithTheAnswerThatAskedForTools(t *testing.T) {
	q := list(user("where is it"))
	part := func(n byte, from int, said, reason string) *trace {
		tr := newTrace()
		tr.chat(2, 0, from, from+9, q, list(says(said)), "gen_ai.response.finish_reasons", []any{reason})
		return tr.numbered(n)
	}
	for name, c := range map[string]struct {
		traces []*trace
		want   int
	}{
		"it asked for tools": {[]*trace{part(1, 0, "", "tool_calls"), part(2, 20, "on the third shelf", "stop")}, 1},
		"it asked twice":     {[]*trace{part(1, 0, "", "tool_calls"), part(2, 20, "", "tool_calls"), part(3, 40, "on the third shelf", "stop")}, 1},
		"it was answered":    {[]*trace{part(1, 0, "here", "stop"), part(2, 20, "on the third shelf", "stop")}, 2},
		"two runs wait":      {[]*trace{part(1, 0, "", "tool_calls"), part(2, 2, "", "tool_calls"), part(3, 40, "on the third shelf", "stop")}, 3},
		"long after":         {[]*trace{part(1, 0, "", "tool_calls"), part(2, 3_600_000, "on the third shelf", "stop")}, 2},
	} {
		if tapes := all(t, c.traces...); len(tapes) != c.want {
			t.Errorf("%s: %d runs, want %d", name, len(tapes), c.want)
		}
	}
}

// Some packages give a call the id of the item of the answer, and its result the id that the provider asks for. Then the run that waits for as many results is the one, if there is no
// other, and if these are ids of two kinds.
func TestRequestOfResultsOfAnotherKindOfIDGoesOnWithTheOnlyRunThatWaits(t *testing.T) {
	for _, c := range []struct {
		name, id, other string
		want            int
	}{
		{"the only one", "call_1", "", 1},
		{"an id of the same kind is that of another call", "fc_9", "", 2},
		{"two wait", "call_1", "where is the other", 3},
	} {
		first, second, third := newTrace(), newTrace(), newTrace()
		first.chat(2, 0, 1, 10, list(user("where is it")), list(asks(call("fc_1", "find", `{"n":1}`))))
		second.chat(4, 0, 31, 40, list(shows(c.id, "r")), list(says("on the third shelf")))
		traces := []*trace{first.numbered(1), second.numbered(2)}
		if c.other != "" {
			third.chat(6, 0, 2, 11, list(user(c.other)), list(asks(call("fc_2", "find", `{"n":2}`))))
			traces = append(traces, third.numbered(3))
		}
		tapes := all(t, traces...)
		if len(tapes) != c.want {
			t.Errorf("%s: %d runs, want %d", c.name, len(tapes), c.want)
		}
		if c.want == 1 && (tapes[0].Usage.ToolCalls != 1 || tapes[0].Events[1].Result.Str() != "r" || tapes[0].Output.Text == nil) {
			t.Errorf("%s: %v", c.name, events(tapes[0]))
		}
	}
}

// A package that writes the text of an answer in place of all of it loses the calls beside it: what waits for results then is not told by their ids.
func TestRequestOfResultsGoesOnWithTheOnlyRunThatLostItsCalls(t *testing.T) {
	response := func(tr *trace, id, start int, input, output string) {
		tr.in("langfuse-sdk", "OpenAI.responses", id, 0, start, start+10, "langfuse.observation.type", "generation", "langfuse.observation.model.name", "gpt-4o-mini",
			"langfuse.observation.input", input, "langfuse.observation.output", output)
	}
	const asked, results = `[{"role":"user","content":"where is it"}]`, `[{"type":"function_call_output","call_id":"call_7","output":"r"}]`
	for name, c := range map[string]struct {
		said, other string
		want        int
	}{
		"the only one":             {"let me look", "", 1},
		"the answer has its calls": {`[{"type":"function_call","call_id":"call_1","name":"find","arguments":"{}"}]`, "", 2},
		"two wait":                 {"let me look", "one moment", 3},
	} {
		first, second, third := newTrace(), newTrace(), newTrace()
		response(first, 2, 1, asked, c.said)
		response(second, 4, 31, results, "on the third shelf")
		traces := []*trace{first.numbered(1), second.numbered(2)}
		if c.other != "" {
			response(third, 6, 2, `[{"role":"user","content":"where is the other"}]`, c.other)
			traces = append(traces, third.numbered(3))
		}
		tapes := all(t, traces...)
		if len(tapes) != c.want {
			t.Errorf("%s: %d runs, want %d", name, len(tapes), c.want)
		}
		if c.want == 1 && tapes[0].Fidelity.Replayable.Tools {
			t.Errorf("%s: %+v", name, tapes[0].Fidelity)
		}
	}
}

// A run goes on behind a call whose result was recorded nowhere, and ends with an answer, whatever another agent of it was asked.
func TestRunThatAnsweredBehindACallWithoutAResultEnded(t *testing.T) {
	for name, c := range map[string]struct {
		asked string // the last request
		want  tape.RunStatus
	}{
		"it goes on":            {list(user("both"), asks(call("c1-0123456789abcdef", "find", `{"n":1}`)), says("and")), tape.StatusOK},
		"it is another request": {list(user("the third"), says("and")), tape.StatusIncomplete},
	} {
		tr := newTrace()
		tr.chat(2, 0, 1, 10, list(user("both")), list(asks(call("c1-0123456789abcdef", "find", `{"n":1}`))))
		tr.chat(3, 0, 12, 15, list(user("a word of the other")), list(says("here")))
		tr.chat(4, 0, 31, 40, c.asked, list(says("done")))
		for _, tp := range tr.runs(t) {
			if tp.Input.UserMessage != nil && *tp.Input.UserMessage == "both" && tp.Run.Status != c.want {
				t.Errorf("%s: %s, %v", name, tp.Run.Status, events(tp))
			}
		}
	}
}

// Of several calls, some packages record the last alone. The next request has them all.
func TestCallsBesideTheRecordedOneAreTakenFromTheNextRequest(t *testing.T) {
	for recorded, want := range map[string]int{"c2": 2, "c9": 1} {
		tr := newTrace()
		tr.in("app", "invoke_agent a", 1, 0, 0, 50, "gen_ai.operation.name", "invoke_agent")
		tr.chat(2, 1, 1, 10, list(user("both")), list(asks(call(recorded, "find", `{"n":2}`))))
		tr.chat(4, 1, 31, 40, list(user("both"), asks(call("c1", "find", `{"n":1}`), call("c2", "find", `{"n":2}`)), shows("c1", "r1"), shows("c2", "r2")), list(says("done")))
		tapes := all(t, tr.numbered(1))
		if got := tapes[0].Usage.ToolCalls; want == 2 && int(got) != want {
			t.Errorf("%s: %d calls, want %d: %v", recorded, got, want, events(tapes[0]))
		}
	}
}

// The decorator around an asynchronous function reports that it handed out what is awaited later: the run's own function was over before its first call, a tool's before it ran.
func TestFunctionThatHandedOutWhatIsAwaitedLaterBelongsToTheRun(t *testing.T) {
	function := func(name, args, kwargs string, start int) *trace {
		tr := newTrace()
		tr.in("openlit", name, 9, 0, start, start, "function.args", args, "function.kwargs", kwargs)
		return tr
	}
	run := func() *trace {
		tr := newTrace()
		ask := asks(call("call_4711", "find", `{"what":"the blue one"}`))
		tr.chat(2, 0, 11, 20, list(user("where is it")), list(ask))
		tr.chat(4, 0, 31, 40, list(user("where is it"), ask, shows("call_4711", "r")), list(says("on the third shelf")))
		return tr.numbered(1)
	}
	for _, c := range []struct {
		name  string
		apart *trace
		want  int
	}{
		{"asked what the run was asked", function("answer", "('where is it',)", "{}", 5), 1},
		{"asked something else", function("answer", "('where is she',)", "{}", 5), 2},
		{"after the run", function("answer", "('where is it',)", "{}", 90), 2},
		{"the tool that was asked for", function("find", "()", "{'what': 'the blue one'}", 22), 1},
		{"the tool with another argument", function("find", "()", "{'what': 'the red one'}", 22), 2},
		{"another function of that argument", function("lose", "()", "{'what': 'the blue one'}", 22), 2},
		{"the tool long after", function("find", "()", "{'what': 'the blue one'}", 90000), 2},
	} {
		if tapes := all(t, run(), c.apart.numbered(9)); len(tapes) != c.want {
			t.Errorf("%s: %d runs, want %d", c.name, len(tapes), c.want)
		}
	}
}
