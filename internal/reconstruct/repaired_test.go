// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// adkGo is a run as ADK for Go before 1.0 records it below a span of a server that never came: no agent span, a struct as response.
func adkGo(t *testing.T, language, result, shown, answer string) *tape.Tape {
	tr := newTrace()
	const scope, q, hi = "gcp.vertex.agent", "gcp.vertex.agent.llm_request", `{"parts":[{"text":"hi"}],"role":"user"}`
	tr.in(scope, "call_llm", 2, 1, 1, 10, q, `{"model":"g","content":[`+hi+`]}`,
		"gcp.vertex.agent.llm_response", `{"Content":{"parts":[{"functionCall":{"id":"adk-1","name":"f","args":{"a":1}}}],"role":"model"},"Partial":false}`)
	tr.in(scope, "execute_tool f", 3, 1, 11, 12, q, "{}", "gen_ai.tool.name", "f", "gen_ai.tool.call.id", "adk-1", "gcp.vertex.agent.tool_call_args", `{"a":1}`, "gcp.vertex.agent.tool_response", result)
	tr.in(scope, "call_llm", 4, 1, 20, 30, q, `{"model":"g","content":[`+hi+`,{"parts":[{"functionCall":{"name":"f","args":{"a":1}}}],"role":"model"},`+
		`{"parts":[{"functionResponse":{"name":"f","response":`+shown+`}}],"role":"user"}]}`, "gcp.vertex.agent.llm_response", answer)
	for _, rs := range tr.td.ResourceSpans().All() {
		rs.Resource().Attributes().PutStr("telemetry.sdk.language", language)
	}
	return the(t, tr.runs(t))
}

const adkAnswer = `{"Content":{"parts":[{"text":"done"}],"role":"model"},"Partial":false}`

func TestADKForGoBefore1HasNoRunSpan(t *testing.T) {
	if tp := adkGo(t, "go", `{"b":2}`, `{"b":2}`, adkAnswer); tp.Run.Status != tape.StatusOK || tp.Output.Text == nil || *tp.Output.Text != "done" {
		t.Errorf("status %s, output %+v", tp.Run.Status, tp.Output)
	}
	if tp := adkGo(t, "python", `{"b":2}`, `{"b":2}`, adkAnswer); tp.Run.Status != tape.StatusIncomplete {
		t.Errorf("in Python a run span belongs above: %s", tp.Run.Status)
	}
}

func TestAFirstChunkIsNoAnswer(t *testing.T) {
	tp := adkGo(t, "go", `{"b":2}`, `{"b":2}`, `{"Content":{"parts":[{"text":"do"}],"role":"model"},"Partial":true}`)
	said := false
	for _, f := range tp.Fidelity.Findings {
		said = said || f.Code == tape.CodeTruncated && f.Field == "output.text"
	}
	if tp.Output.Text != nil || !said {
		t.Errorf("output %v, findings %v", *tp.Output.Text, tp.Fidelity.Findings)
	}
}

func TestARoundedResultIsNotRepairedByItself(t *testing.T) {
	for shown, want := range map[string]tape.Label{`{"id":9007199254740996}`: tape.Lossy, `{"id":9007199254740995}`: tape.Recovered} {
		tp := adkGo(t, "go", `{"id":9007199254740996}`, shown, adkAnswer)
		if got := tp.Events[1].Provenance["result"]; got != want {
			t.Errorf("shown %s: %s, want %s", shown, got, want)
		}
	}
}

// A result that was recorded as the representation of an object is what the model was shown, where that is the same: a text in it can be read back, a list of blocks is taken from what was shown.
func TestARepresentationIsRepairedByWhatTheModelWasShown(t *testing.T) {
	for _, said := range []string{`{"b": 2}`, `{"b": 9007199254740993}`} { // the digits of a text are nobody's number
		tr := newTrace()
		ask := asks(call("call_1234567", "f", `{"n":1}`))
		tr.agent("clerk", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("f", 3, 1, 11, 12, "call_1234567", `{"n":1}`, `content='`+said+`' name='f' tool_call_id='call_1234567'`)
		tr.chat(4, 1, 20, 30, list(user("q"), ask, shows("call_1234567", said)), list(says("done")))
		tp := the(t, tr.runs(t))
		if e := tp.Events[1]; e.Provenance["result"] != "" || e.Result.Str() != said || !tp.Fidelity.Replayable.Tools {
			t.Errorf("%s: %s, %+v", said, e.Provenance["result"], tp.Fidelity)
		}
	}
}

// What stands for a result in a request and names nothing but its tool contradicts nothing.
func TestWordForAResultDisputesNothing(t *testing.T) {
	for shown, want := range map[string]bool{"[tool-result: f]": true, "[tool-result: g]": false} {
		tr := newTrace()
		ask := asks(call("call_1234567", "f", `{"n":1}`))
		tr.agent("clerk", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("f", 3, 1, 11, 12, "call_1234567", `{"n":1}`, `{"shelf": 3, "row": "c"}`)
		tr.chat(4, 1, 20, 30, list(user("q"), ask, shows("call_1234567", shown)), list(says("done")))
		if tp := the(t, tr.runs(t)); tp.Fidelity.Replayable.Tools != want {
			t.Errorf("%s: %+v", shown, tp.Fidelity.Findings)
		}
	}
}

// The step that runs all tools of a turn is handed the message that asks for them, and is no tool.
func TestStepThatIsHandedCallsIsNoTool(t *testing.T) {
	for args, want := range map[string]int{
		`[{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"n\":1}"}}]}]`: 0,
		`[{"role":"user","content":"q"}]`: 1, `{"messages":[{"role":"user","content":"q"}]}`: 1,
	} {
		tr := newTrace()
		tr.agent("clerk", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(says("a")))
		tr.tool("invoker", 3, 1, 11, 12, "", args, `{"tool_messages":[]}`)
		if tp := the(t, tr.runs(t)); tp.Usage.ToolCalls != want {
			t.Errorf("%s: %v", args, events(tp))
		}
	}
}

// What the model asked for, as a program in Go holds it, is rounded as what the tool received is: that repairs nothing, and what was recorded is what the tool
// received. Where the answer holds other digits, these count.
func TestRoundedArgumentsAreNotRepairedByThemselves(t *testing.T) {
	const received = `{"id":9007199254740996}`
	for _, c := range []struct{ language, asked, want string }{
		{"go", `{"id":9007199254740996,"note":null}`, received}, {"go", `{"id":9007199254740995}`, `{"id":9007199254740995}`},
		{"python", `{"id":9007199254740996,"note":null}`, `{"id":9007199254740996,"note":null}`},
	} {
		tr := newTrace()
		ask := asks(call("call_1234567", "f", c.asked))
		tr.agent("clerk", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("f", 3, 1, 11, 12, "call_1234567", received, "r")
		tr.chat(4, 1, 20, 30, list(user("q"), ask, shows("call_1234567", "r")), list(says("done")))
		for _, rs := range tr.td.ResourceSpans().All() {
			rs.Resource().Attributes().PutStr("telemetry.sdk.language", c.language)
		}
		if e := the(t, tr.runs(t)).Events[1]; e.Provenance["args"] != tape.Recovered || e.Args.JSON() != c.want {
			t.Errorf("%s, asked for %s: %s %s", c.language, c.asked, e.Provenance["args"], e.Args.JSON())
		}
	}
}

// A record of Go's in which a text stands for nulls says less than the span of the tool. Where no span says what the tool received, it may have been the text.
func TestNullsOfARecordInGoAreToldByTheSpan(t *testing.T) {
	for name, c := range map[string]struct {
		received, args string
		label          tape.Label
		differ         bool
	}{
		"null": {`{"state":null}`, `{"state":null}`, "", false}, "the text": {`{"state":"INVALID"}`, `{"state":"INVALID"}`, "", true}, "no span": {"", `{"state":null}`, tape.Lossy, false},
	} {
		tr := newTrace()
		tr.agent("clerk", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, "", "")
		if c.received != "" {
			tr.tool("f", 3, 1, 11, 12, "call_1234567", c.received, "r")
		}
		for _, rs := range tr.td.ResourceSpans().All() {
			rs.Resource().Attributes().PutStr("telemetry.sdk.language", "go")
		}
		choice := map[string]any{"tool_calls": []any{map[string]any{"id": "call_1234567", "function": map[string]any{"name": "f", "arguments": map[string]any{"state": "INVALID"}}}}}
		tp := the(t, tr.with(t, []any{"gen_ai.user.message", 2, 2, "content", "q"}, []any{"gen_ai.choice", 9, 2, "message", choice}))
		e, differ := tp.Events[1], false
		for _, f := range tp.Fidelity.Findings {
			differ = differ || f.Code == tape.CodeArgsDiffer
		}
		if e.Args.JSON() != c.args || e.Provenance["args"] != c.label || differ != c.differ {
			t.Errorf("%s: %s %s, %v", name, e.Args.JSON(), e.Provenance["args"], tp.Fidelity.Findings)
		}
	}
}
