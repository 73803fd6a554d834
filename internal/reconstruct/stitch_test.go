// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// step adds a step of a graph: an agent span of a kind that frameworks write for everything that they run.
func (tr *trace) step(id, parent, start, end int, input string) ptrace.Span {
	attrs := []any{"openinference.span.kind", "CHAIN"}
	if input != "" {
		attrs = append(attrs, "llm.input_messages", input, "input.value", `{"messages":`+input+`}`, "input.mime_type", "application/json")
	}
	return tr.in("graph", "step", id, parent, start, end, attrs...)
}

func (tr *trace) moved(ms int) *trace {
	for _, rs := range tr.td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				s.SetStartTimestamp(s.StartTimestamp() + at(ms) - at(0))
				s.SetEndTimestamp(s.EndTimestamp() + at(ms) - at(0))
			}
		}
	}
	return tr
}

func (tr *trace) service(name string) *trace {
	for _, rs := range tr.td.ResourceSpans().All() {
		rs.Resource().Attributes().PutStr("service.name", name)
	}
	return tr
}

// polls are the messages of a run that asks for a job and polls twice; ids says whether its calls have ids, which differ between runs then.
type polls struct {
	asks, shows []string
}

func polling(run string, ids bool) polls {
	var p polls
	for i, c := range []string{"start", "poll", "poll"} {
		id := ""
		if ids {
			id = fmt.Sprintf("call_%s_%04d", run, i)
		}
		p.asks = append(p.asks, asks(call(id, c, `{"job":1}`)))
		p.shows = append(p.shows, shows(id, fmt.Sprintf("result %d", i)))
	}
	return p
}

// request is the i-th request of the run.
func (p polls) request(i int) string {
	messages := []string{user("run job 1")}
	for k := range i {
		messages = append(messages, p.asks[k], p.shows[k])
	}
	return list(messages...)
}

// calls adds the i-th model call of the run and the call of the tool that it asks for, below a span.
func (p polls) calls(tr *trace, i, parent, start int) {
	if i == len(p.asks) {
		tr.chat(100+start, parent, start, start+5, p.request(i), list(says("done")))
		return
	}
	tr.chat(100+start, parent, start, start+5, p.request(i), list(p.asks[i]))
	tr.tool([]string{"start", "poll", "poll"}[i], 101+start, parent, start+6, start+9, "", `{"job":1}`, fmt.Sprintf("result %d", i))
}

func wantPolls(t *testing.T, tapes []*tape.Tape, n int) {
	t.Helper()
	if len(tapes) != n {
		t.Fatalf("%d runs %v, want %d", len(tapes), roots(tapes), n)
	}
	for _, tp := range tapes {
		if tp.Usage.ModelCalls != 4 || tp.Usage.ToolCalls != 3 || tp.Output.Text == nil || *tp.Output.Text != "done" {
			t.Errorf("run %s: %d model calls, %d tool calls, output %v:\n%s", tp.Run.RootSpanID, tp.Usage.ModelCalls, tp.Usage.ToolCalls, tp.Output.Text, strings.Join(events(tp), "\n"))
		}
	}
}

func TestHalfOfARunWithoutItsTraceContextIsJoined(t *testing.T) {
	for name, ids := range map[string]bool{"calls with ids": true, "calls without ids": false} {
		for clock, skew := range map[string]int{"one clock": 0, "clock ahead": 2000, "clock behind": -2000} {
			t.Run(name+", "+clock, func(t *testing.T) {
				p := polling("a", ids)
				first, second := newTrace(), newTrace()
				first.agent("clerk", 1, 0, 0, 100)
				p.calls(first, 0, 1, 10)
				p.calls(first, 1, 1, 20)
				p.calls(second, 2, 0, 30)
				p.calls(second, 3, 0, 40)
				tapes := all(t, first.numbered(1), second.numbered(2).moved(skew))
				wantPolls(t, tapes, 1)
				wantCodes(t, tapes[0], "joined")
				if behind := slices.Contains(codes(tapes[0]), "clock_skew"); behind != (skew < 0) {
					t.Errorf("findings %v", codes(tapes[0]))
				}
			})
		}
	}
}

func TestStepsOfARunWithoutItsSpanAreOneRun(t *testing.T) {
	p := polling("a", true)
	build := func(parent int) *trace {
		tr := newTrace()
		tr.step(1, parent, 0, 2, list(user("run job 1")))
		tr.step(2, parent, 25, 26, p.request(1)).Status().SetCode(ptrace.StatusCodeError)
		for i := range 4 {
			from := 10 * (i + 1)
			tr.step(10+i, parent, from-1, from+6, p.request(i))
			tr.chat(20+i, 10+i, from, from+5, p.request(i), list(append(append([]string{}, p.asks...), says("done"))[i]))
			tr.step(50+i, parent, from+5, from+6, p.request(i)) // holds no call
			if i < 3 {
				tr.step(30+i, parent, from+6, from+9, p.request(i))
				tr.tool([]string{"start", "poll", "poll"}[i], 40+i, 30+i, from+7, from+8, fmt.Sprintf("call_a_%04d", i), `{"job":1}`, fmt.Sprintf("result %d", i))
			}
		}
		return tr
	}
	t.Run("they miss the same parent", func(t *testing.T) { wantPolls(t, build(99).runs(t), 1) })
	t.Run("nothing stands above them", func(t *testing.T) { wantPolls(t, build(0).runs(t), 1) })
}

func TestEqualRunsAtTheSameTimeStayTwo(t *testing.T) {
	for name, ids := range map[string]bool{"calls with ids": true, "calls without ids": false} {
		t.Run("agents in one trace, "+name, func(t *testing.T) {
			tr := newTrace()
			for k, run := range []string{"a", "b"} {
				tr.agent("clerk", 1+k, 99, k, 100)
				p := polling(run, ids)
				for i := range 4 {
					p.calls(tr, i, 1+k, 200*k+10*i+1)
				}
			}
			for _, rs := range tr.td.ResourceSpans().All() { // the second runs at the time of the first
				for _, ss := range rs.ScopeSpans().All() {
					for _, s := range ss.Spans().All() {
						if s.ParentSpanID() == spanID(2) {
							s.SetStartTimestamp(s.StartTimestamp() + at(1) - at(200))
							s.SetEndTimestamp(s.EndTimestamp() + at(1) - at(200))
						}
					}
				}
			}
			wantPolls(t, tr.runs(t), 2)
		})
		t.Run("halves in traces of their own, "+name, func(t *testing.T) {
			var traces []*trace
			for k, run := range []string{"a", "b"} {
				p := polling(run, ids)
				first, second := newTrace(), newTrace()
				first.agent("clerk", 1, 0, 0, 100)
				p.calls(first, 0, 1, 10)
				p.calls(first, 1, 1, 20)
				p.calls(second, 2, 0, 30)
				p.calls(second, 3, 0, 40)
				traces = append(traces, first.numbered(byte(1+k)), second.numbered(byte(3+k)))
			}
			tapes := all(t, traces...)
			if ids {
				wantPolls(t, tapes, 2)
				return
			}
			for _, tp := range tapes { // which half goes on with which is not known
				if tp.Usage.ModelCalls > 2 {
					t.Errorf("a guess: %v", events(tp))
				}
			}
		})
	}
}

// Requests without a span above them, each in a trace of its own, as a provider's SDK writes them.
func TestEqualConversationsOfBareCallsAreToldApartByTheIDsOfTheirCalls(t *testing.T) {
	var traces []*trace
	for k, run := range []string{"a", "b"} {
		p := polling(run, true)
		for i := range 4 {
			tr := newTrace()
			answer := says("done")
			if i < 3 {
				answer = p.asks[i]
			}
			tr.chat(1, 0, 10*i+k, 10*i+k+5, p.request(i), list(answer))
			traces = append(traces, tr.numbered(byte(1+10*k+i)))
		}
	}
	tapes := all(t, traces...)
	wantPolls(t, tapes, 2)
	for _, tp := range tapes {
		run := tp.Events[1].ToolCallID[:6]
		for _, e := range tp.Events {
			if e.Type == tape.EventToolCall && !strings.HasPrefix(e.ToolCallID, run) {
				t.Errorf("call %s on the tape of %s", e.ToolCallID, run)
			}
		}
	}
}

func TestNextTurnOfAConversationIsARunOfItsOwn(t *testing.T) {
	ask, again := asks(call("call_0001", "find", `{"n":1}`)), asks(call("call_0002", "find", `{"n":2}`))
	turn := []string{user("one"), ask, shows("call_0001", "r1"), says("first")}
	first := func(tr *trace, parent int) {
		tr.chat(1, parent, 1, 5, list(turn[:1]...), list(ask))
		tr.tool("find", 2, parent, 6, 7, "call_0001", `{"n":1}`, "r1")
		tr.chat(3, parent, 8, 9, list(turn[:3]...), list(turn[3]))
	}
	second := func(tr *trace, parent int) {
		tr.chat(11, parent, 21, 25, list(append(turn[:4:4], user("two"))...), list(again))
		tr.tool("find", 12, parent, 26, 27, "call_0002", `{"n":2}`, "r2")
		tr.chat(13, parent, 28, 29, list(append(turn[:4:4], user("two"), again, shows("call_0002", "r2"))...), list(says("second")))
	}
	check := func(t *testing.T, tapes []*tape.Tape) {
		t.Helper()
		if len(tapes) != 2 {
			t.Fatalf("%d runs %v, want 2", len(tapes), roots(tapes))
		}
		for i, want := range []string{"first", "second"} {
			if tp := tapes[i]; tp.Usage.ModelCalls != 2 || tp.Usage.ToolCalls != 1 || tp.Output.Text == nil || *tp.Output.Text != want {
				t.Errorf("run %d: %v", i, events(tp))
			}
		}
		if in := tapes[1].Input; in.UserMessage == nil || *in.UserMessage != "two" || len(in.Messages) != 5 {
			t.Errorf("the second run was asked %v with %d messages", in.UserMessage, len(in.Messages))
		}
	}
	t.Run("bare calls", func(t *testing.T) {
		tr := newTrace()
		first(tr, 0)
		second(tr, 0)
		check(t, tr.runs(t))
	})
	t.Run("steps", func(t *testing.T) {
		tr := newTrace()
		tr.step(50, 0, 0, 10, list(user("one")))
		first(tr, 50)
		tr.step(51, 0, 20, 30, list(user("two")))
		second(tr, 51)
		check(t, tr.runs(t))
	})
	t.Run("traces", func(t *testing.T) {
		a, b := newTrace(), newTrace()
		first(a, 0)
		second(b, 0)
		check(t, all(t, a.numbered(1), b.numbered(2)))
	})
}

func TestParallelConversationsWithTheSameInstructionsStayApart(t *testing.T) {
	system := `{"role":"system","parts":[{"type":"text","content":"be brief"}]}`
	tr := newTrace()
	for k := range 3 {
		ask := asks(call("", "find", fmt.Sprintf(`{"n":%d}`, k)))
		q := user(fmt.Sprintf("question %d", k))
		tr.chat(10+k, 0, k, 10+k, list(system, q), list(ask))
		tr.tool("find", 20+k, 0, 20+k, 25+k, "", fmt.Sprintf(`{"n":%d}`, k), fmt.Sprintf("found %d", k))
		tr.chat(30+k, 0, 30+k, 40+k, list(system, q, ask, shows("", fmt.Sprintf("found %d", k))), list(says(fmt.Sprintf("answer %d", k))))
	}
	tapes := tr.runs(t)
	if len(tapes) != 3 {
		t.Fatalf("%d runs, want 3", len(tapes))
	}
	for k, tp := range tapes {
		if tp.Usage.ModelCalls != 2 || tp.Usage.ToolCalls != 1 || *tp.Output.Text != fmt.Sprintf("answer %d", k) {
			t.Errorf("run %d: %v", k, events(tp))
		}
	}
}

func TestToolCallInATraceOfItsOwnBelongsToTheOnlyRunThatAskedForIt(t *testing.T) {
	run := func(n byte, open bool) *trace {
		tr := newTrace()
		tr.agent("clerk", 1, 0, 0, 100)
		ask := asks(call("", "find", `{"n":1}`))
		tr.chat(2, 1, 1, 10, list(user(fmt.Sprintf("question %d", n))), list(ask))
		if !open {
			tr.tool("find", 3, 1, 11, 12, "", `{"n":1}`, "r")
		}
		tr.chat(4, 1, 31, 40, list(user(fmt.Sprintf("question %d", n)), ask, shows("", "r")), list(says("end")))
		return tr.numbered(n)
	}
	tool := func(args string) *trace {
		tr := newTrace()
		tr.tool("find", 9, 0, 11, 20, "", args, "r")
		return tr.numbered(9)
	}
	for name, c := range map[string]struct {
		traces []*trace
		tapes  int
	}{
		"one run asked for it":               {[]*trace{run(1, true), tool(`{"n":1}`)}, 1},
		"in the other run it was executed":   {[]*trace{run(1, true), run(2, false), tool(`{"n":1}`)}, 2},
		"two runs asked for it":              {[]*trace{run(1, true), run(2, true), tool(`{"n":1}`)}, 3},
		"nobody asked with these arguments":  {[]*trace{run(1, true), tool(`{"n":2}`)}, 2},
		"it was executed in the only run":    {[]*trace{run(1, false), tool(`{"n":1}`)}, 2},
		"an envelope around what was asked":  {[]*trace{run(1, true), tool(`{"kwargs":{"n":1}}`)}, 1},
		"the program passes more":            {[]*trace{run(1, true), tool(`{"kwargs":{"n":1,"ctx":"<Context>"}}`)}, 1},
		"its arguments were not recorded":    {[]*trace{run(1, true), tool("")}, 1},
		"not recorded, and two asked for it": {[]*trace{run(1, true), run(2, true), tool("")}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			if tapes := all(t, c.traces...); len(tapes) != c.tapes {
				t.Errorf("%d tapes, want %d", len(tapes), c.tapes)
			}
		})
	}
}

func TestResultThatTheModelIsToldAsAUserBeginsNoRun(t *testing.T) {
	build := func(second string) []*tape.Tape {
		first, other := newTrace(), newTrace()
		first.agent("clerk", 1, 0, 0, 100)
		first.chat(2, 1, 1, 10, list(user("q")), list(asks(call("call_0001", "find", `{"n":1}`))))
		first.tool("find", 3, 1, 11, 12, "", `{"n":1}`, "r")
		other.chat(4, 0, 20, 30, second, list(says("end")))
		return all(t, first.numbered(1), other.numbered(2))
	}
	tp := the(t, build(list(user("q"), user("Calling tools: [{'id': 'call_0001'}]"), user("Observation: r"))))
	if tp.Usage.ModelCalls != 2 || tp.Output.Text == nil || *tp.Output.Text != "end" {
		t.Errorf("%v", events(tp))
	}
	if tapes := build(list(user("q"), asks(call("call_0001", "find", `{"n":1}`)), user("never mind"))); len(tapes) != 2 {
		t.Errorf("%d runs, want 2: the user said something else", len(tapes))
	}
}

func TestRunThatFailedBeforeItsFirstCallIsNotAStepOfTheNext(t *testing.T) {
	tr := newTrace()
	tr.in("graph", "graph", 1, 99, 0, 5, "openinference.span.kind", "CHAIN", "input.value", "q", "error.type", "KeyError").Status().SetCode(ptrace.StatusCodeError)
	tr.in("graph", "graph", 2, 99, 10, 50, "openinference.span.kind", "CHAIN", "input.value", "q")
	tr.chat(3, 2, 11, 20, list(user("q")), list(says("a")))
	if tapes := tr.runs(t); len(tapes) != 2 {
		t.Errorf("%d runs, want 2", len(tapes))
	}
}

func TestConversationsOfTwoServicesAreNotJoined(t *testing.T) {
	p := polling("a", true)
	first, second := newTrace(), newTrace()
	first.agent("clerk", 1, 0, 0, 100)
	p.calls(first, 0, 1, 10)
	p.calls(first, 1, 1, 20)
	p.calls(second, 2, 0, 30)
	p.calls(second, 3, 0, 40)
	if tapes := all(t, first.numbered(1), second.numbered(2).service("another")); len(tapes) != 2 {
		t.Errorf("%d runs, want 2", len(tapes))
	}
}

func TestErrorThatTheModelIsToldAsAUserBeginsNoRun(t *testing.T) {
	tr := newTrace()
	ask := asks(call("call_0001", "find", `{"id":"R-404"}`))
	tr.step(1, 99, 0, 12, "")
	tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
	tr.step(3, 99, 20, 40, "")
	tr.chat(4, 3, 21, 30, list(user("q"), user("Error: find failed with arguments {'id': 'R-404'}")), list(says("end")))
	tp := the(t, tr.runs(t))
	if tp.Usage.ModelCalls != 2 || tp.Output.Text == nil || *tp.Output.Text != "end" {
		t.Errorf("%v", events(tp))
	}
}

// A step of which one call failed may answer none of its calls: the model is told as a user what that call said. A user who says something else begins a run.
func TestWhatAFailedToolSaidToTheModelAsAUserBeginsNoRun(t *testing.T) {
	build := func(text, second string, failed bool) []*tape.Tape {
		tr := newTrace()
		tr.step(1, 99, 0, 18, "")
		ask := asks(call("call_0001", "find", `{"deep":{"id":"R-404","all":true}}`), call("call_0002", "find", `{"deep":{}}`))
		if text != "" {
			ask = strings.Replace(ask, `"parts":[`, `"parts":[{"type":"text","content":"`+text+`"},`, 1)
		}
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("find", 5, 1, 11, 13, "", `{"deep":{}}`, "r")
		tool := tr.tool("find", 6, 1, 12, 14, "", `{"deep":{"id":"R-404","all":true}}`, "")
		if failed {
			tool.Status().SetCode(ptrace.StatusCodeError)
			tool.Status().SetMessage("ToolError: no such shelf")
			e := tool.Events().AppendEmpty()
			e.SetName("exception")
			e.Attributes().PutStr("exception.type", "ToolError")
			e.Attributes().PutStr("exception.message", "no such shelf")
		}
		tr.step(3, 99, 20, 40, "")
		request := []string{user("q")}
		if text != "" {
			request = append(request, says(text))
		}
		tr.chat(4, 3, 21, 30, list(append(request, user(second))...), list(says("end")))
		return tr.runs(t)
	}
	for _, text := range []string{"", "I look it up."} {
		tp := the(t, build(text, "Error: find with {'deep': {'id': 'R-404'}}: no such shelf. Try again.", true))
		if tp.Usage.ModelCalls != 2 || tp.Usage.ToolCalls != 2 || tp.Output.Text == nil || *tp.Output.Text != "end" {
			t.Errorf("%v", events(tp))
		}
		if tapes := build(text, "never mind then", true); len(tapes) != 2 {
			t.Errorf("%d runs, want 2: the user said something else", len(tapes))
		}
		if tapes := build(text, "Error: no such shelf", false); len(tapes) != 2 {
			t.Errorf("%d runs, want 2: nothing failed", len(tapes))
		}
	}
}

func TestSpanOfARunIsJoinedWithTheOnlyCallThatAnsweredAsItDid(t *testing.T) {
	build := func(answers ...string) []*tape.Tape {
		first := newTrace()
		first.in("graph", "graph", 1, 0, 0, 100, "openinference.span.kind", "CHAIN", "input.value", "q", "output.value", "it is so")
		traces := []*trace{first.numbered(1)}
		for i, answer := range answers {
			second := newTrace()
			second.step(2, 0, 10+i, 30, list(user("q")))
			second.chat(3, 2, 11+i, 20, list(user("q")), list(says(answer)))
			traces = append(traces, second.numbered(byte(2+i)))
		}
		return all(t, traces...)
	}
	if tp := the(t, build("it is so")); tp.Usage.ModelCalls != 1 || len(tp.Sources.TraceIDs) != 2 {
		t.Errorf("%v", events(tp))
	}
	if tapes := build("it is not"); len(tapes) != 2 {
		t.Errorf("%d runs, want 2: another answer", len(tapes))
	}
	if tapes := build("it is so", "it is so"); len(tapes) != 3 {
		t.Errorf("%d runs, want 3: which of two is not known", len(tapes))
	}
}

func TestToolCallWhoseClockIsBehindStandsAfterWhatAskedForIt(t *testing.T) {
	ask := asks(call("call_0001", "find", `{"n":1}`))
	first, second := newTrace(), newTrace()
	first.agent("clerk", 1, 0, 0, 100)
	first.chat(2, 1, 1, 10, list(user("q")), list(ask))
	first.chat(4, 1, 31, 40, list(user("q"), ask, shows("call_0001", "r")), list(says("end")))
	second.tool("find", 3, 0, 11, 12, "call_0001", `{"n":1}`, "r")
	tp := the(t, all(t, first.numbered(1), second.numbered(2).moved(-2000)))
	wantEvents(t, tp, "model_call @2", "tool_call find @3 by 1 = r", "model_call @4")
	wantCodes(t, tp, "joined", "clock_skew")
	if got := tp.Events[1].StartedAt.UnixMilli() - epoch; got != 11-2000 {
		t.Errorf("the call is said to start at %d ms, not when its span says", got)
	}
}

// Nothing but ids and content tells the order of these parts, because the clock of the second one is two seconds behind.
func TestPartsWhoseClockIsBehindAreOrderedByCause(t *testing.T) {
	run := []any{"gen_ai.conversation.id", "s1", "gcp.vertex.agent.invocation_id", "e-1"}
	for _, name := range []string{"a tool alone", "a tool and a turn", "a hand-off"} {
		t.Run(name, func(t *testing.T) {
			first, second := newTrace(), newTrace()
			ask := asks(call("call_0001", "f", `{"x":1}`), call("call_0002", "g", `{"y":1}`))
			if name == "a hand-off" {
				ask = asks(call("call_0001", "transfer_to_agent", `{"agent_name":"expert"}`))
			}
			first.in("gcp.vertex.agent", "invoke_agent clerk", 1, 0, 0, 100, append([]any{"gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "clerk"}, run...)...)
			first.chat(2, 1, 1, 10, list(user("q")), list(ask), run...)
			switch name {
			case "a tool alone":
				first.tool("f", 3, 1, 11, 15, "call_0001", `{"x":1}`, "r", run...)
				second.tool("g", 4, 0, 12, 40, "call_0002", `{"y":1}`, "s", run...)
				first.chat(5, 1, 50, 60, list(user("q"), ask, shows("call_0001", "r"), shows("call_0002", "s")), list(says("end")), run...)
			case "a tool and a turn":
				first.tool("f", 3, 1, 11, 15, "call_0001", `{"x":1}`, "r", run...)
				second.tool("g", 4, 0, 12, 40, "call_0002", `{"y":1}`, "s", run...)
				second.chat(5, 0, 50, 60, list(user("q"), ask, shows("call_0001", "r"), shows("call_0002", "s")), list(says("end")), run...)
			default:
				first.tool("transfer_to_agent", 3, 1, 11, 15, "call_0001", `{"agent_name":"expert"}`, "queued", run...)
				second.in("gcp.vertex.agent", "invoke_agent expert", 4, 0, 20, 80, append([]any{"gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", "expert"}, run...)...)
				second.chat(5, 4, 50, 60, list(user("For context: q")), list(says("end")), run...)
			}
			tp := the(t, all(t, first.numbered(1), second.numbered(2).moved(-2000)))
			var order []string
			for _, e := range tp.Events {
				if e.Type != tape.EventAgentCall && len(e.SpanIDs) > 0 {
					order = append(order, e.SpanIDs[0][len(e.SpanIDs[0])-1:])
				}
			}
			want := []string{"2", "3", "4", "5"}
			if name == "a hand-off" {
				want = []string{"2", "3", "5"}
			} else if len(order) == 4 {
				slices.Sort(order[1:3]) // the tools ran beside each other
			}
			if !slices.Equal(order, want) || tp.Input.UserMessage == nil || *tp.Input.UserMessage != "q" || tp.Output.Text == nil || *tp.Output.Text != "end" {
				t.Errorf("events %v, asked %v, answered %v", events(tp), tp.Input.UserMessage, tp.Output.Text)
			}
			wantCodes(t, tp, "clock_skew")
		})
	}
}

// A message in the role of the user that follows a result and quotes the task is the framework's, which wants an answer now.
func TestTaskThatIsQuotedBeginsNoRun(t *testing.T) {
	ask := asks(call("c1", "crawl", `{"page":1}`))
	for text, want := range map[string]int{"Based on the above, answer: Crawl the site.": 1, "And now another site.": 2} {
		tr := newTrace()
		tr.chat(1, 0, 0, 10, list(user("Crawl the site.")), list(ask))
		tr.chat(2, 0, 20, 30, list(user("Crawl the site."), ask, shows("c1", "next: 2"), user(text)), list(says("end")))
		if runs := tr.runs(t); len(runs) != want {
			t.Errorf("%q: %d runs, want %d", text, len(runs), want)
		}
	}
}

// The Responses API takes instructions beside the messages: that a request shows none does not mean that there were none.
func TestInstructionsOfTheResponsesAPIMayBeMissing(t *testing.T) {
	for id, want := range map[string]bool{"resp_1": true, "chatcmpl-1": false, "msg_1": true} {
		tr := newTrace()
		provider := map[bool]string{true: "anthropic", false: "openai"}[id == "msg_1"] // its API takes them beside the messages too
		tr.chat(1, 0, 0, 10, list(user("q")), list(says("end")), "gen_ai.response.id", id, "gen_ai.provider.name", provider)
		if got := slices.ContainsFunc(the(t, tr.runs(t)).Fidelity.Findings, func(f tape.Finding) bool { return f.Field == "input.system_prompt" }); got != want {
			t.Errorf("%s: finding %v, want %v", id, got, want)
		}
	}
}

func TestAgentsBesideTheRunWhoseToolTheyWereAreNoRunsOfTheirOwn(t *testing.T) {
	build := func(answer string, later int) []*tape.Tape {
		tr := newTrace()
		ask := asks(call("call_0001", "billing", `{"q":"why"}`))
		tr.agent("clerk", 1, 99, 0, 12)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.agent("biller", 3, 99, 20+later, 30+later)
		tr.chat(4, 3, 21+later, 29+later, list(user("why")), list(says(answer)))
		tr.agent("clerk", 5, 99, 40, 50)
		tr.chat(6, 5, 41, 49, list(user("q"), ask, shows("call_0001", "Twice on the same day.")), list(says("end")))
		return tr.runs(t)
	}
	tp := the(t, build("Twice on the same day.", 0))
	if tp.Usage.ModelCalls != 3 || tp.Output.Text == nil || *tp.Output.Text != "end" || tp.Input.UserMessage == nil || *tp.Input.UserMessage != "q" {
		t.Errorf("%v", events(tp))
	}
	if tapes := build("Once.", 0); len(tapes) != 2 {
		t.Errorf("%d runs, want 2: another answer", len(tapes))
	}
	if tapes := build("Twice on the same day.", 40); len(tapes) != 2 {
		t.Errorf("%d runs, want 2: it ended after its answer was read", len(tapes))
	}
}

func TestAgentThatIsAToolInATraceOfItsOwnBelongsToTheRunThatWasToldItsAnswer(t *testing.T) {
	build := func(first string, told int, answer string) []*tape.Tape {
		begins, agent, ends := newTrace(), newTrace(), newTrace()
		ask := asks(`{"type":"text","content":"Let me ask."}`, call("call_0001", "billing", `{"q":"why"}`))
		begins.chat(1, 0, 0, 10, list(user("q")), list(map[string]string{"": ask}[first]+first))
		agent.chat(2, 0, 11, 20, list(user("why")), list(says("Twice on the same day.")))
		ends.chat(3, 0, told, 40, list(user("q"), ask, shows("call_0001", answer)), list(says("end")))
		return all(t, begins.numbered(1), agent.numbered(2), ends.numbered(3))
	}
	for name, first := range map[string]string{"asked for": "", "the answer was recorded without its calls": says("Let me ask.")} {
		for at, told := range map[string]int{"after it": 21, "its clock counts whole milliseconds": 18} {
			tp := the(t, build(first, told, "Twice on the same day."))
			if tp.Usage.ModelCalls != 3 || tp.Output.Text == nil || *tp.Output.Text != "end" || *tp.Input.UserMessage != "q" {
				t.Errorf("%s, told %s: %v", name, at, events(tp))
			}
		}
	}
	if tapes := build("", 12, "Twice on the same day."); len(tapes) != 2 {
		t.Errorf("%d runs, want 2: the agent answered long after the run was told", len(tapes))
	}
	if tapes := build("", 21, "Once."); len(tapes) != 2 {
		t.Errorf("%d runs, want 2: the run was told something else", len(tapes))
	}
}

// Traceloop for LangChain.js: the span of a graph tells the whole conversation, and what it called lies in traces of their own.
func TestToolInATraceOfItsOwnBelongsToTheGraphWhoseConversationAskedForIt(t *testing.T) {
	build := func(id, args string) []*tape.Tape {
		const asked = "call_0001"
		message := func(class, kwargs string) string {
			return `{"lc":1,"type":"constructor","id":["langchain_core","messages","` + class + `"],"kwargs":{` + kwargs + `}}`
		}
		graph, tool, node := newTrace(), newTrace(), newTrace()
		graph.in("@traceloop/instrumentation-langchain", "workflow Graph", 1, 0, 0, 100, "traceloop.span.kind", "workflow", "traceloop.workflow.name", "Graph",
			"traceloop.entity.input", `{"messages":[`+message("HumanMessage", `"content":"q"`)+`]}`,
			"traceloop.entity.output", `{"messages":[`+message("HumanMessage", `"content":"q"`)+`,`+message("AIMessage", `"content":"","tool_calls":[{"name":"look","args":{"n":1},"id":"`+asked+`"}]`)+`,`+
				message("ToolMessage", `"content":"seven","tool_call_id":"`+asked+`"`)+`,`+message("AIMessage", `"content":"end"`)+`]}`)
		tool.tool("look", 2, 0, 20, 30, id, args, "seven")
		node.in("@traceloop/instrumentation-langchain", "workflow RunnableSequence", 3, 0, 19, 31, "traceloop.span.kind", "workflow", "traceloop.workflow.name", "RunnableSequence",
			"traceloop.entity.input", `{"messages":[`+message("HumanMessage", `"content":"q"`)+`]}`, "traceloop.entity.output", `{"messages":[`+message("ToolMessage", `"content":"seven"`)+`]}`)
		return all(t, graph.numbered(1), tool.numbered(2), node.numbered(3))
	}
	if tp := the(t, build("call_0001", `{"n":1}`)); tp.Usage.ToolCalls != 1 || tp.Output.Text == nil || *tp.Output.Text != "end" {
		t.Errorf("%v", events(tp))
	}
	if tapes := build("call_0002", `{"n":2}`); len(tapes) != 2 {
		t.Errorf("%d runs, want 2: another call", len(tapes))
	}
}

// The span of a run ends when a function hands out a stream, and the calls that reading it makes lie in traces of their own.
func TestCallsOfAStreamBelongToTheSpanThatHandedItOut(t *testing.T) {
	type part struct {
		start int
		calls bool
		text  string
	}
	for name, c := range map[string]struct {
		parts []part
		runs  int
	}{
		"one stream":                 {[]part{{0, false, "quote"}, {2, true, "quote"}}, 1},
		"one after the other":        {[]part{{0, false, "quote"}, {2, true, "quote"}, {100, false, "quote"}, {102, true, "quote"}}, 2},
		"two that were not read yet": {[]part{{0, false, "quote"}, {1, false, "quote"}, {2, true, "quote"}}, 3},
		"two that were asked so":     {[]part{{0, false, "quote"}, {2, true, "quote"}, {20, true, "quote"}}, 3},
		"another question":           {[]part{{0, false, "quote"}, {2, true, "hello"}}, 2},
		"long after":                 {[]part{{0, false, "quote"}, {60_000, true, "quote"}}, 2},
		"calls before the run":       {[]part{{0, true, "quote"}, {20, false, "quote"}}, 2},
		"another run in between":     {[]part{{0, false, "quote"}, {2, true, "hello"}, {20, true, "quote"}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			traces := make([]*trace, len(c.parts))
			for i, p := range c.parts {
				tr := newTrace()
				if p.calls {
					tr.chat(1, 0, 0, 5, list(user(p.text)), list(says(fmt.Sprintf("answer %d", i))))
				} else {
					tr.agent("clerk", 1, 0, 0, 1, "gen_ai.input.messages", list(user(p.text)))
				}
				traces[i] = tr.numbered(byte(i + 1)).moved(p.start)
			}
			if got := len(all(t, traces...)); got != c.runs {
				t.Errorf("%d runs, want %d", got, c.runs)
			}
		})
	}
}

// Anthropic's SDK for JavaScript writes spans of its own, without content. Those of streams lie in traces of their own.
func TestModelCallWithoutContentInATraceOfItsOwnIsTheOneThatTookTheSameTokens(t *testing.T) {
	const sdk = "com.anthropic.sdk.typescript"
	build := func(in, tokens, start, others int, scope, name string) []*tape.Tape {
		usage := func(in, n int) []any {
			return []any{"gen_ai.response.model", "m-2026-01-01", "gen_ai.usage.input_tokens", in, "gen_ai.usage.output_tokens", n}
		}
		said := newTrace()
		said.chat(1, 0, 10, 20, list(user("q")), list(says("end")), usage(in, 12)...)
		traces := []*trace{said.numbered(1)}
		for i := range 1 + others {
			hollow := newTrace()
			hollow.in(scope, name, 2+i, 0, start, start+9, append([]any{"gen_ai.operation.name", "chat", "gen_ai.request.model", "m"}, usage(40, tokens)...)...)
			traces = append(traces, hollow.numbered(byte(2+i)))
		}
		return all(t, traces...)
	}
	for _, scope := range []string{sdk, "test"} { // one that writes all spans of a program tells the two by their names
		for _, in := range []int{40, 0} { // a stream of LangChain's does not tell what went in: nothing is sent without a token
			if tp := the(t, build(in, 12, 12, 0, scope, "anthropic.messages.create")); tp.Usage.ModelCalls != 1 {
				t.Errorf("%v", events(tp))
			}
		}
	}
	if tapes := build(40, 12, 12, 0, "test", "chat m1"); len(tapes) != 2 {
		t.Errorf("two calls of one instrumentation: %d runs", len(tapes))
	}
	for _, c := range []struct {
		why                             string
		in, tokens, start, others, want int
	}{{"other tokens", 40, 13, 12, 0, 2}, {"another time", 40, 12, 50, 0, 2}, {"two such spans", 40, 12, 12, 1, 3}, {"others in", 41, 12, 12, 0, 2}, {"others out of an unknown number", 0, 13, 12, 0, 2}} {
		if tapes := build(c.in, c.tokens, c.start, c.others, sdk, "anthropic.messages.create"); len(tapes) != c.want {
			t.Errorf("%s: %d runs, want %d", c.why, len(tapes), c.want)
		}
	}
}

// A framework and a client below it both report the call, with its content, and the SDK writes a span without any in a trace of its own; so may a gateway around that.
func TestModelCallWithoutContentIsTheOneThatTwoInstrumentationsReport(t *testing.T) {
	build := func(tokens int) []*tape.Tape {
		usage := func(out int) []any {
			return []any{"gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.response.model", "m-2026-01-01", "gen_ai.usage.input_tokens", 40, "gen_ai.usage.output_tokens", out}
		}
		content := append(usage(12), "gen_ai.input.messages", list(user("q")), "gen_ai.output.messages", list(says("end")))
		said, hollow := newTrace(), newTrace()
		said.in("framework", "chat model", 1, 0, 10, 22, content...)
		said.in("client", "messages", 2, 1, 11, 21, content...)
		hollow.in("gateway", "POST", 3, 0, 12, 20, usage(tokens)...)
		hollow.in("com.anthropic.sdk.typescript", "anthropic.messages.create", 4, 3, 13, 19, usage(tokens)...)
		return all(t, said.numbered(1), hollow.numbered(2))
	}
	if tp := the(t, build(12)); tp.Usage.ModelCalls != 1 {
		t.Errorf("%v", events(tp))
	}
	if tapes := build(13); len(tapes) != 2 {
		t.Errorf("another call: %v", events(tapes[0]))
	}
}

// The provider's SDK wrote the calls of a run in a trace of its own, without content. The one that failed has no response, and lies where the others lie.
func TestFailedCallInTheTraceOfAClientBelongsToTheRunOfTheOthers(t *testing.T) {
	build := func(id string) []*tape.Tape {
		run, client := newTrace(), newTrace()
		run.agent("a", 1, 0, 0, 100)
		run.chat(2, 1, 10, 20, list(user("q")), list(asks(call("call_0001", "f", `{}`))), "gen_ai.response.id", "msg_0123456789")
		run.tool("f", 3, 1, 30, 40, "call_0001", `{}`, "r")
		client.in("com.anthropic.sdk.python", "anthropic.messages.create", 12, 90, 11, 19, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "gen_ai.response.id", id)
		failed := client.in("com.anthropic.sdk.python", "anthropic.messages.create", 13, 90, 50, 60, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m", "error.type", "invalid_request_error")
		failed.Status().SetCode(ptrace.StatusCodeError)
		return all(t, run.numbered(1), client.numbered(2))
	}
	if tapes := build("msg_0123456789"); len(tapes) != 1 {
		t.Errorf("%d runs", len(tapes))
	}
	if tapes := build("msg_9876543210"); len(tapes) != 2 {
		t.Errorf("calls of another run: %d runs", len(tapes))
	}
}

// Langfuse tells of an answer of the Responses API its text alone, in a trace of its own beside the run of another instrumentation.
func TestModelCallToldInPartInATraceOfItsOwnIsTheOneThatTookTheSameTokens(t *testing.T) {
	build := func(text string, tokens, start int, scope string) []*tape.Tape {
		usage := func(n int) []any {
			return []any{"gen_ai.response.model", "m1", "gen_ai.usage.input_tokens", 40, "gen_ai.usage.output_tokens", n}
		}
		run, again, last := newTrace(), newTrace(), newTrace()
		ask := asks(`{"type":"text","content":"Let me look."}`, call("call_0001", "f", `{}`), call("call_0002", "f", `{}`))
		first, second := asks(`{"type":"text","content":"Let me look."}`, call("call_0001", "f", `{}`)), asks(call("call_0002", "f", `{}`))
		run.agent("a", 1, 0, 0, 100)
		run.chat(2, 1, 10, 20, list(user("q")), list(ask), usage(12)...)
		run.tool("f", 3, 1, 30, 40, "call_0001", `{}`, "r")
		run.tool("f", 4, 1, 30, 40, "call_0002", `{}`, "s")
		run.chat(5, 1, 50, 60, list(user("q"), first, second, shows("call_0001", "r"), shows("call_0002", "s")), list(says("That is the end.")), usage(5)...)
		tell := func(tr *trace, id, start, end int, sent, said string, tokens int) {
			tr.in(scope, "responses", id, 0, start, end, append([]any{"gen_ai.operation.name", "chat", "gen_ai.request.model", "m1", "gen_ai.input.messages", sent, "gen_ai.output.messages", said}, usage(tokens)...)...)
		}
		tell(again, 6, start, start+7, list(user("q")), list(says(text)), tokens)
		tell(last, 7, 51, 59, list(user("q"), ask, shows("call_0001", "r"), shows("call_0002", "s")), list(says("That is the end.")), 5)
		return all(t, run.numbered(1), again.numbered(2), last.numbered(3))
	}
	if tp := the(t, build("Let me look.", 12, 11, "sdk")); tp.Usage.ModelCalls != 2 || tp.Usage.ToolCalls != 2 {
		t.Errorf("%v", events(tp))
	}
	calls := func(tapes []*tape.Tape) (n int64) {
		for _, tp := range tapes {
			n += int64(tp.Usage.ModelCalls)
		}
		return n
	}
	for why, tapes := range map[string][]*tape.Tape{
		"another text": build("I know it.", 12, 11, "sdk"), "other tokens": build("Let me look.", 13, 11, "sdk"),
		"another time": build("Let me look.", 12, 70, "sdk"),
	} {
		if n := calls(tapes); n != 3 {
			t.Errorf("%s: %d model calls, want 3", why, n)
		}
	}
}

// Langfuse for JavaScript writes the calls of a streamed answer as one, with the texts of their arguments one behind the other.
func TestStreamedCallsThatWereRecordedAsOneAreGoneOnWith(t *testing.T) {
	build := func(args string) []*tape.Tape {
		first, second := newTrace(), newTrace()
		first.chat(1, 0, 0, 10, list(user("q")), list(asks(call("", "f", args))))
		second.chat(2, 0, 20, 30, list(user("q"), asks(call("call_0001", "f", `{"x":1}`), call("call_0002", "f", `{"x":2}`)), shows("call_0001", "r"), shows("call_0002", "s")), list(says("end")))
		return all(t, first.numbered(1), second.numbered(2))
	}
	tp := the(t, build(quote(`{"x":1}{"x":2}`)))
	if tp.Usage.ToolCalls != 2 || tp.Output.Text == nil || *tp.Output.Text != "end" {
		t.Errorf("%v", events(tp))
	}
	if tapes := build(quote(`{"x":1}{"x":3}`)); len(tapes) != 2 {
		t.Errorf("%d runs, want 2: another call", len(tapes))
	}
}
