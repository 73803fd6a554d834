// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// A call without an outcome failed if what is around it failed and says that this tool did.
func TestAFailureAroundACallNamesTheToolThatFailed(t *testing.T) {
	for name, c := range map[string]struct {
		message string
		again   bool // another call of the turn with the same name has no outcome either
		later   bool // the model was asked once more
		want    bool
	}{
		"it names the tool":        {message: "Error executing tool look: no such row", want: true},
		"in quotes":                {message: "Tool 'look' failed", want: true},
		"another tool":             {message: "Error executing tool lookup: no such row"},
		"the word of a sentence":   {message: "the model could not look"},
		"one of two equal names":   {message: "Error executing tool look: no such row", again: true},
		"the model was told of it": {message: "Error executing tool look: no such row", later: true},
	} {
		tr := newTrace()
		root := tr.agent("clerk", 1, 0, 0, 100)
		root.Status().SetCode(ptrace.StatusCodeError)
		root.Status().SetMessage(c.message)
		calls := []string{call("call_0001", "look", `{"x":1}`)}
		if c.again {
			calls = append(calls, call("call_0002", "look", `{"x":2}`))
			tr.tool("look", 4, 1, 20, 30, "call_0002", `{"x":2}`, "")
		}
		tr.chat(2, 1, 1, 10, list(user("q")), list(asks(calls...)))
		tr.tool("look", 3, 1, 20, 30, "call_0001", `{"x":1}`, "")
		if c.later {
			tr.chat(5, 1, 40, 50, list(user("q")), "")
		}
		e := the(t, tr.runs(t)).Events[1]
		if got := e.Status == tape.EventError && e.Error != nil; got != c.want || got && (e.Error.Message != c.message || e.Provenance["error"] != tape.Recovered) {
			t.Errorf("%s: status %s, error %v", name, e.Status, e.Error)
		}
	}
}

// Where no answer of any call is on record, that the last one shows none either does not mean that the run did not end.
func TestWhoRecordsNoAnswersShowsNoneOfTheLastCall(t *testing.T) {
	for name, c := range map[string]struct {
		first string // the answer of the first call
		ok    bool   // the last call says that it ended well
		want  tape.RunStatus
	}{
		"none is on record":     {ok: true, want: tape.StatusOK},
		"the first one is":      {first: list(says("a moment")), ok: true, want: tape.StatusIncomplete},
		"it does not say so":    {want: tape.StatusIncomplete},
		"neither of the latter": {first: list(says("a moment")), want: tape.StatusIncomplete},
	} {
		tr := newTrace()
		tr.in("app", "handle", 9, 0, 0, 100)
		tr.chat(1, 9, 1, 10, list(user("q")), c.first)
		tr.tool("look", 2, 9, 20, 30, "call_0001", `{"x":1}`, "r")
		if last := tr.chat(3, 9, 40, 50, list(user("q"), shows("call_0001", "r")), ""); c.ok {
			last.Status().SetCode(ptrace.StatusCodeOk)
		}
		if tp := the(t, tr.runs(t)); tp.Run.Status != c.want {
			t.Errorf("%s: %s", name, tp.Run.Status)
		}
	}
}

// Of a model call and a tool that began in the same millisecond, the one that was over at once may have asked for the tool; one that went on after that was made by an agent that the
// tool runs.
func TestCallsOfOneMillisecondStandAsTheyMayHaveCausedEachOther(t *testing.T) {
	for name, c := range map[string]struct {
		end  int
		want []string
	}{
		"it was over when the tool began": {20, []string{"model_call @2", "tool_call look @3 = r", "model_call @4"}},
		"it went on":                      {21, []string{"tool_call look @3 = r", "model_call @2", "model_call @4"}},
	} {
		tr := newTrace()
		tr.agent("clerk", 1, 0, 0, 100)
		tr.chat(2, 1, 20, c.end, "", "")
		tr.tool("look", 3, 1, 20, 30, "call_0001", `{"x":1}`, "r")
		tr.chat(4, 1, 40, 50, "", "")
		t.Run(name, func(t *testing.T) { wantEvents(t, the(t, tr.runs(t)), c.want...) })
	}
}

// Of equal calls, a result that one of them was shown as it is is not taken for an envelope of what another one was shown.
func TestAResultIsThatOfTheCallThatWasShownItAsItIs(t *testing.T) {
	tr := newTrace()
	ask := asks(call("call_0001", "look", `{}`), call("call_0002", "look", `{}`))
	tr.agent("clerk", 1, 0, 0, 100)
	tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
	tr.tool("look", 3, 1, 20, 30, "", `{}`, `{"rows":{}}`)
	tr.tool("look", 4, 1, 20, 40, "", `{}`, `{}`)
	tr.chat(5, 1, 50, 60, list(user("q"), ask, shows("call_0001", "{}"), shows("call_0002", `{"rows":{}}`)), list(says("end")))
	for _, e := range the(t, tr.runs(t)).Events {
		if want := map[string]string{"call_0001": `{}`, "call_0002": `{"rows":{}}`}[e.ToolCallID]; e.Type == tape.EventToolCall && e.Result.Str() != want {
			t.Errorf("%s: %s, want %s", e.ToolCallID, e.Result.JSON(), want)
		}
	}
}

// Spans of a stream that stand for a whole loop hold all that was said in it, and who reads the stream is handed that.
func TestTheReaderOfAStreamIsHandedAllThatWasSaidInIt(t *testing.T) {
	tr := newTrace()
	tr.in("org.springframework.boot", "spring_ai chat_client", 1, 0, 0, 100, "spring.ai.kind", "chat_client", "spring.ai.chat.client.stream", "true")
	chat := func(id, parent, start, end int, request, response string) {
		tr.in("org.springframework.boot", "chat m1", id, parent, start, end, "gen_ai.operation.name", "chat", "gen_ai.request.model", "m1", "gen_ai.response.id", "msg_00000001",
			"gen_ai.response.finish_reasons", `["end_turn"]`, "gen_ai.prompt", request, "gen_ai.completion", response)
	}
	chat(2, 1, 1, 90, `["q"]`, `["A moment. It is seven."]`)
	chat(3, 2, 40, 91, `["q", "", ""]`, `["It is seven."]`)
	if tp := the(t, tr.runs(t)); deref(tp.Output.Text) != "A moment. It is seven." || tp.Usage.ModelCalls != 2 {
		t.Errorf("%q after %d calls", deref(tp.Output.Text), tp.Usage.ModelCalls)
	}
}

// The body of a request that a function of the program recorded tells the instructions before the very messages that a span holds.
func TestABodyThatAFunctionRecordedTellsTheInstructions(t *testing.T) {
	for name, c := range map[string]struct {
		sent, want string
	}{
		"the same messages":  {`[{"role":"system","content":"be brief"},{"role":"user","content":"q"}]`, "be brief recovered"},
		"other messages":     {`[{"role":"system","content":"be brief"},{"role":"user","content":"r"}]`, "- "},
		"one message more":   {`[{"role":"system","content":"be brief"},{"role":"user","content":"q"},{"role":"assistant","content":"a"}]`, "- "},
		"no instructions":    {`[{"role":"user","content":"before"},{"role":"user","content":"q"}]`, "- "},
		"nothing before it":  {`[{"role":"user","content":"q"}]`, "- "},
		"instructions alone": {`[{"role":"system","content":"be brief"}]`, "- "},
	} {
		tr := newTrace()
		tr.in("app", "agent.ask", 1, 0, 0, 100, "agent.ask.argument.0", `{"x":1}`, "agent.ask.result", `{"text":"end","request":{"body":{"messages":`+c.sent+`}}}`)
		tr.chat(2, 1, 1, 10, list(user("q")), list(says("end")))
		tp := the(t, tr.runs(t))
		if got := deref(tp.Input.SystemPrompt) + " " + string(tp.Input.Provenance["system_prompt"]); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
