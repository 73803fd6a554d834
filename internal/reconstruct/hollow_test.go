// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// The steps of a run whose instrumentation opens a span without messages around each call, and leaves out of requests what asked for tools.
func TestStepsGoOnWhereTheResultsOfTheirCallsAreTold(t *testing.T) {
	const id = "call_8f41a02c"
	for name, c := range map[string]struct {
		told string
		runs int
	}{"of the call": {id, 1}, "of another": {"call_ffffffff", 2}, "of none": {"", 2}} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			step := func(id, start int, request, response string) {
				tr.in("framework", "chat generator", id, 90+id, start, start+10, "gen_ai.operation.name", "chat")
				tr.chat(id+1, id, start+1, start+9, request, response)
			}
			step(2, 0, list(user("compare")), list(asks(call(id, "f", `{"x":1}`))))
			step(4, 20, list(user("compare"), shows(c.told, "one")), list(says("done")))
			if tapes := tr.runs(t); len(tapes) != c.runs {
				t.Errorf("%d runs, want %d", len(tapes), c.runs)
			}
		})
	}
}

func TestAnswerOfTheInnerSpanIsThatToItsRequest(t *testing.T) {
	tr := newTrace()
	tr.in("framework", "generator", 1, 0, 0, 20, "gen_ai.operation.name", "chat", "gen_ai.output.messages", list(says("replies")))
	tr.chat(2, 1, 1, 9, list(user("hi")), list(says("ho")))
	if got := tr.runs(t)[0].Output.Text; got == nil || *got != "ho" {
		t.Errorf("answer %v, want the one that stands with the request", got)
	}
}

// A client with a trace of its own reports the response that the run holds: no run.
func TestReportOfTheSameResponseIsNoRun(t *testing.T) {
	for name, c := range map[string]struct {
		id    string
		start int
		runs  int
	}{"same": {"msg_1376ad6f", 2, 1}, "another": {"msg_ffffffff", 2, 2}, "later": {"msg_1376ad6f", 50, 2}} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.agent("a", 1, 0, 0, 20)
			tr.chat(2, 1, 1, 9, list(user("hi")), list(says("ho")), "gen_ai.response.id", "msg_1376ad6f")
			tr.in("client", "create", 5, 0, c.start, c.start+3, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1", "gen_ai.response.id", c.id)
			tapes := tr.runs(t)
			if len(tapes) != c.runs {
				t.Fatalf("%d runs, want %d", len(tapes), c.runs)
			}
			if c.runs == 1 && len(tapes[0].Events) != 1 {
				t.Errorf("%d events of one call", len(tapes[0].Events))
			}
		})
	}
}

func TestEmptyAnswerIsNoEndWhereTheOthersHidCalls(t *testing.T) {
	const empty = `[{"role":"assistant","parts":[]}]`
	for name, c := range map[string]struct {
		answer string
		status tape.RunStatus
	}{"empty": {empty, tape.StatusIncomplete}, "a text": {list(says("done")), tape.StatusOK}} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			told := []string{user("crawl"), asks(call("", "crawl", `{"page":1}`)), shows("", "two")}
			tr.chat(1, 90, 0, 5, list(told[0]), empty, "gen_ai.usage.output_tokens", int64(3))
			tr.chat(2, 90, 10, 15, list(told...), c.answer, "gen_ai.usage.output_tokens", int64(3))
			if got := tr.runs(t)[0].Run.Status; got != c.status {
				t.Errorf("status %s, want %s", got, c.status)
			}
		})
	}
}

func TestAnswerAfterCallsWithoutResultsEndsTheRun(t *testing.T) {
	for name, c := range map[string]struct {
		last   string
		status tape.RunStatus
	}{"an answer": {says("done"), tape.StatusOK}, "a further call": {asks(call("c2", "f", `{"x":2}`)), tape.StatusIncomplete}} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.chat(1, 90, 0, 5, list(user("hi")), list(asks(call("c1", "f", `{"x":1}`))))
			tr.chat(2, 90, 10, 15, list(user("hi")), list(c.last), "gen_ai.response.id", "r2")
			if got := tr.runs(t)[0].Run.Status; got != c.status {
				t.Errorf("status %s, want %s", got, c.status)
			}
		})
	}
}

func TestInputStandsInTheNextRequestWhereASpanBroke(t *testing.T) {
	tr := newTrace()
	tr.chat(1, 90, 0, 5, "", "").Status().SetCode(ptrace.StatusCodeError)
	tr.chat(2, 90, 10, 15, list(`{"role":"system","parts":[{"type":"text","content":"Be brief."}]}`, user("hi"), shows("c1", "one")), list(says("done")))
	in := tr.runs(t)[0].Input
	if in.UserMessage == nil || *in.UserMessage != "hi" || in.SystemPrompt == nil || *in.SystemPrompt != "Be brief." {
		t.Errorf("user message %v, system prompt %v", in.UserMessage, in.SystemPrompt)
	}
}

// Without a span around them, the message that asked for a tool may be repeated empty, before what the tool returned.
func TestRequestThatRepeatsACallAsAnEmptyMessageGoesOnWithIt(t *testing.T) {
	empty := `{"role":"assistant","content":""}`
	build := func(next string) []*tape.Tape {
		tr := newTrace()
		tr.chat(2, 0, 1, 10, list(user("q")), list(asks(call("c1", "f", `{"n":1}`))))
		tr.chat(3, 0, 20, 30, list(user("q"), empty, next), list(says("end")))
		return tr.runs(t)
	}
	wantEvents(t, the(t, build(`{"role":"tool","content":"seen"}`)), "model_call @2", "tool_call f by 1 = seen (recovered)", "model_call @3")
	if n := len(build(user("again"))); n != 2 {
		t.Errorf("%d runs, want 2: nothing was returned", n)
	}
}

// A client that tells only which model answered reports the call that lies around its own.
func TestClientThatTellsOnlyWhichModelAnsweredIsTheSameCall(t *testing.T) {
	for answered, want := range map[string]int64{"m1": 1, "m2": 2} {
		tr := newTrace()
		tr.in("app", "handle", 1, 0, 0, 100)
		tr.chat(2, 1, 2, 10, list(user("hi")), list(says("ho")), "gen_ai.request.model", "m1", "gen_ai.usage.input_tokens", int64(7), "gen_ai.usage.output_tokens", int64(2))
		tr.in("client", "post", 3, 1, 3, 9, "gen_ai.response.model", answered, "gen_ai.usage.input_tokens", int64(7), "gen_ai.usage.output_tokens", int64(2))
		if n := the(t, tr.runs(t)).Usage.ModelCalls; int64(n) != want {
			t.Errorf("%s: %d model calls, want %d", answered, n, want)
		}
	}
}

// A tracer that keeps its spans in traces apart writes a run again, as a span without calls: asked the same, answered the same, around all of it.
func TestSpanOfARunWithoutCallsInATraceOfItsOwn(t *testing.T) {
	run := func(n byte, start int) *trace {
		tr := newTrace()
		tr.agent("a", 1, 0, start, start+50)
		tr.chat(2, 1, start+1, start+40, list(user("Which rooms are free?")), list(says("Aurora is free.")))
		return tr.numbered(n)
	}
	around := func(n byte, question, answer string, start int) *trace {
		tr := newTrace()
		tr.in("mlflow.tracing.provider", "ask", 7, 0, start, start+100, "mlflow.spanType", `"AGENT"`, "mlflow.spanInputs", `{"question":"`+question+`"}`, "mlflow.spanOutputs", `"`+answer+`"`)
		return tr.numbered(n)
	}
	for name, c := range map[string]struct {
		traces []*trace
		want   int
	}{
		"the run again":      {[]*trace{around(1, "Which rooms are free?", "Aurora is free.", 0), run(2, 10)}, 1},
		"another answer":     {[]*trace{around(1, "Which rooms are free?", "Borealis is free.", 0), run(2, 10)}, 2},
		"another question":   {[]*trace{around(1, "Which rooms have a screen?", "Aurora is free.", 0), run(2, 10)}, 2},
		"not around it":      {[]*trace{around(1, "Which rooms are free?", "Aurora is free.", 30), run(2, 10)}, 2},
		"two such runs":      {[]*trace{around(1, "Which rooms are free?", "Aurora is free.", 0), run(2, 10), run(3, 20)}, 3},
		"two such spans":     {[]*trace{around(1, "Which rooms are free?", "Aurora is free.", 0), around(3, "Which rooms are free?", "Aurora is free.", 1), run(2, 10)}, 3},
		"of another service": {[]*trace{around(1, "Which rooms are free?", "Aurora is free.", 0).service("bank"), run(2, 10)}, 2},
	} {
		if tapes := all(t, c.traces...); len(tapes) != c.want {
			t.Errorf("%s: %d runs, want %d", name, len(tapes), c.want)
		}
	}
}

// A span that gave back what it was given, which ends with the user's words, handed a question on: no run. Where something came of it, or it failed, it is one.
func TestQuestionThatWasHandedOnIsNoRun(t *testing.T) {
	question, other := list(user("How many?")), list(user("How many then?"))
	for name, c := range map[string]struct {
		in, out string
		fails   bool
		below   bool
		runs    int
	}{
		"the same":       {question, question, false, false, 0},
		"other messages": {question, other, false, false, 1},
		"an answer":      {question, list(user("How many?"), says("99")), false, false, 1},
		"it failed":      {question, question, true, false, 1},
		"a call below":   {question, question, false, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			s := tr.in("langsmith", "chat", 1, 0, 0, 20, "langsmith.span.kind", "chain", "langsmith.trace.name", "__start__", "gen_ai.prompt", `{"messages":`+c.in+`}`, "gen_ai.completion", `{"messages":`+c.out+`}`)
			if c.fails {
				s.Status().SetCode(ptrace.StatusCodeError)
			}
			if c.below {
				tr.chat(2, 1, 1, 9, question, list(says("99")))
			}
			tapes, reason := tr.derive(t)
			if len(tapes) != c.runs || (reason == "") != (c.runs > 0) {
				t.Errorf("%d runs, want %d; reason %q", len(tapes), c.runs, reason)
			}
		})
	}
}

// The span of a run lies in another trace than its only model call, which failed: both say so in the same words, in the time of the run.
func TestFailureOfACallInAnotherTraceIsThatOfTheRun(t *testing.T) {
	for name, c := range map[string]struct {
		asked, failure string
		start          int
		runs           int
	}{
		"the same": {"why?", "refused by the safety system", 10, 1}, "asked something else": {"how?", "refused by the safety system", 10, 2},
		"failed with something else": {"why?", "connection reset by peer", 10, 2}, "at another time": {"why?", "refused by the safety system", 200, 2},
	} {
		tr, other := newTrace(), newTrace()
		failed := func(s ptrace.Span, words string) {
			s.Status().SetCode(ptrace.StatusCodeError)
			s.Status().SetMessage(words)
		}
		failed(tr.agent("main", 1, 0, 0, 100, "gen_ai.input.messages", list(user("why?"))), "refused by the safety system")
		failed(other.chat(2, 0, c.start, c.start+20, list(user(c.asked)), ""), c.failure)
		if tapes := all(t, tr.numbered(1), other.numbered(2)); len(tapes) != c.runs {
			t.Errorf("%s: %d runs, want %d", name, len(tapes), c.runs)
		}
	}
}

// Of the answers of a run nothing was recorded, and the spans above its tools never came: in one trace, the id of a provider says that a model asked for them.
func TestToolsOfATraceBelongToTheRunOfWhichNoAnswerWasRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		id, answer string
		runs       int
	}{"the id of a provider": {"call_0123456789abcdef", "", 1}, "a number": {"7", "", 2}, "an answer": {"call_0123456789abcdef", list(says("It is done.")), 2}} {
		tr := newTrace()
		tr.chat(2, 90, 0, 10, list(user("q")), c.answer)
		tr.tool("f", 3, 91, 20, 30, c.id, `{"x":1}`, "v")
		if tapes := tr.runs(t); len(tapes) != c.runs {
			t.Errorf("%s: %d runs, want %d", name, len(tapes), c.runs)
		}
	}
}
