// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package reconstruct_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/tapedeck/tapedeck/tape"
)

func TestSpanOfAToolThatThrewHoldsNoResult(t *testing.T) {
	const message = "Error: tool failed: no answer within 2 s"
	for name, c := range map[string]struct{ result, shown string }{
		"an empty object":    {`{}`, ""},
		"the words of error": {message, message},
		"null":               {`null`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ask := asks(call("c1", "f", `{"n":1}`))
			tr := newTrace()
			tr.agent("a", 1, 0, 0, 100)
			tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
			status := tr.tool("f", 3, 1, 20, 30, "c1", `{"n":1}`, c.result).Status()
			status.SetCode(ptrace.StatusCodeError)
			status.SetMessage(message)
			if c.shown != "" {
				tr.chat(4, 1, 40, 50, list(user("q"), ask, shows("c1", c.shown)), list(says("end")))
			}
			if e := the(t, tr.runs(t)).Events[1]; !e.IsError || e.Error == nil || e.Error.Message != message {
				t.Errorf("failed %v, %v", e.IsError, e.Error)
			}
		})
	}
}

// A program tells the model an object of the message, whatever the message looks like.
func TestResultThatIsTheMessageOfTheErrorAloneIsAFailure(t *testing.T) {
	for message, results := range map[string]map[string]bool{
		`{"code": 12}`: {`{"error": "{\"code\": 12}"}`: true, `{"error": "{\"code\": 13}"}`: false, `{"error": "{\"code\": 12}", "rows": [1]}`: false, `{"code": 12}`: true},
		"no stock":     {`{"error": "no stock"}`: true, `{"note": "no stock"}`: true, `{"stock": 4}`: false},
	} {
		for result, want := range results {
			ask := asks(call("c1", "f", `{"n":1}`))
			tr := newTrace()
			tr.agent("a", 1, 0, 0, 100)
			tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
			status := tr.tool("f", 3, 1, 20, 30, "c1", `{"n":1}`, result).Status()
			status.SetCode(ptrace.StatusCodeError)
			status.SetMessage(message)
			tr.chat(4, 1, 40, 50, list(user("q"), ask, shows("c1", result)), list(says("end")))
			if e := the(t, tr.runs(t)).Events[1]; e.IsError != want || e.Result.IsAbsent() {
				t.Errorf("%s, %s: failed %v, result %s", message, result, e.IsError, e.Result.JSON())
			}
		}
	}
}

func TestExceptionOfASpanWithoutAnAnswerIsAnError(t *testing.T) {
	tr := newTrace()
	root := tr.agent("a", 1, 0, 0, 100)
	m := tr.chat(2, 1, 1, 10, list(user("q")), "")
	for _, s := range []ptrace.Span{root, m} {
		e := s.Events().AppendEmpty()
		e.SetName("exception")
		e.Attributes().PutStr("exception.message", "too long")
	}
	if tp := the(t, tr.runs(t)); tp.Run.Status != tape.StatusError {
		t.Errorf("%s", tp.Run.Status)
	}
}

// A tool span tells no status and holds nothing but an exception. Thrown when it ended, that is how the call ended; before, the tool may have caught it.
func TestExceptionWithWhichAToolSpanEnds(t *testing.T) {
	for name, c := range map[string]struct {
		at   int // ms
		want bool
	}{"when it ended": {60, true}, "before": {30, false}} {
		t.Run(name, func(t *testing.T) {
			tr := newTrace()
			tr.agent("a", 1, 0, 0, 100)
			span := tr.tool("f", 3, 1, 20, 60, "", "", "")
			e := span.Events().AppendEmpty()
			e.SetName("exception")
			e.SetTimestamp(span.EndTimestamp() - pcommon.Timestamp((60-c.at)*1_000_000))
			e.Attributes().PutStr("exception.message", "no invoice INV-2")
			if e := the(t, tr.runs(t)).Events[0]; e.IsError != c.want || c.want && (e.Error == nil || e.Error.Message != "no invoice INV-2") {
				t.Errorf("failed %v, %v", e.IsError, e.Error)
			}
		})
	}
}

// LangSmith puts {"output": …} around a value that is no object, and nothing around an object of that one member: what the model was shown tells which of the two it was.
func TestEnvelopeThatTheModelWasShownIsTheResult(t *testing.T) {
	for shown, want := range map[string]string{`{"output":null}`: `{"output":null}`, `{"output":[1,2]}`: `null`, "null": "null"} {
		ask := asks(call("c1", "f", `{"n":1}`))
		tr := newTrace()
		tr.in("langsmith", "run", 1, 0, 0, 100, "langsmith.span.kind", "chain", "gen_ai.prompt", `{"question":"q"}`, "gen_ai.completion", `{"output":"end"}`)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.in("langsmith", "f", 3, 1, 20, 30, "langsmith.span.kind", "tool", "gen_ai.prompt", `{"n":1}`, "gen_ai.completion", `{"output":null}`)
		tr.chat(4, 1, 40, 50, list(user("q"), ask, shows("c1", shown)), list(says("end")))
		if e := the(t, tr.runs(t)).Events[1]; e.Result.JSON() != want || (len(e.Envelope) == 0) != (want != "null") {
			t.Errorf("shown %s: %s in %v", shown, e.Result.JSON(), e.Envelope)
		}
	}
}

// The program around a call that it ended throws into it: that is no failure of the tool, unless the model was told of it.
func TestCallThatSomebodyEndedHasNoAnswer(t *testing.T) {
	const aborted = "This operation was aborted\n\nAbortError: This operation was aborted\n    at AbortController.abort"
	for name, c := range map[string]struct {
		kind, message, shown string
		claims               bool
	}{
		"aborted":             {"", aborted, "", false},
		"aborted, by class":   {"", "AbortError: This operation was aborted", "", false},
		"cancelled":           {"asyncio.exceptions.CancelledError", "", "", false},
		"the model was told":  {"", aborted, "Error: This operation was aborted", true},
		"the tool timed out":  {"TimeoutError", "The operation was aborted due to timeout", "", true},
		"the order is called": {"OrderError", "The order was cancelled.", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			ask := asks(call("c1", "f", `{"n":1}`))
			tr := newTrace()
			tr.agent("a", 1, 0, 0, 100)
			tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
			span := tr.tool("f", 3, 1, 20, 30, "c1", `{"n":1}`, "")
			span.Status().SetCode(ptrace.StatusCodeError)
			span.Status().SetMessage(c.message)
			exception := span.Events().AppendEmpty()
			exception.SetName("exception")
			exception.Attributes().PutStr("exception.type", c.kind)
			exception.Attributes().PutStr("exception.message", c.message)
			if c.shown != "" {
				tr.chat(4, 1, 40, 50, list(user("q"), ask, shows("c1", c.shown)), list(says("end")))
			}
			tp := the(t, tr.runs(t))
			if e := tp.Events[1]; tp.Fidelity.Replayable.Tools != c.claims || (e.Provenance["result"] == tape.Missing) == c.claims {
				t.Errorf("claimed: %t; %v, labelled %v; %+v", tp.Fidelity.Replayable.Tools, e.Error, e.Provenance, tp.Fidelity.Findings)
			}
		})
	}
}

// Where a provider sends {} for no arguments, a framework may hand a tool null.
func TestNullIsWhatAToolWithoutArgumentsReceived(t *testing.T) {
	const first, second = "call_X4ULTEFGUM44M4GLT6TT7S", "call_Q32JSEKI7K5TMDQDB3QZ2F"
	for args, want := range map[string]int{`{}`: 2, `{"n":1}`: 4} {
		ask := asks(call(first, "list", args), call(second, "list", args))
		tr := newTrace()
		tr.agent("main", 1, 0, 0, 100)
		tr.chat(2, 1, 1, 10, list(user("q")), list(ask))
		tr.tool("list", 3, 1, 11, 15, "", "null", "Ada")
		tr.tool("list", 4, 1, 16, 19, "", "null", "Bob")
		tr.chat(5, 1, 20, 30, list(user("q"), ask, shows(first, "Ada"), shows(second, "Bob")), list(says("done")))
		if tp := the(t, tr.runs(t)); tp.Usage.ToolCalls != want {
			t.Errorf("asked for with %s: %q", args, events(tp))
		}
	}
}

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
