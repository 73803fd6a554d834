// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"github.com/tapedeck/tapedeck/tape"
)

// Hand-written spans record repr(result). What the model was shown says whether the quotes are the text's
// own.
func TestAResultInQuotesOfPythonIsWhatTheModelWasShown(t *testing.T) {
	for shown, want := range map[string]string{"it is\nfree": "it is\nfree", `'it is\nfree'`: `'it is\nfree'`} {
		ask := asks(call("c1", "f", `{"x":1}`))
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("f", 3, 1, 11, 12, "c1", `{"x":1}`, `'it is\nfree'`)
		tr.chat(4, 1, 20, 30, list(user("q"), ask, shows("c1", shown)), list(says("end")))
		if got := the(t, tr.runs(t)).Events[1].Result.Str(); got != want {
			t.Errorf("shown %q: %q, want %q", shown, got, want)
		}
	}
}

func TestPythonTextOfAResultIsTheValue(t *testing.T) {
	for recorded, want := range map[string]string{
		`{'city': 'Oslo', 'temp': 17, 'ok': True, 'none': None}`: `{"city":"Oslo","none":null,"ok":true,"temp":17}`,
		`[1, 'two', None, {'three': 3}]`:                         `[1,"two",null,{"three":3}]`,
		`{'when': datetime.date(2026, 1, 1)}`:                    `"{'when': datetime.date(2026, 1, 1)}"`,
		`[draft] 'a'`:                                            `"[draft] 'a'"`,
		`True`:                                                   `true`,
		`False`:                                                  `false`,
		`None`:                                                   `"None"`, // a word of its own in many a text that a tool returns
		`False alarm`:                                            `"False alarm"`,
	} {
		tr := newTrace()
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(asks(call("c1", "f", `{}`))))
		tr.tool("f", 3, 1, 11, 12, "c1", "{}", recorded)
		tr.chat(4, 1, 20, 30, list(user("q"), asks(call("c1", "f", `{}`)), shows("c1", recorded)), list(says("end")))
		tapes := tr.runs(t)
		tr = newTrace() // only the request shows it
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(asks(call("c1", "f", `{}`))))
		tr.chat(4, 1, 20, 30, list(user("q"), asks(call("c1", "f", `{}`)), shows("c1", recorded)), list(says("end")))
		for _, e := range append(the(t, tapes).Events, the(t, tr.runs(t)).Events...) {
			if got, err := e.Result.AppendCanonical(nil); e.Type == tape.EventToolCall && (err != nil || string(got) != want) {
				t.Errorf("%s: the result is %s, want %s", recorded, e.Result.JSON(), want)
			}
		}
	}
}

// agno before 2 writes None as the result of a tool that threw, and no failure; the messages of the next
// request say which results are failures.
func TestNoneBesideAFailureThatTheModelWasToldOfIsAFailure(t *testing.T) {
	told := func(content, failed string) string {
		return `"role='tool' content='` + content + `' name=None tool_call_id='c1' tool_calls=None tool_name='f' tool_call_error=` + failed + `"`
	}
	for name, c := range map[string]struct{ result, content, failed, want string }{
		"told of a failure":        {"None", "timeout", "True", "error timeout"},
		"told of what it returned": {"None", "None", "False", "ok None"},
		"a failure with a result":  {"3 rows", "3 rows", "True", "ok 3 rows"},
	} {
		tr := newTrace()
		tr.in("openinference.instrumentation.agno", "a.run", 1, 0, 0, 50, "openinference.span.kind", "AGENT", "input.value", "q", "output.value", "end")
		tr.in("openinference.instrumentation.agno", "m.invoke", 2, 1, 1, 9, "openinference.span.kind", "LLM", "llm.model_name", "m",
			"input.value", `{"messages":["role='user' content='q' name=None tool_call_id=None tool_calls=None"]}`,
			"llm.output_messages.0.message.role", "assistant", "llm.output_messages.0.message.tool_calls.0.tool_call.id", "c1",
			"llm.output_messages.0.message.tool_calls.0.tool_call.function.name", "f", "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments", "{}")
		tr.in("openinference.instrumentation.agno", "f", 3, 1, 10, 19, "openinference.span.kind", "TOOL", "tool.name", "f", "input.value", "{}", "output.value", c.result, "output.mime_type", "text/plain")
		tr.in("openinference.instrumentation.agno", "m.invoke", 4, 1, 20, 29, "openinference.span.kind", "LLM", "llm.model_name", "m",
			"input.value", `{"messages":["role='user' content='q' name=None tool_call_id=None tool_calls=None",`+
				`"role='assistant' content=None name=None tool_call_id=None tool_calls=[{'id': 'c1', 'type': 'function', 'function': {'name': 'f', 'arguments': '{}'}}]",`+told(c.content, c.failed)+`]}`,
			"llm.output_messages.0.message.role", "assistant", "llm.output_messages.0.message.content", "end")
		got := ""
		for _, e := range the(t, tr.runs(t)).Events {
			if e.Name == "f" {
				got = string(e.Status) + " " + e.Result.Str()
				if e.Error != nil {
					got += e.Error.Message
				}
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestObjectOfNothingButAnErrorIsAFailureThatTheModelWasToldOf(t *testing.T) {
	for shown, failed := range map[string]bool{"Error: closed today": true, `{"status":"error","error":"closed today"}`: false, "no table": false} {
		tr := newTrace()
		ask := asks(call("c1", "book", `{"n":1}`))
		tr.agent("a", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("book", 3, 1, 11, 12, "c1", `{"n":1}`, `{"status":"error","error":"closed today"}`)
		tr.chat(4, 1, 21, 30, list(user("q"), ask, shows("c1", shown)), list(says("end")))
		e := the(t, tr.runs(t)).Events[1]
		if e.IsError != failed || failed && (e.Error == nil || e.Error.Message != "closed today") {
			t.Errorf("told %q: failed %v, error %v", shown, e.IsError, e.Error)
		}
	}
}
