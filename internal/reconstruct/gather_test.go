// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// The spans of these runs hang beside each other below a span of the application, which is no evidence.

func TestRunThatHangsBesideItsCallsIsOneRun(t *testing.T) {
	const app = 99
	ask := asks(call("c1", "f", `{"x":1}`))
	tr := newTrace()
	tr.agent("a", 1, app, 0, 100, "gen_ai.input.messages", list(user("q")))
	tr.agent("step", 2, app, 1, 11)
	tr.chat(3, app, 1, 10, list(user("q")), list(ask))
	tr.tool("f", 4, app, 11, 12, "c1", `{"x":1}`, "r")
	tr.agent("step", 5, app, 19, 31, "gen_ai.input.messages", list(user("q")))
	tr.chat(6, app, 20, 30, list(user("q"), ask, shows("c1", "r")), list(says("end")))
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call @3", "tool_call f @4 by 1 = r", "model_call @6")
	if tp.Run.Agent.Name != "a" || tp.Input.UserMessage == nil || *tp.Input.UserMessage != "q" {
		t.Errorf("agent %q, user message %v", tp.Run.Agent.Name, tp.Input.UserMessage)
	}
}

func TestRunsOfOtherQuestionsAreNotGathered(t *testing.T) {
	const app = 99
	tr := newTrace()
	tr.agent("a", 1, app, 0, 100, "gen_ai.input.messages", list(user("one")), "gen_ai.output.messages", list(says("1")))
	tr.agent("b", 2, app, 10, 90, "gen_ai.input.messages", list(user("two")))
	tr.chat(3, 2, 20, 30, list(user("two")), list(says("2")))
	tr.chat(4, app, 40, 50, list(user("three")), list(says("3")))
	if tapes := tr.runs(t); len(tapes) != 3 {
		t.Errorf("%d runs %v, want 3", len(tapes), roots(tapes))
	}
}

func TestCallsComeFromTheStateThatAGraphRecorded(t *testing.T) {
	state := `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},` +
		`{"role":"tool","tool_call_id":"c1","content":"r"},{"role":"assistant","content":"end"}]}`
	build := func(state string) *tape.Tape {
		tr := newTrace()
		tr.in("traceloop", "workflow", 1, 0, 0, 100, "traceloop.span.kind", "workflow", "traceloop.entity.name", "graph", "traceloop.entity.output", state)
		tr.chat(2, 1, 1, 10, list(user("q")), list(says("")), "gen_ai.response.finish_reasons", []any{"tool_call"})
		tr.chat(3, 1, 20, 30, list(user("q"), says("")), list(says("end")), "gen_ai.response.finish_reasons", []any{"stop"})
		return the(t, tr.runs(t))
	}
	tp := build(state)
	wantEvents(t, tp, "model_call @2", "tool_call f by 1 = r (recovered)", "model_call @3")
	if label := tp.Events[0].Provenance["response.message"]; label != tape.Recovered {
		t.Errorf("the answer that was completed is labelled %q", label)
	}
	other := build(`{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"assistant","content":"another end"}]}`)
	wantEvents(t, other, "model_call @2", "model_call @3")
}

func TestStepsWhoseRunSpanNeverCameAreOneRun(t *testing.T) {
	const missing = 99
	step := func(tr *trace, id, from int) {
		tr.in("traceloop", "step", id, missing, from, from+15, "openinference.span.kind", "CHAIN", "input.value", "step")
	}
	ask := asks(call("c1", "f", `{"x":1}`))
	build := func(second string) []*tape.Tape {
		tr := newTrace()
		step(tr, 1, 0)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("f", 3, 1, 11, 12, "c1", `{"x":1}`, "r")
		step(tr, 4, 20)
		tr.chat(5, 4, 21, 30, second, list(says("end")))
		return tr.runs(t)
	}
	wantEvents(t, the(t, build(list(user("q"), ask, shows("c1", "r")))), "model_call @2", "tool_call f @3 by 1 = r", "model_call @5")
	if tapes := build(list(user("something else"), ask)); len(tapes) != 2 {
		t.Errorf("%d runs, want 2: the second does not continue the first", len(tapes))
	}
}

func TestConversationThatOnlyAStateHoldsIsARun(t *testing.T) {
	build := func(in, out string) []*tape.Tape {
		tr := newTrace()
		tr.in("pipeline", "Pipeline.run", 1, 0, 0, 100, "openinference.span.kind", "CHAIN", "input.value", in, "output.value", out)
		return tr.runs(t)
	}
	const (
		given  = `{"messages":["ChatMessage(role='user', content='old')","ChatMessage(role='assistant', content='before')","ChatMessage(role='user', content='q')"]}`
		answer = `"ChatMessage(role='assistant', content=None, tool_calls=[{'id': 'c1', 'function': {'name': 'f', 'arguments': '{}'}}])","ChatMessage(role='tool', tool_call_id='c1', content='r')","ChatMessage(role='assistant', content='end')"`
	)
	tp := the(t, build(given, given[:len(given)-2]+","+answer+"]}"))
	wantEvents(t, tp, "model_call", "tool_call f by 1 = r (recovered)", "model_call")
	if tp.Output.Text == nil || *tp.Output.Text != "end" || tp.Input.UserMessage == nil || *tp.Input.UserMessage != "q" {
		t.Errorf("asked %v, answered %v", tp.Input.UserMessage, tp.Output.Text)
	}
	hidden := 0
	for _, f := range tp.Fidelity.Findings {
		if f.Code == tape.CodeModelCallHidden {
			hidden++
		}
	}
	if hidden != 2 {
		t.Errorf("%d findings say that no span reports the model calls, want 2", hidden)
	}
	if tapes := build(`{"rows":[1,2]}`, `{"rows":[{"type":"a"},{"type":"b"}]}`); len(tapes) != 0 {
		t.Errorf("%d runs of a pipeline without a conversation", len(tapes))
	}
}

// Spans inside the outermost one recorded states of their own: those of nested agents, or the same conversation with more of it.
func TestAnswersOfNestedStatesAreRecoveredToo(t *testing.T) {
	state := func(messages ...string) string { return `{"messages":["` + strings.Join(messages, `","`) + `"]}` }
	said := func(text string) string { return "ChatMessage(role='assistant', content='" + text + "')" }
	calls := func(id, name string) string {
		return "ChatMessage(role='assistant', content=None, tool_calls=[{'id': '" + id + "', 'function': {'name': '" + name + "', 'arguments': '{}'}}])"
	}
	result := func(id, text string) string {
		return "ChatMessage(role='tool', tool_call_id='" + id + "', content='" + text + "')"
	}
	const q = "ChatMessage(role='user', content='q')"
	span := func(tr *trace, name string, id, parent, start, end int, messages ...string) {
		tr.in("pipeline", name, id, parent, start, end, "openinference.span.kind", "CHAIN", "input.value", state(q), "output.value", state(append([]string{q}, messages...)...))
	}

	outer := []string{calls("c1", "clock"), result("c1", "noon"), calls("c2", "billing"), result("c2", "refunded"), said("end")}
	tr := newTrace()
	span(tr, "Pipeline.run", 1, 0, 0, 100, outer...)
	span(tr, "Agent.run", 2, 1, 5, 95, outer...)
	span(tr, "Agent.run", 3, 2, 30, 40, calls("d1", "get_invoice"), result("d1", "twice"), said("refunded"))
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call", "tool_call clock by 1 = noon (recovered)", "model_call", "tool_call billing by 3 = refunded (recovered)",
		"agent_call Agent.run @3 via 4", "model_call in 5", "tool_call get_invoice by 6 in 5 = twice (recovered)", "model_call in 5", "model_call")
	if tp.Output.Text == nil || *tp.Output.Text != "end" {
		t.Errorf("answered %v", tp.Output.Text)
	}

	tr = newTrace() // the outer span kept the last answer only
	span(tr, "Pipeline.run", 1, 0, 0, 100, said("end"))
	span(tr, "Agent.run", 2, 1, 5, 95, calls("c1", "clock"), result("c1", "noon"), said("end"))
	wantEvents(t, the(t, tr.runs(t)), "model_call", "tool_call clock by 1 = noon (recovered)", "model_call")

	tr = newTrace() // two agents beside each other were asked the same and answered the same
	span(tr, "Pipeline.run", 1, 0, 0, 100, said("end"))
	span(tr, "Agent.run", 2, 1, 5, 40, calls("c1", "clock"), result("c1", "noon"), said("it is noon"))
	span(tr, "Agent.run", 3, 1, 45, 80, calls("c1", "clock"), result("c1", "noon"), said("it is noon"))
	if tp := the(t, tr.runs(t)); tp.Usage.ModelCalls != 5 || tp.Usage.ToolCalls != 2 {
		t.Errorf("events %v", events(tp))
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
