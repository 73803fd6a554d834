// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"fmt"
	"strconv"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

// A root may record the first message of a history as its input, or all of it in one text. What was asked is the last turn.
func TestWhatIsAskedAfterAHistoryIsTheLastTurn(t *testing.T) {
	conversation := list(user("I travel in May."), says("Where to?"), user("To Lisbon."))
	for recorded, want := range map[string]string{
		"I travel in May.":                          "To Lisbon.",
		"I travel in May.\nWhere to?\nTo Lisbon.\n": "To Lisbon.",
		"To Lisbon.":                                "To Lisbon.",
		"Book something":                            "Book something",
		"I travel in May. To Lisbon.":               "I travel in May. To Lisbon.", // not all of it: perhaps a summary
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100, "gen_ai.input.messages", list(user(recorded)))
		tr.chat(2, 1, 1, 10, conversation, list(says("Booked.")))
		if got := *the(t, tr.runs(t)).Input.UserMessage; got != want {
			t.Errorf("recorded %q: the user message is %q, want %q", recorded, got, want)
		}
	}
}

// A package that joins the parts of a streamed answer may put the arguments of several calls into one. The next request holds them apart.
func TestCallsRecordedAsOneAreTakenApart(t *testing.T) {
	for name, c := range map[string]struct {
		together string
		want     int
	}{
		"the texts of all":     {`{"x":1}{"x": 2}`, 2},
		"the text of another":  {`{"x":1}{"x":3}`, 0},
		"one text more":        {`{"x":1}{"x":2}{"x":3}`, 0},
		"a text that is short": {`{"x":1}{"x":`, 0},
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		merged := `{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"f","arguments":` + strconv.Quote(c.together) + `}]}`
		tr.chat(2, 1, 1, 10, list(user("q")), list(merged))
		tr.tool("f", 3, 1, 11, 12, "", `{"x":1}`, "one")
		tr.tool("f", 4, 1, 13, 14, "", `{"x":2}`, "two")
		tr.chat(5, 1, 20, 30, list(user("q"), asks(call("c1", "f", `{"x":1}`), call("c2", "f", `{"x":2}`)), shows("c1", "one"), shows("c2", "two")), list(says("end")))
		asked := 0
		for _, e := range the(t, tr.runs(t)).Events {
			if e.Type == tape.EventToolCall && e.RequestedBy != 0 {
				asked++
			}
		}
		if c.want > 0 && asked != c.want || c.want == 0 && asked == 2 {
			t.Errorf("%s: %d calls are known to be asked for", name, asked)
		}
	}
}

// It may also leave out the text beside them. What the next request holds apart, in a trace of its own, goes on from that answer.
func TestCallsRecordedAsOneWithoutTheTextBesideThemAreTakenApart(t *testing.T) {
	for name, c := range map[string]struct {
		together, text string
		want           string
	}{
		"no text":      {`{"x":1}{"x":2}`, "", "1 runs, 2 asked for"},
		"another text": {`{"x":1}{"x":2}`, "I wait.", "2 runs, 0 asked for"},
		"other calls":  {`{"x":1}{"x":3}`, "", "2 runs, 0 asked for"},
	} {
		parts := `{"type":"tool_call","name":"f","arguments":` + strconv.Quote(c.together) + `}`
		if c.text != "" {
			parts = `{"type":"text","content":"` + c.text + `"},` + parts
		}
		one, two := newTrace(), newTrace()
		one.chat(2, 0, 1, 10, list(user("Look twice.")), list(`{"role":"assistant","parts":[`+parts+`]}`))
		said := `{"role":"assistant","parts":[{"type":"text","content":"I look."},{"type":"tool_call","id":"c1","name":"f","arguments":"{\"x\":1}"},{"type":"tool_call","id":"c2","name":"f","arguments":"{\"x\":2}"}]}`
		two.chat(5, 0, 20, 30, list(user("Look twice."), said, shows("c1", "one"), shows("c2", "two")), list(says("end")))
		tapes := all(t, one.numbered(1), two.numbered(2))
		asked := 0
		for _, e := range tapes[0].Events {
			if e.Type == tape.EventToolCall && e.RequestedBy != 0 && e.ToolCallID != "" {
				asked++
			}
		}
		if got := fmt.Sprintf("%d runs, %d asked for", len(tapes), asked); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestFirstMessageStaysWhatIsAskedWhenNobodyHasAnsweredIt(t *testing.T) {
	ask := asks(call("c1", "f", `{}`))
	tr := newTrace()
	tr.agent("a", 1, 0, 0, 100, "gen_ai.input.messages", list(user("Plan it.")))
	tr.chat(2, 1, 1, 10, list(user("Plan it."), ask, shows("c1", "r"), user("Go on with step 2.")), list(says("Done.")))
	if got := *the(t, tr.runs(t)).Input.UserMessage; got != "Plan it." {
		t.Errorf("the user message is %q, which the framework wrote", got)
	}
}

// A framework records an empty answer of a call that failed.
func TestEmptyAnswerBesideAnErrorIsNone(t *testing.T) {
	for _, c := range []struct {
		answer string
		want   tape.EventStatus
	}{{says(""), tape.EventError}, {says("end"), tape.EventOK}} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		span := tr.chat(2, 1, 1, 10, list(user("q")), list(c.answer))
		span.Status().SetCode(ptrace.StatusCodeError)
		span.Status().SetMessage("context length exceeded")
		tp := the(t, tr.runs(t))
		if e := tp.Events[0]; e.Status != c.want || (e.Error != nil) != (c.want == tape.EventError) || (e.Response != nil && e.Response.Message != "") == (c.want == tape.EventError) {
			t.Errorf("answered %s: status %s, error %v, response %v", c.answer, e.Status, e.Error, e.Response)
		}
		if !tp.Fidelity.Replayable.Tools {
			t.Errorf("answered %s: %v", c.answer, codes(tp))
		}
	}
}

// Eino's handler writes all that an agent was started with as what the user said. A user may also have sent such a text.
func TestWhatTheUserSaidInsideTheInputOfAnAgent(t *testing.T) {
	const state = `{"Messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"hello"},{"role":"user","content":"and now?"}],"EnableStreaming":false}`
	for _, c := range []struct{ recorded, sent, want string }{
		{state, "and now?", "and now?"}, {"[" + state + "]", "and now?", "and now?"}, {state, state, state}, {state, "something else", state},
		{`{"parts":[{"role":"admin","name":"and now?"}]}`, "and now?", `{"parts":[{"role":"admin","name":"and now?"}]}`},
	} {
		tr := newTrace()
		tr.agent("clerk", 1, 0, 0, 100, "gen_ai.input.messages", list(user(c.recorded)))
		tr.chat(2, 1, 1, 10, list(user(c.sent)), list(says("done")))
		if in := the(t, tr.runs(t)).Input.UserMessage; in == nil || *in != c.want {
			t.Errorf("%s, sent %s: %v", c.recorded, c.sent, in)
		}
	}
}
