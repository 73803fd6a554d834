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

// An agent that runs another one as a tool, and loses the context of the trace on the way: its run would be a second tape.
func TestAnAgentThatRanAsAToolBelongsToTheRunAroundIt(t *testing.T) {
	for name, c := range map[string]struct {
		question, answer, service string
		later, want               int
		encoded                   bool
	}{
		"the same":          {"Why twice?", "The plan is there twice.", "desk", 0, 1, false},
		"a text as JSON":    {"Why twice?", "The plan is there twice.", "desk", 0, 1, true},
		"an answer in JSON": {"Why twice?", `{"lines": 2}`, "desk", 0, 1, false},
		"another question":  {"Why thrice?", "The plan is there twice.", "desk", 0, 2, false},
		"another answer":    {"Why twice?", "It is there once.", "desk", 0, 2, false},
		"another service":   {"Why twice?", "The plan is there twice.", "billing", 0, 2, false},
		"ran afterwards":    {"Why twice?", "The plan is there twice.", "desk", 100, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			outer, inner := newTrace(), newTrace()
			outer.agent("triage", 1, 0, 0, 90)
			ask := asks(call("c1", "billing", `{"question":"Why twice?"}`))
			outer.chat(2, 1, 1, 5, list(user("I was charged twice.")), list(ask))
			result := "The plan is there twice."
			if c.answer[0] == '{' {
				result = c.answer
			}
			if c.encoded {
				result = quote(result)
			}
			outer.tool("billing", 3, 1, 10, 60, "c1", `{"question":"Why twice?"}`, result)
			outer.chat(4, 1, 70, 80, list(user("I was charged twice."), ask, shows("c1", "The plan is there twice.")), list(says("We refund it.")))
			inner.agent("billing", 5, 0, 20, 50)
			look := asks(call("c2", "get_invoice", `{"id":"7"}`))
			inner.chat(6, 5, 21, 25, list(user(c.question)), list(look))
			inner.tool("get_invoice", 7, 5, 26, 30, "c2", `{"id":"7"}`, "two lines")
			inner.chat(8, 5, 31, 40, list(user(c.question), look, shows("c2", "two lines")), list(says(c.answer)))
			tapes := all(t, outer.numbered(1).service("desk"), inner.numbered(2).service(c.service).moved(c.later))
			if len(tapes) != c.want {
				t.Fatalf("%d runs, want %d", len(tapes), c.want)
			}
			if c.want == 1 {
				wantCodes(t, tapes[0], "joined")
				if tapes[0].Usage.ToolCalls != 2 || tapes[0].Output.Text == nil || *tapes[0].Output.Text != "We refund it." {
					t.Errorf("%d tool calls, answer %v", tapes[0].Usage.ToolCalls, tapes[0].Output.Text)
				}
			}
		})
	}
}

// Where no span tells of the tool, it ran between the answer that asked for it and the request that shows what it returned. A loop that was written by hand may have a trace for each of its
// model calls: that request lies in another one then.
func TestAnAgentThatRanBetweenTwoModelCallsBelongsToTheRunAroundIt(t *testing.T) {
	const question, answer, id = "Why was the plan billed twice?", "The plan is there twice.", "call_12345678"
	ask := asks(call(id, "billing", `{"question":"`+question+`"}`))
	for name, c := range map[string]struct {
		question, answer string
		later, want      int
	}{
		"the same":         {question, answer, 0, 1},
		"another question": {"Why was it billed thrice?", answer, 0, 2},
		"another answer":   {question, "It is there only once.", 0, 2},
		"ran afterwards":   {question, answer, 100, 2},
	} {
		for _, apart := range []bool{false, true} {
			outer, inner := newTrace(), newTrace()
			next, root := outer, 1
			if apart {
				next, root = newTrace(), 0
			} else {
				outer.agent("triage", 1, 0, 0, 90)
			}
			outer.chat(2, root, 1, 5, list(user("I was charged twice.")), list(ask))
			next.chat(4, root, 70, 80, list(user("I was charged twice."), ask, shows(id, answer)), list(says("We refund it.")))
			inner.agent("billing", 5, 0, 20, 50)
			inner.chat(6, 5, 21, 25, list(user(c.question)), list(says(c.answer)))
			traces := []*trace{outer.numbered(1).service("desk"), inner.numbered(2).service("desk").moved(c.later)}
			if apart {
				traces = append(traces, next.numbered(3).service("desk"))
			}
			tapes := all(t, traces...)
			if len(tapes) != c.want {
				t.Fatalf("%s, apart %t: %d runs, want %d", name, apart, len(tapes), c.want)
			}
			if c.want == 1 && (tapes[0].Output.Text == nil || *tapes[0].Output.Text != "We refund it.") {
				t.Errorf("%s, apart %t: answer %v", name, apart, tapes[0].Output.Text)
			}
		}
	}
}

// Without content the request of an agent below looks like the first one of the agent above: what that one was answered, as its calls tell by ids that are drawn, is no answer of another.
func TestAnswerOfTheAgentAboveIsNoneOfTheAgentBelow(t *testing.T) {
	const silent = `{"role":"user","parts":[]}`
	for id, want := range map[string][]string{
		"call_0123456789abcdef": {"model_call @2", "tool_call expert @3 by 1 = r", "model_call @4", "model_call @5"},
		"call_0":                {"model_call @2", "tool_call expert @3 by 1 = r", "model_call @4", "tool_call expert by 3 = r (recovered)", "model_call @5"},
	} {
		ask := asks(call(id, "expert", `{}`))
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(silent), list(ask))
		tr.tool("expert", 3, 1, 11, 50, "", `{}`, "r")
		tr.chat(4, 3, 12, 40, list(silent), "")
		tr.chat(5, 1, 60, 70, list(silent, ask, shows(id, "r")), list(says("done")))
		t.Run(id, func(t *testing.T) { wantEvents(t, the(t, tr.runs(t)), want...) })
	}
}

// Where nothing stands above the calls around it, the span of that agent is not that of the run.
func TestAnAgentThatRanAsAToolIsNoWholeRun(t *testing.T) {
	outer, inner := newTrace(), newTrace()
	ask := asks(call("c1", "billing", `{"question":"Why twice?"}`))
	outer.chat(2, 0, 1, 5, list(user("I was charged twice.")), list(ask), "gen_ai.conversation.id", "s")
	outer.tool("billing", 3, 0, 10, 60, "c1", `{"question":"Why twice?"}`, "The plan is there twice.", "gen_ai.conversation.id", "s")
	outer.chat(4, 0, 70, 80, list(user("I was charged twice."), ask, shows("c1", "The plan is there twice.")), list(says("We refund it.")), "gen_ai.conversation.id", "s")
	inner.agent("billing", 5, 0, 20, 50)
	inner.chat(6, 5, 21, 40, list(user("Why twice?")), list(says("The plan is there twice.")))
	tp := the(t, all(t, outer.numbered(1).service("desk"), inner.numbered(2).service("desk")))
	wantCodes(t, tp, "joined", "no_root")
	if tp.Input.UserMessage == nil || *tp.Input.UserMessage != "I was charged twice." || tp.Output.Text == nil || *tp.Output.Text != "We refund it." {
		t.Errorf("asked %v, answered %v", tp.Input.UserMessage, tp.Output.Text)
	}
	var order []string
	for _, e := range tp.Events {
		order = append(order, string(e.Type))
		if e.Type == tape.EventAgentCall && (e.Via == 0 || e.Relation != tape.RelationSubAgent) {
			t.Errorf("the agent was called via %d as %s", e.Via, e.Relation)
		}
	}
	if want := []string{"model_call", "tool_call", "agent_call", "model_call", "model_call"}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
}

// An agent whose instrumentation opens no span of an agent, whose tools run below its model calls, and which loses the context in its tools (TanStack AI). The answer is JSON, which the
// span of the tool writes again.
func TestCallsThatRanAsAToolBelongToTheRunAroundThem(t *testing.T) {
	for name, c := range map[string]struct {
		question, answer string
		want             int
	}{
		"the same":         {"Why twice?", `{"lines": 2}`, 1},
		"another question": {"Why thrice?", `{"lines": 2}`, 2},
		"another answer":   {"Why twice?", `{"lines": 3}`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			outer, inner := newTrace(), newTrace()
			ask := asks(call("c1", "billing", `{"question":"Why twice?"}`))
			outer.in("app", "chat", 1, 0, 0, 90)
			outer.chat(2, 1, 1, 65, list(user("I was charged twice.")), "", "gen_ai.response.finish_reasons", "tool_calls")
			outer.tool("billing", 3, 2, 10, 60, "c1", `{"question":"Why twice?"}`, `{"lines":2}`)
			outer.chat(4, 1, 60, 80, list(user("I was charged twice."), ask, shows("c1", `{"lines":2}`)), list(says("We refund it.")))
			inner.in("app", "chat", 5, 0, 15, 50)
			inner.chat(6, 5, 20, 40, list(user(c.question)), list(says(c.answer)))
			tapes := all(t, outer.numbered(1).service("desk"), inner.numbered(2).service("desk"))
			if len(tapes) != c.want {
				t.Fatalf("%d runs, want %d", len(tapes), c.want)
			}
			if c.want == 1 {
				if tp := tapes[0]; tp.Input.UserMessage == nil || *tp.Input.UserMessage != "I was charged twice." || tp.Output.Text == nil || *tp.Output.Text != "We refund it." {
					t.Errorf("asked %v, answered %v", tp.Input.UserMessage, tp.Output.Text)
				}
				wantEvents(t, tapes[0], "model_call @2", `tool_call billing @3 by 1 = {\"lines\":2}`, "model_call @6", "model_call @4")
			}
		})
	}
}

// Two loops over an API, of which nothing but the calls of models was recorded. An answer of a few characters is none by which one knows an agent, but for what it was asked.
func TestALoopWithinALoopIsKnownByWhatItWasHanded(t *testing.T) {
	for name, c := range map[string]struct {
		handed, question, answer string
		twice                    bool
		want                     int
	}{
		"the same":                {"Why was it billed twice?", "Why was it billed twice?", "{}", false, 1},
		"another question":        {"Why was it billed twice?", "Why was it billed thrice?", "{}", false, 2},
		"another answer":          {"Why was it billed twice?", "Why was it billed twice?", "[]", false, 2},
		"a question of one word":  {"Why?", "Why?", "{}", false, 2},
		"others say it once more": {"Why was it billed twice?", "Why was it billed twice?", "{}", true, 3},
	} {
		outer, next, inner := newTrace(), newTrace(), newTrace()
		ask := asks(call("call_12345678", "billing", `{"question":"`+c.handed+`"}`))
		outer.chat(1, 0, 1, 5, list(user("I was charged twice.")), list(ask))
		inner.chat(2, 0, 20, 40, list(user(c.question)), list(says(c.answer)))
		next.chat(3, 0, 70, 80, list(user("I was charged twice."), ask, shows("call_12345678", "{}")), list(says("We refund it.")))
		traces := []*trace{outer.numbered(1), inner.numbered(2), next.numbered(3)}
		if c.twice {
			other := newTrace()
			other.chat(4, 0, 22, 42, list(user(c.question)), list(says(c.answer)))
			traces = append(traces, other.numbered(4))
		}
		if tapes := all(t, traces...); len(tapes) != c.want {
			t.Errorf("%s: %d runs, want %d", name, len(tapes), c.want)
		}
	}
}

// A coarse clock has the agent below begin and end with the tool that runs it, and with the calls around: what lies in the tool comes between its call and the request that shows the result.
func TestWhatLiesInAToolComesBetweenItsCallAndItsResult(t *testing.T) {
	ask, below := asks(call("c1", "expert", `{"q":"how many"}`)), asks(call("c2", "count", `{"of":"rows"}`))
	for name, ids := range map[string][6]int{"in order": {2, 3, 4, 5, 6, 7}, "backwards": {7, 6, 5, 4, 3, 2}} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 0)
		tr.chat(ids[0], 1, 0, 0, list(user("q")), list(ask))
		tr.tool("expert", ids[1], 1, 0, 0, "c1", `{"q":"how many"}`, "three")
		tr.chat(ids[2], ids[1], 0, 0, list(user("how many")), list(below))
		tr.tool("count", ids[3], ids[1], 0, 0, "c2", `{"of":"rows"}`, "3")
		tr.chat(ids[4], ids[1], 0, 0, list(user("how many"), below, shows("c2", "3")), list(says("three")))
		tr.chat(ids[5], 1, 0, 0, list(user("q"), ask, shows("c1", "three")), list(says("three rows")))
		var kinds []string
		for _, e := range the(t, tr.runs(t)).Events {
			kinds = append(kinds, strings.TrimSpace(string(e.Type)+" "+e.Name))
		}
		if want := "model_call, tool_call expert, model_call, tool_call count, model_call, model_call"; strings.Join(kinds, ", ") != want {
			t.Errorf("%s: %v", name, kinds)
		}
	}
}

// The graph of an agent may answer by a call, whose argument the tool around it returns, or fail with what the tool fails with. Some record the only argument of a tool bare.
func TestAGraphThatRanAsAToolBelongsToTheRunAroundIt(t *testing.T) {
	const question, answer, id = "Why was the plan billed twice?", "The plan is there twice.", "call_12345678901"
	for name, c := range map[string]struct {
		args, returned, inner string // what the tool was handed, and what it and the graph came to; "!" before what it failed with
		want                  int
	}{
		"an answer by a call":        {`{"question":"` + question + `"}`, answer, answer, 1},
		"the only argument bare":     {question, answer, answer, 1},
		"another answer":             {question, answer, "It is there once.", 2},
		"the same failure":           {question, "!ToolError: no invoice 7", "!no invoice 7", 1},
		"another failure":            {question, "!no invoice 7", "!no invoice 8", 2},
		"a failure that was mended":  {question, answer, "!no invoice 7", 2},
		"an answer that was refused": {question, "!no invoice 7", answer, 2},
	} {
		fail := func(s ptrace.Span, message string) {
			if message, failed := strings.CutPrefix(message, "!"); failed {
				s.Status().SetCode(ptrace.StatusCodeError)
				s.Status().SetMessage(message + "\n\nToolError: " + message + "\n    at run")
			}
		}
		came := func(text string) string {
			if text[0] == '!' {
				return ""
			}
			return text
		}
		outer, inner := newTrace(), newTrace()
		outer.agent("triage", 1, 0, 0, 90)
		ask := asks(call("c1", "billing", `{"question":"`+question+`"}`))
		outer.chat(2, 1, 1, 5, list(user("I was charged twice.")), list(ask))
		fail(outer.tool("billing", 3, 1, 10, 60, "c1", c.args, came(c.returned)), c.returned)
		state, by := `{"messages":`+list(user(question))+`}`, asks(call(id, "final_answer", `{"response":`+quote(c.inner)+`}`))
		came1 := []any{"openinference.span.kind", "CHAIN", "input.value", state}
		if came(c.inner) != "" {
			echoed := list(user(question), by, shows(id, `{"response":`+quote(c.inner)+`}`), says(`Returning structured response: {"response":`+quote(c.inner)+`}`))
			came1 = append(came1, "output.value", `{"messages":`+echoed+`}`)
		}
		fail(inner.in("app", "billing", 5, 0, 20, 50, came1...), c.inner)
		inner.chat(6, 5, 21, 25, list(user(question)), list(by))
		if tapes := all(t, outer.numbered(1).service("desk"), inner.numbered(2).service("desk")); len(tapes) != c.want {
			t.Errorf("%s: %d runs, want %d", name, len(tapes), c.want)
		}
	}
}

func TestWhatAToolDidIsPartOfTheRunThatWasShownItsAnswer(t *testing.T) {
	const outer, inner = 98, 99 // spans of the application that are no evidence
	ask, asked := asks(call("c1", "expert", `{"question":"q"}`)), asks(call("c2", "f", `{}`))
	build := func(shown string) []*tape.Tape {
		tr := newTrace()
		tr.chat(1, outer, 1, 10, list(user("q")), list(ask))
		tr.chat(2, inner, 20, 30, list(user("q")), list(asked))
		tr.chat(3, inner, 40, 50, list(user("q"), asked, shows("c2", "r")), list(says("it is so")))
		tr.chat(4, outer, 60, 70, list(user("q"), ask, shows("c1", shown)), list(says("end")))
		return tr.runs(t)
	}
	tp := the(t, build("it is so"))
	if tp.Usage.ModelCalls != 4 || tp.Usage.ToolCalls != 2 || tp.Output.Text == nil || *tp.Output.Text != "end" {
		t.Errorf("events %v, answer %v", events(tp), tp.Output.Text)
	}
	if tapes := build("something else"); len(tapes) != 2 {
		t.Errorf("%d runs, want 2: nobody was shown the answer of the second", len(tapes))
	}
}
