// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/oracle"
	"github.com/tapedeck/tapedeck/tape"
)

func TestParallelIdenticalCallsAreCallsOfTheirOwn(t *testing.T) {
	ask := asks(call("c1", "now", `{"tz":"utc"}`), call("c2", "now", `{"tz":"utc"}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
	tr.tool("now", 3, 1, 20, 40, "c1", `{"tz":"utc"}`, "first")
	tr.tool("now", 4, 1, 20, 40, "c2", `{"tz":"utc"}`, "second")
	tr.chat(5, 1, 50, 60, list(user("q"), ask, shows("c1", "first"), shows("c2", "second")), list(says("end")))
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call @2", "tool_call now @3 by 1 = first", "tool_call now @4 by 1 = second", "model_call @5")
	withoutCodes(t, tp, "ambiguous_key@3", "result_rewritten@2", "result_rewritten@3")
	if ok := tp.Fidelity.Proof.OK; ok == nil || !*ok {
		t.Errorf("proof %+v", tp.Fidelity.Proof)
	}
}

func TestParallelIdenticalCallsWithoutIDsAreSaidToBeAmbiguous(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.tool("now", 3, 1, 20, 40, "", `{}`, "first")
	tr.tool("now", 4, 1, 30, 50, "", `{}`, "second")
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "tool_call now @3 = first", "tool_call now @4 = second")
	wantCodes(t, tp, "ambiguous_key@2")
}

func TestPollingWithTheSameArgumentsKeepsEveryAnswerInOrder(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 1000)
	history := []string{user("wait for it")}
	for i, state := range []string{"queued", "running", "done"} {
		id := "c" + string(rune('1'+i))
		ask := asks(call(id, "status", `{"job":7}`))
		tr.chat(10+2*i, 1, 100*i+1, 100*i+10, list(history...), list(ask))
		tr.tool("status", 11+2*i, 1, 100*i+20, 100*i+30, id, `{"job":7}`, state)
		history = append(history, ask, shows(id, state))
	}
	tr.chat(30, 1, 400, 410, list(history...), list(says("it is done")))
	tp := the(t, tr.runs(t))
	wantEvents(t, tp,
		"model_call @a", "tool_call status @b by 1 = queued",
		"model_call @c", "tool_call status @d by 3 = running",
		"model_call @e", "tool_call status @f by 5 = done",
		"model_call @1e")
	for i, e := range oracle.FromTape(tp) {
		if e.Occurrence != i+1 {
			t.Errorf("call %d is occurrence %d", i, e.Occurrence)
		}
	}
}

// The span of a call that threw may be lost. That of an equal call of a later turn, which began when the model had been told of the failure, is not its.
func TestACallIsNotGivenTheSpanOfOneThatRanWhenItsAnswerWasTold(t *testing.T) {
	for shown, want := range map[string][]string{
		"it threw":  {"tool_call f by 1 = it threw (recovered)", "tool_call f @7 = the weather is fine"},
		fineWeather: {"tool_call f @7 by 1 = the weather is fine"}, // late, but its own: the clock of the tool is ahead
	} {
		ask := asks(call("c1", "f", `{"x":1}`))
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.chat(3, 1, 20, 30, list(user("q"), ask, shows("c1", shown)), "")
		tr.tool("f", 7, 1, 40, 50, "", `{"x":1}`, fineWeather)
		var have []string
		for _, e := range events(the(t, tr.runs(t))) {
			if strings.HasPrefix(e, "tool_call") {
				have = append(have, e)
			}
		}
		if !slices.Equal(have, want) {
			t.Errorf("%q: %q, want %q", shown, have, want)
		}
	}
}

const fineWeather = "the weather is fine"

func TestResultIsRecoveredByItsID(t *testing.T) {
	ask := asks(call("c1", "f", `{"x":1}`), call("c2", "f", `{"x":2}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
	tr.chat(3, 1, 20, 30, list(user("q"), ask, shows("c2", "two"), shows("c1", "one")), list(says("end")))
	wantEvents(t, the(t, tr.runs(t)), "model_call @2", "tool_call f by 1 = one (recovered)", "tool_call f by 1 = two (recovered)", "model_call @3")
}

func TestResultIsRecoveredByItsPosition(t *testing.T) {
	ask := asks(call("", "f", `{"x":1}`), call("", "f", `{"x":2}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
	tr.chat(3, 1, 20, 30, list(user("q"), ask, shows("", "one"), shows("", "two")), list(says("end")))
	wantEvents(t, the(t, tr.runs(t)), "model_call @2", "tool_call f by 1 = one (recovered)", "tool_call f by 1 = two (recovered)", "model_call @3")
}

func TestResultIsNeverGuessed(t *testing.T) {
	two := asks(call("", "f", `{"x":1}`), call("", "f", `{"x":2}`))
	ids := asks(call("c1", "f", `{"x":1}`), call("c2", "f", `{"x":2}`))
	named := asks(call("", "f", `{"x":1}`), call("", "g", `{"x":2}`))
	for name, c := range map[string]struct {
		ask  string
		next []string
	}{
		"one result for two calls":    {two, []string{shows("", "one")}},
		"three results for two calls": {two, []string{shows("", "one"), shows("", "two"), shows("", "three")}},
		"ids of other calls":          {ids, []string{shows("x1", "one"), shows("x2", "two")}},
		"names of other calls": {named, []string{
			`{"role":"tool","parts":[{"type":"tool_call_response","name":"g","response":"two"}]}`,
			`{"role":"tool","parts":[{"type":"tool_call_response","name":"f","response":"one"}]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.agent("a", 1, 0, 0, 100)
			tr.chat(2, 1, 1, 10, list(user("q")), list(c.ask))
			tr.chat(3, 1, 20, 30, list(append([]string{user("q"), c.ask}, c.next...)...), list(says("end")))
			for _, e := range the(t, tr.runs(t)).Events {
				if e.Type == tape.EventToolCall && !e.Result.IsAbsent() {
					t.Errorf("the call of %s got %s", e.Args.JSON(), e.Result.JSON())
				}
			}
		})
	}
}

func TestErrorAndRetryAreTwoCalls(t *testing.T) {
	first, second := asks(call("c1", "f", `{"x":1}`)), asks(call("c2", "f", `{"x":1}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(first))
	tr.tool("f", 3, 1, 11, 12, "c1", `{"x":1}`, "", "error.type", "Timeout").Status().SetCode(ptrace.StatusCodeError)
	tr.chat(4, 1, 20, 30, list(user("q"), first, shows("c1", "Error: timeout")), list(second))
	tr.tool("f", 5, 1, 31, 32, "c2", `{"x":1}`, "ok")
	tr.chat(6, 1, 40, 50, list(user("q"), first, shows("c1", "Error: timeout"), second, shows("c2", "ok")), list(says("end")))
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call @2", "tool_call f @3 by 1 failed", "model_call @4", "tool_call f @5 by 3 = ok", "model_call @6")
	if e := tp.Events[1].Error; e == nil || e.Type != "Timeout" {
		t.Errorf("error %+v", e)
	}
	if tp.Run.Status != tape.StatusOK || tp.Fidelity.Grade != tape.GradeOffline {
		t.Errorf("status %s, grade %s", tp.Run.Status, tp.Fidelity.Grade)
	}
}

func TestFailedModelCallAndItsRetryAskForTheirToolsOnce(t *testing.T) {
	ask := asks(call("c1", "f", `{}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 5, list(user("q")), "", "error.type", "503").Status().SetCode(ptrace.StatusCodeError)
	tr.chat(3, 1, 6, 10, list(user("q")), list(ask))
	tr.tool("f", 4, 1, 11, 12, "c1", `{}`, "v")
	tr.chat(5, 1, 20, 30, list(user("q"), ask, shows("c1", "v")), list(says("end")))
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call @2 failed", "model_call @3", "tool_call f @4 by 2 = v", "model_call @5")
	if tp.Run.Status != tape.StatusOK {
		t.Errorf("status %s", tp.Run.Status)
	}
}

func TestCallThatNothingAnswersHasNoResult(t *testing.T) {
	ask := asks(call("c1", "f", `{}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
	tr.chat(3, 1, 20, 30, list(user("q"), ask, user("never mind")), list(says("fine")))
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call @2", "tool_call f by 1 failed (missing)", "model_call @3")
	wantCodes(t, tp, "unanswered_tool_call@2")
	if tp.Fidelity.Replayable.Tools {
		t.Error("the tools are said to be replayable")
	}
}

func TestTwoInstrumentationsOfOneModelCallAreOneEvent(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 20, list(user("q")), list(says("end")))
	tr.in("sdk", "chat m1", 3, 2, 5, 15, "gen_ai.operation.name", "chat", "gen_ai.response.id", "r1", "gen_ai.usage.input_tokens", 7, "gen_ai.response.finish_reasons", []any{"stop"})
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call @2+3")
	e := tp.Events[0]
	if e.Response.ID != "r1" || e.Usage == nil || *e.Usage.InputTokens != 7 || len(e.Request.Messages) != 1 || e.DurationMS != 10 {
		t.Errorf("response %+v, usage %+v, %d ms", e.Response, e.Usage, e.DurationMS)
	}
	wantCodes(t, tp, "duplicate_report@1")
	if *tp.Usage.InputTokens != 7 || tp.Usage.ModelCalls != 1 {
		t.Errorf("usage %+v", tp.Usage)
	}
}

func TestSiblingsWithOneResponseIDAreOneModelCall(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 20, list(user("q")), list(says("end")), "gen_ai.response.id", "r1")
	tr.in("sdk", "chat m1", 3, 1, 5, 15, "gen_ai.operation.name", "chat", "gen_ai.response.id", "r1")
	tr.chat(4, 1, 30, 40, list(user("q2")), list(says("end")), "gen_ai.response.id", "r1") // a cached answer, later
	wantEvents(t, the(t, tr.runs(t)), "model_call @2+3", "model_call @4")
}

func TestMCPClientAndServerBelowAToolSpanAreThatCall(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(asks(call("c1", "files_read", `{"path":"x"}`))))
	tr.tool("files_read", 3, 1, 20, 60, "c1", `{"path":"x"}`, "text")
	tr.in("mcp", "tools/call read", 4, 3, 25, 55, "mcp.method.name", "tools/call", "gen_ai.tool.name", "read", "gen_ai.tool.call.arguments", `{"path":"x"}`)
	tr.in("mcp", "tools/call read", 5, 4, 30, 50, "mcp.method.name", "tools/call", "gen_ai.tool.name", "read", "gen_ai.tool.call.result", `{"content":[{"type":"text","text":"text"}]}`)
	tr.in("mcp", "initialize", 6, 3, 21, 22, "mcp.method.name", "initialize")
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call @2", "tool_call files_read @3+4+5 by 1 = text")
}

func TestHandOffHasNoResultOfItsOwnAndLeadsToTheNextAgent(t *testing.T) {
	ask := asks(call("c1", "transfer_to_refunds", `{}`))
	tr := newTrace()
	tr.in("test", "invoke_workflow desk", 1, 0, 0, 100, "gen_ai.operation.name", "invoke_workflow", "gen_ai.workflow.name", "desk")
	tr.agent("triage", 2, 1, 1, 30)
	tr.chat(3, 2, 2, 10, list(user("refund me")), list(ask))
	tr.in("test", "handoff", 4, 2, 11, 12, "gen_ai.operation.name", "handoff", "gen_ai.tool.name", "transfer_to_refunds")
	tr.agent("refunds", 5, 1, 31, 60)
	tr.chat(6, 5, 32, 40, list(user("refund me"), ask, shows("c1", `{"assistant":"refunds"}`)), list(says("done")))
	tp := the(t, tr.runs(t))
	var handoff *tape.Event
	for i := range tp.Events {
		if e := &tp.Events[i]; e.Type == tape.EventAgentCall && e.Agent.Name == "refunds" {
			handoff = e
		}
	}
	if handoff == nil || handoff.Relation != tape.RelationHandoff || handoff.Via == 0 {
		t.Fatalf("the agent after the hand-off: %+v, events %v", handoff, events(tp))
	}
	if e := tp.Events[handoff.Via-1]; e.ToolKind != tape.ToolAgent || e.Name != "transfer_to_refunds" {
		t.Errorf("the hand-off is %s of kind %s", e.Name, e.ToolKind)
	}
}

func TestToolThatStartsBeforeItsRequestIsClockSkew(t *testing.T) {
	ask := asks(call("c1", "f", `{}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 1000)
	tr.chat(2, 1, 500, 510, list(user("q")), list(ask))
	tr.tool("f", 3, 1, 498, 499, "c1", `{}`, "v")
	tr.chat(4, 1, 520, 530, list(user("q"), ask, shows("c1", "v")), list(says("end")))
	wantEvents(t, the(t, tr.runs(t)), "model_call @2", "tool_call f @3 by 1 = v", "model_call @4")

	far := newTrace()
	far.agent("a", 1, 0, 0, 1000)
	far.chat(2, 1, 500, 510, list(user("q")), list(ask))
	far.tool("f", 3, 1, 100, 110, "c1", `{}`, "v")
	far.chat(4, 1, 200, 210, list(user("q"), ask, shows("c1", "v")), list(says("end")))
	for _, tp := range far.runs(t) {
		seen := 0
		for _, e := range tp.Events {
			if e.Type == tape.EventToolCall {
				seen++
			}
		}
		if seen == 0 {
			t.Errorf("the call is lost: %v", events(tp))
		}
	}
}

func TestResentMessagesWithOtherIDsCountOnce(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(asks(call("call_1", "f", `{"n":1}`))))
	tr.tool("f", 3, 1, 11, 12, "call_1", `{"n":1}`, "v")
	tr.chat(4, 1, 20, 30, list(user("q"), asks(call("fc_9", "f", `{"n": 1.0}`)), shows("fc_9", "v")), list(says("end")))
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call @2", "tool_call f @3 by 1 = v", "model_call @4")
	wantCodes(t, tp, "resent_changed@3")
	if len(tp.Messages) != 4 {
		t.Errorf("%d messages in the pool, want 4", len(tp.Messages))
	}
}

func TestConflictingPayloadsOfOneSpanAreBothCounted(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.tool("f", 2, 1, 10, 20, "c1", `{"x":1}`, "")
	tr.tool("f", 2, 1, 10, 20, "c1", `{"x":1}`, "v")
	tr.tool("f", 2, 1, 10, 20, "c1", `{"x":1}`, "v")
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "tool_call f @2 = v")
	wantCodes(t, tp, "conflicting_span@1")
	if tp.Sources.Spans != 3 {
		t.Errorf("%d distinct spans, want 3", tp.Sources.Spans)
	}
}

func TestEventsOfEveryPayloadOfASpanCount(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	event := func(s ptrace.Span, name, content string) {
		e := s.Events().AppendEmpty()
		e.SetName(name)
		e.SetTimestamp(s.StartTimestamp())
		e.Attributes().PutStr("content", content)
	}
	asked := tr.chat(2, 1, 10, 20, "", "", "gen_ai.response.id", "r1") // the most telling payload, without the answer
	event(asked, "gen_ai.user.message", "q")
	answered := tr.chat(2, 1, 10, 20, "", "")
	event(answered, "gen_ai.user.message", "q")
	event(answered, "gen_ai.choice", "r")
	tp := the(t, tr.runs(t))
	if tp.Output.Text == nil || *tp.Output.Text != "r" {
		t.Errorf("answer %v", tp.Output)
	}
	if n := len(tp.Events[0].Request.Messages); n != 1 {
		t.Errorf("%d messages in the request, want 1: the event that both payloads have counts once", n)
	}
}

func TestContentThatWasFetchedLaterIsNoConflict(t *testing.T) {
	refs := []any{"gen_ai.input.messages_ref", "s3://b/in.json", "gen_ai.output.messages_ref", "s3://b/out.json"}
	fetched := func(requests ...string) *trace {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 10, 20, "", "", refs...)
		for _, r := range requests {
			tr.chat(2, 1, 10, 20, r, "", refs...)
		}
		return tr
	}
	wantCodes(t, the(t, fetched().runs(t)), "external_content@1", "external_content@1", "external_content@1", "external_content@1")

	one := fetched(list(user("q")))
	one.chat(2, 1, 10, 20, "", list(says("r")), refs...)
	one.chat(2, 1, 10, 20, list(user("q")), list(says("r")), refs...)
	tp := the(t, one.runs(t))
	wantCodes(t, tp)
	if tp.Output.Text == nil || *tp.Output.Text != "r" {
		t.Errorf("answer %v", tp.Output)
	}

	wantCodes(t, the(t, fetched(list(user("q")), list(user("other"))).runs(t)), "conflicting_span@1", "external_content@1", "external_content@1")

	other := fetched(list(user("q")))
	other.chat(2, 1, 10, 21, "", "", refs...)
	wantCodes(t, the(t, other.runs(t)), "conflicting_span@1", "external_content@1", "external_content@1")

	unreferred := newTrace()
	unreferred.agent("a", 1, 0, 0, 100)
	unreferred.chat(2, 1, 10, 20, list(user("q")), "")
	unreferred.chat(2, 1, 10, 20, list(user("q")), list(says("r")))
	wantCodes(t, the(t, unreferred.runs(t)), "conflicting_span@1")
}

func TestSpanThatEndsBeforeItStartsHasNoDuration(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 50, 10)
	tr.chat(2, 1, 30, 20, list(user("q")), list(says("a")))
	tp := the(t, tr.runs(t))
	wantCodes(t, tp, "invalid_item@1", "invalid_item")
	if tp.Run.DurationMS < 0 || tp.Events[0].DurationMS != 0 {
		t.Errorf("durations %d and %d", tp.Run.DurationMS, tp.Events[0].DurationMS)
	}
}

func TestRunSpanWithoutAnEndIsIncomplete(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 0).SetEndTimestamp(0)
	tr.chat(2, 1, 1, 10, list(user("q")), list(says("a")))
	if tp := the(t, tr.runs(t)); tp.Run.Status != tape.StatusIncomplete {
		t.Errorf("status %s", tp.Run.Status)
	}
}

func TestStructuredContentIsReadLikeJSONText(t *testing.T) {
	messages := func(role, text string) []any {
		return []any{map[string]any{"role": role, "parts": []any{map[string]any{"type": "text", "content": text}}}}
	}
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	s := tr.chat(2, 1, 1, 10, "", "")
	put(s.Attributes(), []any{"gen_ai.input.messages", messages("user", "q"), "gen_ai.output.messages", messages("assistant", "a")})
	s = tr.tool("f", 3, 1, 20, 30, "", "", "")
	put(s.Attributes(), []any{"gen_ai.tool.call.arguments", map[string]any{"x": int64(1)}, "gen_ai.tool.call.result", map[string]any{"y": []any{true, nil, 1.5}}})
	tp := the(t, tr.runs(t))
	wantEvents(t, tp, "model_call @2", `tool_call f @3 = {"y":[true,null,1.5]}`)
	if got := tp.Events[1].Args.JSON(); got != `{"x":1}` {
		t.Errorf("arguments %s", got)
	}
	if tp.Input.UserMessage == nil || *tp.Input.UserMessage != "q" {
		t.Errorf("user message %v", tp.Input.UserMessage)
	}
}

func TestArgumentsThatWereNotRecordedAreNotEmptyArguments(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.tool("absent", 2, 1, 10, 11, "", "", "v")
	tr.tool("none", 3, 1, 20, 21, "", "None", "v")
	tr.tool("null", 4, 1, 30, 31, "", "null", "v")
	tr.tool("text", 5, 1, 40, 41, "", "just words", "v")
	tp := the(t, tr.runs(t))
	for i, want := range []struct{ args, label string }{{"", "missing"}, {"{}", ""}, {"{}", ""}, {`"just words"`, ""}} {
		e := tp.Events[i]
		if e.Args.JSON() != want.args && !(want.args == "" && e.Args.IsAbsent()) || string(e.Provenance["args"]) != want.label || e.ArgsHash == "" != (want.args == "") {
			t.Errorf("%s: arguments %q (%s), hash %q", e.Name, e.Args.JSON(), e.Provenance["args"], e.ArgsHash)
		}
	}
	wantCodes(t, tp, "args_missing@1", "args_empty@2", "args_empty@3", "args_not_json@4")
}

func TestResultOfAnIDThatTwoTurnsUseIsNotGuessedAfterTheHistoryWasCompacted(t *testing.T) {
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(asks(call("call_0", "f", `{"n":1}`))))
	tr.chat(3, 1, 20, 30, list(user("q2")), list(asks(call("call_0", "f", `{"n":2}`))))
	tr.chat(4, 1, 40, 50, list(user("what happened so far: …"), shows("call_0", "r")), list(says("end")))
	for _, e := range the(t, tr.runs(t)).Events {
		if e.Type == tape.EventToolCall && !e.Result.IsAbsent() {
			t.Errorf("the call of %s got %s", e.Args.JSON(), e.Result.JSON())
		}
	}
}

// Some instrumentations leave {} out. The definition of the tool, or another record, tells that it was called without arguments.
func TestEmptyArgumentsThatWereLeftOut(t *testing.T) {
	const takes, takesNothing = `[{"type":"function","name":"now","parameters":{"type":"object","properties":{"zone":{"type":"string"}}}}]`,
		`[{"type":"function","name":"now","parameters":{"type":"object","properties":{}}}]`
	for _, c := range []struct {
		name, asked, recorded, tools, want string
		served                             bool
	}{
		{"asked for with {}", `,"arguments":{}`, "", "", "{}", true},
		{"asked for with an empty text", `,"arguments":""`, "", "", "{}", true},
		{"null in both places", `,"arguments":null`, "null", "", "{}", true},
		{"in the span alone", "", "{}", "", "{}", true},
		{"nowhere, and the tool takes none", "", "", takesNothing, "{}", true},
		{"nowhere, and the tool takes some", "", "", takes, "null", false},
		{"nowhere, and nothing tells what it takes", "", "", "", "null", false},
	} {
		ask := `{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"now"` + c.asked + `}]}`
		tools := []any{}
		if c.tools != "" {
			tools = append(tools, "gen_ai.tool.definitions", c.tools)
		}
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask), tools...)
		tr.tool("now", 3, 1, 11, 12, "c1", c.recorded, "noon")
		tr.chat(4, 1, 20, 30, list(user("q"), ask, shows("c1", "noon")), list(says("end")))
		tp := the(t, tr.runs(t))
		if got := tp.Events[1].Args.JSON(); got != c.want || tp.Fidelity.Replayable.Tools != c.served {
			t.Errorf("%s: arguments %s, served %v; want %s, %v (%v)", c.name, got, tp.Fidelity.Replayable.Tools, c.want, c.served, codes(tp))
		}
		if missing := slices.Contains(codes(tp), "args_missing@2"); missing == c.served {
			t.Errorf("%s: args_missing %v", c.name, missing)
		}
	}
}

// JavaScript stores 2^53+1 as 2^53: the first integer that it may have rounded is 2^53 itself.
func TestIntegersThatJavaScriptRoundsAreNamed(t *testing.T) {
	for number, want := range map[string]bool{"9007199254740991": false, "9007199254740992": true, "9007199254740993": true, "18446744073709552000": true, "-9007199254740992": true, "1e300": false} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(says("end")))
		tr.tool("f", 3, 1, 11, 12, "", `{"id":`+number+`}`, "r")
		tp := the(t, tr.runs(t))
		if got := slices.Contains(codes(tp), "big_int@2"); got != want || tp.Events[1].Args.Get("id").Text() != number {
			t.Errorf("%s: named %v, want %v; kept as %s", number, got, want, tp.Events[1].Args.JSON())
		}
	}

	exact, rounded := `{"id":9007199254740993}`, `{"id":9007199254740992}` // what the model asked for, what the tool received
	ask := asks(call("c1", "f", exact))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
	tr.tool("f", 3, 1, 11, 12, "c1", rounded, "r")
	tr.chat(4, 1, 20, 30, list(user("q"), ask, shows("c1", "r")), list(says("end")))
	if e := the(t, tr.runs(t)).Events[1]; e.Args.JSON() != exact || e.ArgsHash != oracle.HashText(exact) {
		t.Errorf("arguments %s, hash %s", e.Args.JSON(), e.ArgsHash)
	}
}

// A runtime may leave out what is null before it calls the tool: that is the call that was asked for.
func TestACallMayLackWhatWasAskedForAsNull(t *testing.T) {
	for _, c := range []struct {
		one, two string
		want     int
	}{
		{`{"a":{"b":1}}`, `{"a":{"b":2}}`, 2},
		{`{"a":{"b":3}}`, `{"a":{"b":4}}`, 4},
		{`{"a":{}}`, `{}`, 4},
	} {
		tr := newTrace()
		ask := asks(call("c1", "f", `{"a":{"b":1,"c":null},"d":null}`), call("c2", "f", `{"a":{"b":2,"c":null},"d":null}`))
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("f", 3, 1, 20, 30, "", c.two, "two")
		tr.tool("f", 4, 1, 21, 31, "", c.one, "one")
		tr.chat(5, 1, 40, 50, list(user("q"), ask, shows("c1", "one"), shows("c2", "two")), list(says("end")))
		tp := the(t, tr.runs(t))
		if tp.Usage.ToolCalls != c.want {
			t.Errorf("%s: %d tool calls, want %d", c.one, tp.Usage.ToolCalls, c.want)
		}
		for _, e := range tp.Events {
			if b := e.Args.Get("a").Get("b").Text(); c.want == 2 && e.Type == tape.EventToolCall && e.Result.Str() != map[string]string{"1": "one", "2": "two"}[b] {
				t.Errorf("%s returned %s", e.Args.JSON(), e.Result.JSON())
			}
		}
	}
}
