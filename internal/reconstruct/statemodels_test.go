// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

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

// Spans inside the outermost one recorded states of their own: those of nested agents, or the same
// conversation with more of it.
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
