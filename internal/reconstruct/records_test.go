// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"slices"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reconstruct"
	"github.com/tapedeck/tapedeck/tape"
)

// with derives the tapes of the trace and of log records; a record is the name of its event, its time in ms, the span that it names and attributes.
func (tr *trace) with(t *testing.T, records ...[]any) []*tape.Tape {
	t.Helper()
	logs := plog.NewLogs()
	rl := logs.ResourceLogs().AppendEmpty()
	rl.Resource().Attributes().PutStr("service.name", "shop")
	list := rl.ScopeLogs().AppendEmpty().LogRecords()
	for _, r := range records {
		l := list.AppendEmpty()
		l.SetEventName(r[0].(string))
		l.SetTimestamp(at(r[1].(int)))
		l.SetTraceID(oneTrace)
		if id := r[2].(int); id != 0 {
			l.SetSpanID(spanID(id))
		}
		put(l.Attributes(), r[3:])
	}
	set := evidence.NewSet()
	set.AddTraces(copied(tr.td))
	set.AddLogs(logs)
	tapes := reconstruct.All(set.Split(), options)
	sound(t, tapes)
	return tapes
}

func TestRecordsOfNoKnownProducerAreReadByShape(t *testing.T) {
	const session = "session.id"
	tp := the(t, newTrace().with(t,
		[]any{"zz.user_prompt", 0, 0, "zz.prompt", "q", session, "s1"},
		[]any{"zz.user_clicked", 1, 0, "zz.prompt", "no prompt", session, "s1"},
		[]any{"zz.tool_result", 20, 0, "zz.tool_name", "look", "zz.call_id", "call_0001", "zz.arguments", `{"x":1}`, "zz.output", "r", session, "s1"},
		[]any{"zz.tool_result", 30, 0, "zz.tool_name", "look", "zz.call_id", "call_0002", "zz.arguments", `{"x":2}`, "zz.output", "no", "zz.success", false, session, "s1"},
		[]any{"zz.agent_response", 40, 0, "zz.response", "end", session, "s1"},
	))
	if tp.Usage.ToolCalls != 2 || tp.Events[0].Name != "look" || tp.Events[0].Args.JSON() != `{"x":1}` || tp.Events[0].Result.Str() != "r" || tp.Events[1].Status != tape.EventError {
		t.Errorf("events %v", events(tp))
	}
	if tp.Input.UserMessage == nil || *tp.Input.UserMessage != "q" || tp.Output.Text == nil || *tp.Output.Text != "end" {
		t.Errorf("asked %v, answered %v", tp.Input.UserMessage, tp.Output.Text)
	}
}

func TestRecordOfThePromptHoldsTheCallsOfItsTraceTogether(t *testing.T) {
	tr := newTrace()
	tr.chat(1, 91, 10, 20, "", "", "gen_ai.usage.input_tokens", 5)
	tr.tool("look", 2, 92, 21, 29, "call_0001", `{"x":1}`, "r", "session.id", "s1")
	tr.chat(3, 93, 60, 70, "", "", "gen_ai.usage.input_tokens", 6)
	prompt := func(text string, ms int) []any {
		return []any{"zz.user_prompt", ms, 0, "zz.prompt", text, "session.id", "s1"}
	}
	tapes := tr.with(t, prompt("first", 0), prompt("second", 50))
	if len(tapes) != 2 {
		t.Fatalf("%d runs %v, want one for each prompt", len(tapes), roots(tapes))
	}
	wantEvents(t, tapes[0], "model_call @1", "tool_call look @2 = r")
	wantEvents(t, tapes[1], "model_call @3")
}

func TestRecordsWithOtherCallIDsThanTheSpansSpeakOfThem(t *testing.T) {
	build := func(result int) []*tape.Tape {
		tr := newTrace()
		tr.agent("clerk", 1, 0, 0, 100)
		tr.tool("look", 2, 1, 10, 20, "span_0001", "", "r")
		tr.tool("seek", 3, 1, 30, 40, "span_0002", "", "s")
		return tr.with(t,
			[]any{"zz.tool_result", result, 1, "zz.tool_name", "look", "zz.call_id", "call_0001", "zz.arguments", `{"x":1}`},
			[]any{"zz.tool_result", 41, 1, "zz.tool_name", "seek", "zz.call_id", "call_0002", "zz.arguments", `{"y":1}`},
		)
	}
	tp := the(t, build(21))
	if len(tp.Events) != 2 || tp.Events[0].Args.JSON() != `{"x":1}` || tp.Events[1].Args.JSON() != `{"y":1}` {
		t.Errorf("events %v", events(tp))
	}
	if tp := the(t, build(45)); len(tp.Events) != 4 {
		t.Errorf("records were given to spans of other tools: %v", events(tp))
	}
}

func TestOneCallUnderOtherWordsIsOne(t *testing.T) {
	t.Run("a hand-off under the name of the transfer", func(t *testing.T) {
		tr := newTrace()
		ask := asks(call("call_0001", "transfer_to_expert", `{}`))
		tr.agent("clerk", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("handoff_to_expert", 3, 1, 11, 12, "", `{"from":"clerk"}`, `{"to":"expert"}`)
		tr.chat(4, 1, 20, 30, list(user("q"), ask, shows("call_0001", "done")), list(says("end")))
		tp := the(t, tr.runs(t))
		if tp.Usage.ToolCalls != 1 || tp.Events[1].Name != "transfer_to_expert" || tp.Events[1].Args.JSON() != "{}" {
			t.Errorf("events %v", events(tp))
		}
	})
	t.Run("a span that puts results together", func(t *testing.T) {
		tr := newTrace()
		ask := asks(call("", "f", `{"x":1}`), call("", "g", `{"y":1}`))
		tr.agent("clerk", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("f", 3, 1, 11, 12, "call_0001", `{"x":1}`, "r")
		tr.tool("g", 4, 1, 13, 14, "call_0002", `{"y":1}`, "s")
		tr.tool("(merged)", 5, 1, 15, 16, "xyz", `{}`, `[{"id":"call_0001"},{"id":"call_0002"}]`)
		tr.chat(6, 1, 20, 30, list(user("q"), ask, shows("", "r"), shows("", "s")), list(says("end")))
		if tp := the(t, tr.runs(t)); tp.Usage.ToolCalls != 2 {
			t.Errorf("events %v", events(tp))
		}
	})
	t.Run("a span that puts results together, one of them of a call without a span", func(t *testing.T) {
		for together, want := range map[string]int{`[{"id":"call_0001"},{"error":"timed out"}]`: 2, `[{"id":"call_0001"},{"error":"no such host"}]`: 3} {
			tr := newTrace()
			ask := asks(call("", "f", `{"x":1}`), call("", "g", `{"y":1}`))
			tr.agent("clerk", 1, 0, 0, 100)
			tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
			tr.tool("f", 3, 1, 11, 12, "call_0001", `{"x":1}`, "r")
			tr.tool("(merged)", 5, 1, 15, 16, "xyz", `{}`, together)
			tr.chat(6, 1, 20, 30, list(user("q"), ask, shows("", "r"), shows("", `{"error":"timed out"}`)), list(says("end")))
			if tp := the(t, tr.runs(t)); tp.Usage.ToolCalls != want {
				t.Errorf("%s: events %v", together, events(tp))
			}
		}
	})
	t.Run("an agent that runs for a call without a span", func(t *testing.T) {
		tr := newTrace()
		ask := asks(call("call_0001", "expert", `{"q":1}`))
		tr.agent("clerk", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.agent("expert", 3, 1, 20, 40)
		tr.chat(4, 3, 21, 30, list(user("1")), list(says("so")))
		tr.chat(5, 1, 50, 60, list(user("q"), ask, shows("call_0001", "so")), list(says("end")))
		tp := the(t, tr.runs(t))
		if len(tp.Events) != 5 || tp.Events[1].Name != "expert" || tp.Events[2].Type != tape.EventAgentCall || tp.Events[2].Via != 2 {
			t.Errorf("events %v", events(tp))
		}
	})
	t.Run("everything twice, a tool among it", func(t *testing.T) {
		tr := newTrace()
		for i := range 2 {
			tr.chat(1+i, 99, 0, 10, list(user("q")), list(says("")))
			tr.tool("f", 3+i, 99, 11, 12, "", `{"x":1}`, "r")
		}
		tp := the(t, tr.runs(t))
		if tp.Usage.ToolCalls != 1 || tp.Usage.ModelCalls != 1 || tp.Run.Status != tape.StatusIncomplete {
			t.Errorf("events %v, status %s", events(tp), tp.Run.Status)
		}
	})
}

func TestFailuresThatOnlyTheConversationTells(t *testing.T) {
	ask := asks(call("call_0001", "f", `{"x":1}`))
	build := func(span, shown string) *tape.Tape {
		tr := newTrace()
		tr.agent("clerk", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		if span != "" {
			tr.tool("f", 3, 1, 11, 12, "call_0001", `{"x":1}`, span).Status().SetCode(2)
		}
		tr.chat(4, 1, 20, 30, list(user("q"), ask, shown), list(says("end")))
		return the(t, tr.runs(t))
	}
	if tp := build("false", shows("call_0001", "timed out")); tp.Events[1].Status != tape.EventError {
		t.Errorf("the span says error and holds what nobody was shown: %v", events(tp))
	}
	if tp := build("fine", shows("call_0001", "fine")); tp.Events[1].Status == tape.EventError {
		t.Errorf("the span says error, and the model was shown its result: %v", events(tp))
	}
	framed := `<outside_context>` + "\n" + `{"a":1}` + "\n" + `</outside_context>`
	if tp := build("", shows("call_0001", framed)); tp.Events[1].Provenance["result"] != tape.Lossy {
		t.Errorf("a result in a frame is labelled %q", tp.Events[1].Provenance["result"])
	}
	if tp := build("", shows("call_0001", "<html>\n<b>1</b>\n</html>")); tp.Events[1].Provenance["result"] != tape.Recovered {
		t.Errorf("a page is labelled %q", tp.Events[1].Provenance["result"])
	}
}

// A build has tools with a name and a result too: a record of these two alone stands for no call.
func TestRecordOfAToolWithoutACallMakesNoRun(t *testing.T) {
	if tapes := newTrace().with(t, []any{"tool.result", 20, 0, "tool_name", "gcc", "result", "ok"}); len(tapes) != 0 {
		t.Errorf("%d tapes", len(tapes))
	}
	if tapes := newTrace().with(t, []any{"zz.tool_result", 20, 0, "zz.tool_name", "look", "zz.arguments", `{"x":1}`, "zz.output", "r"}); len(tapes) != 1 {
		t.Errorf("%d tapes of a call", len(tapes))
	}
}

// The records of the later model calls lie in the trace of the run, their spans in a trace of its own.
func TestRecordsInAnotherTraceThanTheirSpanAreOfOneCall(t *testing.T) {
	first := [4]any{1, 20, 10, ""}
	for _, c := range []struct {
		name           string
		spans, records [][4]any
		calls          int
		said           bool // that tokens alone tell that they are one
	}{
		{"tokens and time are the same", [][4]any{first, {200, 300, 20, ""}}, [][4]any{first, {0, 300, 20, ""}}, 2, false},
		{"another clock", [][4]any{first, {200, 220, 20, ""}}, [][4]any{first, {0, 400, 20, ""}}, 2, true},
		{"two calls with as many tokens", [][4]any{first, {200, 300, 20, ""}, {310, 400, 20, ""}}, [][4]any{first, {0, 300, 20, ""}, {0, 400, 20, ""}}, 3, false},
		{"as many tokens of another response", [][4]any{first, {200, 300, 20, "r1"}}, [][4]any{first, {0, 300, 20, "r2"}}, 3, false},
		{"three calls with as many tokens, two of which have lost their span, at other times", [][4]any{first, {200, 220, 20, ""}}, [][4]any{first, {0, 300, 20, ""}, {0, 400, 20, ""}}, 4, false},
	} {
		tp := recordedBeside(t, c.spans, c.records)
		if tp.Usage.ModelCalls != c.calls {
			t.Errorf("%s: events %v, want %d model calls", c.name, events(tp), c.calls)
		}
		if said := slices.Contains(codesOf(tp), tape.CodeDuplicateReport); said != c.said {
			t.Errorf("%s: findings %v", c.name, codes(tp))
		}
		if tp.Output.Text == nil || *tp.Output.Text != "end" {
			t.Errorf("%s: answered %v", c.name, tp.Output.Text)
		}
	}
}
